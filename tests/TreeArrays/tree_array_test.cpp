// freehold::tree_array: what the standard says of such a container, its memory, and exceptions.
#include "tree_array.h"

#include <array>
#include <compare>
#include <memory>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "counting_allocator.h"

namespace {

using freehold::tree_array;

static_assert(std::ranges::random_access_range<tree_array<int>>);
static_assert(std::ranges::random_access_range<const tree_array<std::string>>);
static_assert(std::ranges::sized_range<tree_array<int>> && std::ranges::common_range<tree_array<int>>);
static_assert(std::random_access_iterator<tree_array<int>::iterator> && std::random_access_iterator<tree_array<int>::const_iterator>);
static_assert(std::sized_sentinel_for<tree_array<int>::const_iterator, tree_array<int>::iterator>);
static_assert(std::convertible_to<tree_array<int>::iterator, tree_array<int>::const_iterator>);
static_assert(!std::convertible_to<tree_array<int>::const_iterator, tree_array<int>::iterator>);
static_assert(std::output_iterator<tree_array<int>::iterator, int> && !std::output_iterator<tree_array<int>::const_iterator, int>);
static_assert(std::regular<tree_array<int>> && std::totally_ordered<tree_array<int>> && std::three_way_comparable<tree_array<int>>);
static_assert(std::is_nothrow_move_constructible_v<tree_array<int>> && std::is_nothrow_move_assignable_v<tree_array<int>> &&
              std::is_nothrow_swappable_v<tree_array<int>>);
static_assert(std::ranges::forward_range<decltype(std::declval<tree_array<int>&>().segments())>);
static_assert(tree_array<char>::kLeafElements == 32768 && tree_array<double>::kLeafElements == 4096 && tree_array<std::array<char, 32768>>::kLeafElements == 1);
static_assert(tree_array<std::array<char, 3>>::kLeafElements == 8192);

using Big = std::array<char, 20000>;

template <class T>
tree_array<T> numbers(int count) {
  auto range = std::views::iota(0, count);
  return tree_array<T>(range.begin(), range.end());
}

TEST(TreeArray, NoAllocationIsLargerThan32Kilobytes) {
  Memory memory;
  {
    tree_array<int, CountingAllocator<int>> tree{CountingAllocator<int>(memory)};
    for (int i = 0; i < 50'000'000; ++i) {  // more than a directory
      tree.push_back(i);
    }
    EXPECT_LE(memory.largest, 32768u);
    EXPECT_LE(memory.bytes, 50'000'000 * sizeof(int) * 101 / 100);
    for (int i = 0; i < 50'000'000; i += 9973) {
      ASSERT_EQ(i, tree[static_cast<size_t>(i)]);
    }
    tree_array<Big, CountingAllocator<Big>> big(5000, CountingAllocator<Big>(memory));
    EXPECT_LE(memory.largest, 32768u);
  }
  EXPECT_EQ(0u, memory.bytes);
}

TEST(TreeArray, ElementsStayWhereTheyAreWhileItGrows) {
  tree_array<long> tree(1, 7);
  const long* first = &tree[0];
  for (int i = 0; i < 1'000'000; ++i) {
    tree.push_back(tree.front());
  }
  EXPECT_EQ(first, &tree[0]);
  EXPECT_EQ(7, tree.back());
}

TEST(TreeArray, AShorterOneGivesMemoryBack) {
  Memory memory;
  const size_t leaf = 32768;
  tree_array<int, CountingAllocator<int>> tree{CountingAllocator<int>(memory)};
  tree.resize(1'000'000);
  const size_t full = memory.bytes;
  tree.resize(100'000);
  EXPECT_LE(memory.bytes, full - 850'000 * sizeof(int));
  while (!tree.empty()) {
    tree.pop_back();
  }
  EXPECT_LE(memory.bytes, 2 * leaf + 32);
  tree.shrink_to_fit();
  EXPECT_EQ(0u, memory.bytes);
  // At the edge of a leaf nothing is made and given back again and again.
  tree.resize(leaf / sizeof(int));
  tree.push_back(1);
  const size_t before = memory.bytes;
  memory.left = 0;
  for (int i = 0; i < 10; ++i) {
    tree.pop_back();
    tree.push_back(1);
  }
  EXPECT_EQ(before, memory.bytes);
  memory.left = -1;
  tree.reserve(100'000);
  const size_t reserved = memory.bytes;
  tree.clear();
  EXPECT_EQ(reserved, memory.bytes);
  tree.shrink_to_fit();
  EXPECT_EQ(0u, memory.bytes);
}

TEST(TreeArray, TooManyElementsAreRefused) {
  tree_array<Big> tree(3);
  EXPECT_THROW(tree.resize(tree.max_size() + 1), std::length_error);
  EXPECT_THROW(tree.at(3), std::out_of_range);
  EXPECT_EQ(3u, tree.size());
}

TEST(TreeArray, IteratorsGoEverywhere) {
  for (int count : {0, 1, 4095, 4096, 4097, 8192, 20000}) {
    tree_array<double> tree = numbers<double>(count);
    EXPECT_EQ(count, tree.end() - tree.begin());
    EXPECT_EQ(tree.end(), tree.begin() + count);
    EXPECT_EQ(tree.begin(), tree.end() - count);
    int expected = 0;
    for (double element : tree) {
      ASSERT_EQ(expected++, element);
    }
    for (auto it = tree.rbegin(); it != tree.rend(); ++it) {
      ASSERT_EQ(--expected, *it);
    }
    for (int from = 0; from <= count; from += 997) {
      for (int to = 0; to <= count; to += 1021) {
        auto it = tree.begin() + from;
        ASSERT_EQ(to - from, (tree.begin() + to) - it);
        ASSERT_EQ(from <=> to, it <=> (tree.begin() + to));
        it += to - from;
        ASSERT_EQ(tree.cbegin() + to, it);
        if (to < count) {
          ASSERT_EQ(to, *it);
          ASSERT_EQ(to, tree.begin()[to]);
          ASSERT_EQ(to, it++[0]);
          ASSERT_EQ(to + 1, it - tree.begin());
          ASSERT_EQ(to, *--it);
        }
      }
    }
  }
}

TEST(TreeArray, SegmentsAreTheElements) {
  for (int count : {0, 1, 8192, 8193, 50000}) {
    tree_array<int> tree = numbers<int>(count);
    int expected = 0;
    for (std::span<int> segment : tree.segments()) {
      for (int element : segment) {
        ASSERT_EQ(expected++, element);
      }
    }
    EXPECT_EQ(count, expected);
    for (int from = 0; from <= count; from += 4999) {
      long sum = 0;
      freehold::for_each(tree.cbegin() + from, tree.cend(), [&](int element) { sum += element; });
      EXPECT_EQ(std::accumulate(tree.begin() + from, tree.end(), 0L), sum);
    }
  }
}

TEST(TreeArray, StandardAlgorithmsWork) {
  tree_array<int> tree = numbers<int>(30000);
  std::ranges::reverse(tree);
  EXPECT_TRUE(std::ranges::is_sorted(tree, std::greater<>()));
  std::sort(tree.begin(), tree.end());
  EXPECT_TRUE(std::ranges::is_sorted(tree));
  EXPECT_EQ(12345, std::ranges::lower_bound(tree, 12345) - tree.begin());
  std::ranges::fill(tree | std::views::drop(100), 5);
  EXPECT_EQ(29900 + 1, std::ranges::count(tree, 5));
}

TEST(TreeArray, ElementsThatOnlyMove) {
  tree_array<std::unique_ptr<int>> tree;
  for (int i = 0; i < 10000; ++i) {
    tree.push_back(std::make_unique<int>(i));
  }
  tree.erase(tree.begin() + 10, tree.begin() + 5000);
  tree.insert(tree.begin() + 3, std::make_unique<int>(-1));
  EXPECT_EQ(10000u - 4990 + 1, tree.size());
  EXPECT_EQ(-1, *tree[3]);
  EXPECT_EQ(5000, *tree[11]);
  tree_array<std::unique_ptr<int>> other = std::move(tree);
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(9999, *other.back());
}

// Throws at a copy that was chosen; counts those that live.
struct Fragile {
  static inline long alive = 0;
  static inline long left = -1;
  int number;

  explicit Fragile(int of = 0) : number(of) { count(); }
  Fragile(const Fragile& other) : number(other.number) { count(); }
  Fragile& operator=(const Fragile&) = default;
  ~Fragile() { --alive; }
  bool operator==(const Fragile&) const = default;

  static void count() {
    if (left == 0) {
      throw std::runtime_error("copy");
    }
    --left;
    ++alive;
  }
};

template <class Action>
void fails_cleanly(bool of_memory, Action action) {
  using Tree = tree_array<Fragile, CountingAllocator<Fragile>>;
  bool done = false;
  for (long step = 0; !done; step = step < 4 ? step + 1 : step * 3 / 2) {
    Memory memory;
    {
      Tree tree(10000, Fragile(3), CountingAllocator<Fragile>(memory));
      const Tree source(20000, Fragile(4), CountingAllocator<Fragile>(memory));
      const Tree before = tree;
      (of_memory ? memory.left : Fragile::left) = step;
      try {
        action(tree, source);
        done = true;
      } catch (const std::bad_alloc&) {
      } catch (const std::runtime_error&) {}
      memory.left = Fragile::left = -1;
      if (!done) {
        ASSERT_TRUE(tree == before) << step;
        ASSERT_EQ(static_cast<long>(2 * tree.size() + source.size()), Fragile::alive);
      }
    }
    ASSERT_EQ(0, Fragile::alive);
    ASSERT_EQ(0u, memory.bytes);
  }
}

class TreeArrayFailures : public testing::TestWithParam<bool> {};

TEST_P(TreeArrayFailures, LeaveEverythingAsItWas) {
  fails_cleanly(GetParam(), [](auto& tree, auto&) { tree.resize(50000); });
  fails_cleanly(GetParam(), [](auto& tree, auto&) { tree.resize(50000, tree[1]); });
  fails_cleanly(GetParam(), [](auto& tree, auto&) { tree.reserve(90000), tree.push_back(Fragile(1)); });
  fails_cleanly(GetParam(), [](auto& tree, auto& source) { tree.append(source.begin(), source.end()); });
  fails_cleanly(GetParam(), [](auto& tree, auto&) { tree.append(tree.begin(), tree.end()); });
  fails_cleanly(GetParam(), [](auto& tree, auto& source) { tree.assign(source.begin(), source.end()); });
  fails_cleanly(GetParam(), [](auto& tree, auto& source) { tree = source; });
  fails_cleanly(GetParam(), [](auto&, auto& source) { auto copy(source); });
}

INSTANTIATE_TEST_SUITE_P(Of, TreeArrayFailures, testing::Bool(), [](const auto& info) { return info.param ? "Memory" : "Copies"; });

template <bool Propagate>
void allocators_follow_the_rules() {
  using Allocator = CountingAllocator<int, Propagate>;
  Memory one, other;
  {
    tree_array<int, Allocator> a(10000, 1, Allocator(one)), b(20000, 2, Allocator(other));
    const int* place = &b[0];
    tree_array<int, Allocator> c(b, Allocator(one));
    EXPECT_EQ(c, b);
    a = b;
    EXPECT_EQ(a, b);
    EXPECT_EQ(Propagate ? &other : &one, a.get_allocator().memory);
    a = tree_array<int, Allocator>(5, 5, Allocator(one));
    a = std::move(b);
    EXPECT_EQ(a, c);
    EXPECT_EQ(Propagate, &a[0] == place);
    if (Propagate) {
      swap(a, c);
      EXPECT_EQ(&one, a.get_allocator().memory);
    }
    tree_array<int, Allocator> d(std::move(c), Allocator(one));
    EXPECT_EQ(20000u, d.size());
  }
  EXPECT_EQ(0u, one.bytes);
  EXPECT_EQ(0u, other.bytes);
}

TEST(TreeArray, AllocatorsThatPropagate) { allocators_follow_the_rules<true>(); }
TEST(TreeArray, AllocatorsThatDoNot) { allocators_follow_the_rules<false>(); }

}  // namespace
