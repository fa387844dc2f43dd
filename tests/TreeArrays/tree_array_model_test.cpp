// Random programs on a tree_array and a std::vector, which must stay the same. The seed is in the test's name.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "tree_array.h"

namespace {

using freehold::tree_array;

template <class T>
T make(unsigned number) {
  return static_cast<T>(number);
}
template <>
std::string make(unsigned number) {
  return "a string that has memory of its own " + std::to_string(number);
}
template <>
std::array<int, 2000> make(unsigned number) {
  std::array<int, 2000> value{};
  value[0] = value[1999] = static_cast<int>(number);
  return value;
}

template <class T>
class Model {
 public:
  Model(unsigned seed, size_t size) : random_(seed), size_(size) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      this->step();
      ASSERT_EQ(vector_.size(), tree_.size());
      ASSERT_GE(tree_.capacity(), tree_.size());
      ASSERT_TRUE(std::equal(vector_.begin(), vector_.end(), tree_.begin(), tree_.end())) << "step " << step;
    }
    ASSERT_LE(memory_.largest, 32768u);
    tree_ = Tree(CountingAllocator<T>(memory_));
    ASSERT_EQ(0u, memory_.bytes);
  }

 private:
  using Tree = tree_array<T, CountingAllocator<T>>;

  size_t upto(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }
  T value() { return make<T>(static_cast<unsigned>(random_())); }

  void step() {
    const size_t at = upto(vector_.size()), count = upto(vector_.size() - at);
    const auto place = static_cast<ptrdiff_t>(at), length = static_cast<ptrdiff_t>(count);
    const T one = value();
    std::vector<T> some;
    if (vector_.size() < 4 * size_) {
      some.resize(upto(size_));
      std::ranges::generate(some, [this] { return value(); });
    }
    switch (upto(14)) {
      case 0:
        vector_.insert(vector_.end(), some.begin(), some.end());
        tree_.append(some.begin(), some.end());
        break;
      case 1:
        vector_.insert(vector_.begin() + place, some.begin(), some.end());
        ASSERT_EQ(place, tree_.insert(tree_.begin() + place, some.begin(), some.end()) - tree_.begin());
        break;
      case 2:
      case 3:
        vector_.erase(vector_.begin() + place, vector_.begin() + place + length);
        ASSERT_EQ(place, tree_.erase(tree_.begin() + place, tree_.begin() + place + length) - tree_.begin());
        break;
      case 4:
        vector_.resize(upto(size_), one);
        tree_.resize(vector_.size(), one);
        break;
      case 5:
        vector_.resize(upto(size_));
        tree_.resize(vector_.size());
        break;
      case 6:
        vector_.insert(vector_.begin() + place, one);
        tree_.insert(tree_.begin() + place, one);
        break;
      case 7:
        tree_.shrink_to_fit();
        tree_.reserve(upto(size_));
        break;
      case 8:
        if (upto(5) == 0) {
          vector_.clear();
          tree_.clear();
        }
        break;
      case 9:
        std::sort(vector_.begin() + place, vector_.begin() + place + length);
        std::sort(tree_.begin() + place, tree_.begin() + place + length);
        break;
      case 10: {
        Tree copy = tree_;
        ASSERT_TRUE(copy == tree_);
        Tree moved = std::move(tree_);
        tree_ = std::move(copy);
        swap(tree_, moved);
        break;
      }
      case 11:
        std::rotate(vector_.begin(), vector_.begin() + place, vector_.end());
        std::rotate(tree_.begin(), tree_.begin() + place, tree_.end());
        break;
      case 12:
        if (vector_.size() < 2 * size_) {
          const std::vector<T> copy = vector_;
          vector_.insert(vector_.end(), copy.begin(), copy.end());
          tree_.append(tree_.begin(), tree_.end());
        }
        break;
      default:
        for (int i = 0; i < 30; ++i) {
          vector_.push_back(one);
          tree_.push_back(one);
        }
        for (int i = 0; i < 10; ++i) {
          vector_.pop_back();
          tree_.pop_back();
        }
        if (at < vector_.size()) {
          vector_[at] = one;
          tree_[at] = one;
        }
        break;
    }
  }

  std::mt19937 random_;
  size_t size_;
  Memory memory_;
  std::vector<T> vector_;
  Tree tree_{CountingAllocator<T>(memory_)};
};

class TreeArrayModel : public testing::TestWithParam<unsigned> {};

TEST_P(TreeArrayModel, OfIntegers) { Model<int>(GetParam(), 40'000).run(200); }
TEST_P(TreeArrayModel, OfBytes) { Model<unsigned char>(GetParam(), 150'000).run(150); }
TEST_P(TreeArrayModel, OfStrings) { Model<std::string>(GetParam(), 4'000).run(200); }
TEST_P(TreeArrayModel, OfLargeElements) { Model<std::array<int, 2000>>(GetParam(), 40).run(200); }

INSTANTIATE_TEST_SUITE_P(Seed, TreeArrayModel, testing::Range(1u, 5u));

}  // namespace
