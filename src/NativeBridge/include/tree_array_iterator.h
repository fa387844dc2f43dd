// The iterators of freehold::tree_array, and loops over the pieces of a range of them.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace freehold {

template <class T, class Allocator>
class tree_array;

/// A random-access iterator that keeps the leaf that it is in: within a leaf a step is an addition and a comparison. Growth, shrinking, moves and swaps of the container invalidate it.
template <class Tree, bool Const>
class tree_array_iterator {
 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Tree::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = std::conditional_t<Const, const value_type*, value_type*>;
  using reference = std::conditional_t<Const, const value_type&, value_type&>;

  tree_array_iterator() noexcept = default;

  /// An iterator of constants from one that is not.
  template <bool Other>
    requires(Const && !Other)
  tree_array_iterator(const tree_array_iterator<Tree, Other>& other) noexcept
      : current_(other.current_), first_(other.first_), leaf_(other.leaf_), tree_(other.tree_) {}

  reference operator*() const noexcept { return *current_; }
  pointer operator->() const noexcept { return current_; }
  reference operator[](difference_type n) const noexcept { return *(*this + n); }

  tree_array_iterator& operator++() noexcept {
    if (++current_ == first_ + kLength) [[unlikely]] {
      enter(leaf_ + 1, 0);
    }
    return *this;
  }

  tree_array_iterator operator++(int) noexcept {
    tree_array_iterator before = *this;
    ++*this;
    return before;
  }

  tree_array_iterator& operator--() noexcept {
    if (current_ == first_) [[unlikely]] {
      enter(leaf_ - 1, kLength - 1);
    } else {
      --current_;
    }
    return *this;
  }

  tree_array_iterator operator--(int) noexcept {
    tree_array_iterator before = *this;
    --*this;
    return before;
  }

  tree_array_iterator& operator+=(difference_type n) noexcept {
    const difference_type offset = (current_ - first_) + n;
    if (static_cast<std::size_t>(offset) < Tree::kLeafElements) [[likely]] {  // at the end, where first is null, only n = 0 comes here
      current_ = first_ + offset;
    } else {
      const difference_type index = leaf_ * kLength + offset;
      enter(index >> Tree::kLeafShift, index & (kLength - 1));
    }
    return *this;
  }

  tree_array_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  friend tree_array_iterator operator+(tree_array_iterator it, difference_type n) noexcept { return it += n; }
  friend tree_array_iterator operator+(difference_type n, tree_array_iterator it) noexcept { return it += n; }
  friend tree_array_iterator operator-(tree_array_iterator it, difference_type n) noexcept { return it -= n; }
  friend difference_type operator-(const tree_array_iterator& a, const tree_array_iterator& b) noexcept { return a.index() - b.index(); }
  friend bool operator==(const tree_array_iterator& a, const tree_array_iterator& b) noexcept { return a.current_ == b.current_; }
  friend std::strong_ordering operator<=>(const tree_array_iterator& a, const tree_array_iterator& b) noexcept { return a.index() <=> b.index(); }

 private:
  friend Tree;
  template <class OtherTree, bool Other>
  friend class tree_array_iterator;
  template <class It, class Function>
  friend void for_each_segment(It first, It last, Function&& function);

  static constexpr difference_type kLength = static_cast<difference_type>(Tree::kLeafElements);

  tree_array_iterator(const Tree* tree, std::size_t index) noexcept : tree_(tree) {
    enter(static_cast<difference_type>(index >> Tree::kLeafShift), static_cast<difference_type>(index & (Tree::kLeafElements - 1)));
  }

  difference_type index() const noexcept { return leaf_ * kLength + (current_ - first_); }

  // Behind the last leaf there is none: there current and first are null, and only the end is there.
  void enter(difference_type leaf, difference_type offset) noexcept {
    leaf_ = leaf;
    first_ = tree_->leaf_or_null(static_cast<std::size_t>(leaf));
    current_ = first_ == nullptr ? nullptr : first_ + offset;
  }

  pointer current_ = nullptr;
  pointer first_ = nullptr;  // of the leaf
  difference_type leaf_ = 0;
  const Tree* tree_ = nullptr;
};

/// Calls function(begin, end), two pointers, for each piece of [first, last) that is in one leaf. The compiler optimises a loop between the two as one over an array.
template <class It, class Function>
void for_each_segment(It first, It last, Function&& function) {
  while (first.leaf_ < last.leaf_) {
    function(first.current_, first.first_ + It::kLength);
    first.enter(first.leaf_ + 1, 0);
  }
  if (first.current_ != last.current_) {
    function(first.current_, last.current_);
  }
}

/// As std::for_each, without a check of the leaf for each element.
template <class Tree, bool Const, class Function>
Function for_each(tree_array_iterator<Tree, Const> first, tree_array_iterator<Tree, Const> last, Function function) {
  for_each_segment(first, last, [&](auto* begin, auto* end) {
    for (; begin != end; ++begin) {
      function(*begin);
    }
  });
  return function;
}

}  // namespace freehold
