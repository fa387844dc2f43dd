// Loops over a tree_array, for run.sh: it looks at what clang makes of them.
#include <cstddef>

#include "tree_array.h"

using Tree = freehold::tree_array<int>;

extern "C" int sum_array(const int* begin, const int* end) {
  int sum = 0;
  for (; begin != end; ++begin) {
    sum += *begin;
  }
  return sum;
}

extern "C" int sum_for_each(const Tree& tree) {
  int sum = 0;
  freehold::for_each(tree.begin(), tree.end(), [&](int element) { sum += element; });
  return sum;
}

extern "C" int sum_segments(const Tree& tree) {
  int sum = 0;
  for (auto segment : tree.segments()) {
    for (int element : segment) {
      sum += element;
    }
  }
  return sum;
}

extern "C" int sum_iterator(const Tree& tree) {
  int sum = 0;
  for (int element : tree) {
    sum += element;
  }
  return sum;
}

extern "C" int sum_index(const Tree& tree) {
  int sum = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    sum += tree[i];
  }
  return sum;
}
