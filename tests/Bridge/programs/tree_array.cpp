// options: -std=c++20
// freehold::tree_array with handles: leaves and directories move while iterators, spans and references into them are in use, elements have memory of their own, and leaves go back.
#include "../../../src/NativeBridge/include/tree_array.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

namespace {

unsigned long digest(const freehold::tree_array<std::string>& tree) {
  unsigned long sum = 0;
  freehold::for_each(tree.begin(), tree.end(),
                     [&](const std::string& element) { sum = sum * 31 + element.size() + static_cast<unsigned char>(element.back()); });
  return sum;
}

}  // namespace

int main() {
  freehold::tree_array<std::string> tree;
  for (int i = 0; i < 20000; ++i) {
    tree.push_back("an element that has memory of its own, number " + std::to_string(i * 7919 % 20000));
  }
  std::printf("%zu %lu\n", tree.size(), digest(tree));
  std::sort(tree.begin(), tree.end());
  std::printf("%zu %lu %s\n", tree.size(), digest(tree), tree[777].c_str());
  const std::string& kept = tree[5];
  tree.erase(tree.begin() + 10, tree.begin() + 18000);
  tree.insert(tree.begin() + 7, "new");
  std::printf("%zu %lu %s\n", tree.size(), digest(tree), kept.c_str());

  freehold::tree_array<long> numbers(300000);
  std::iota(numbers.begin(), numbers.end(), 1);
  long sum = 0;
  for (auto segment : numbers.segments()) {
    for (long& number : segment) {
      number *= 3;
      sum += number;
    }
  }
  for (auto it = numbers.begin(); it < numbers.end(); it += std::min<std::ptrdiff_t>(1000, numbers.end() - it)) {
    sum ^= *it;
  }
  freehold::tree_array<long> copy = numbers;
  numbers.resize(100);
  numbers.shrink_to_fit();
  std::printf("%ld %zu %zu %ld %d\n", sum, numbers.capacity(), copy.size(), copy.back(), copy == numbers);
  return 0;
}
