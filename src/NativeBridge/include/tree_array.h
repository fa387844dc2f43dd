// freehold::tree_array<T>: an array without a large contiguous range of memory. Elements are in leaves of at most 32 KB, under two levels of directories, none of which is larger.
// After Zagieboylo, Suh and Myers, "The Cost of Software-Based Memory Management Without Virtual Memory" (2020): arrays as trees.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "tree_array_iterator.h"

namespace freehold {

/// A sequence as std::vector, a standard random-access range, whose elements never move while it grows: references stay right. When it becomes shorter, leaves go back to the allocator;
/// at most one empty leaf is kept, and what reserve asked for. Threads: as for the containers of the standard library. Loops over segments(), or by freehold::for_each, cost what loops
/// over an array cost; [] walks three levels. T has at most 32 KB. Of pointers other than T* allocators are refused.
template <class T, class Allocator = std::allocator<T>>
class tree_array {
  using Traits = std::allocator_traits<Allocator>;
  using Leaf = T*;
  using DirectoryAllocator = typename Traits::template rebind_alloc<Leaf>;
  using DirectoryTraits = std::allocator_traits<DirectoryAllocator>;
  using Directory = Leaf*;
  using RootAllocator = typename Traits::template rebind_alloc<Directory>;
  using RootTraits = std::allocator_traits<RootAllocator>;

 public:
  using value_type = T;
  using allocator_type = Allocator;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = tree_array_iterator<tree_array, false>;
  using const_iterator = tree_array_iterator<tree_array, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  /// Bytes: no allocation is larger.
  static constexpr size_type kMostBytes = size_type{32} << 10;
  static_assert(sizeof(T) <= kMostBytes, "an element of a tree_array has at most 32 KB");
  static_assert(std::is_same_v<typename Traits::pointer, T*> && std::is_same_v<typename Traits::value_type, T>, "the allocator is one of T, with pointers T*");
  static constexpr int kLeafShift = std::bit_width(kMostBytes / sizeof(T)) - 1;
  /// A power of two.
  static constexpr size_type kLeafElements = size_type{1} << kLeafShift;

  tree_array() noexcept(noexcept(Allocator())) : tree_array(Allocator()) {}
  explicit tree_array(const Allocator& allocator) noexcept : allocator_(allocator) {}
  explicit tree_array(size_type count, const Allocator& allocator = Allocator()) : tree_array(allocator) { resize(count); }
  tree_array(size_type count, const T& value, const Allocator& allocator = Allocator()) : tree_array(allocator) { resize(count, value); }
  tree_array(std::initializer_list<T> values, const Allocator& allocator = Allocator()) : tree_array(values.begin(), values.end(), allocator) {}
  template <std::input_iterator It>
  tree_array(It first, It last, const Allocator& allocator = Allocator()) : tree_array(allocator) {
    append(std::move(first), std::move(last));
  }

  tree_array(const tree_array& other) : tree_array(other, Traits::select_on_container_copy_construction(other.allocator_)) {}
  tree_array(const tree_array& other, const Allocator& allocator) : tree_array(other.begin(), other.end(), allocator) {}
  tree_array(tree_array&& other) noexcept : allocator_(other.allocator_) { take(other); }
  tree_array(tree_array&& other, const Allocator& allocator) : tree_array(allocator) {
    if (allocator_ == other.allocator_) {
      take(other);
    } else {
      append(std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
    }
  }

  ~tree_array() { release(); }

  /// Either all of it or nothing: what was there stays when a copy throws.
  tree_array& operator=(const tree_array& other) {
    if (this != &other) {
      constexpr bool kPropagate = Traits::propagate_on_container_copy_assignment::value;
      tree_array copy(other, kPropagate ? other.allocator_ : allocator_);
      release();
      if constexpr (kPropagate) {
        allocator_ = other.allocator_;
      }
      take(copy);
    }
    return *this;
  }

  tree_array& operator=(tree_array&& other) noexcept(Traits::propagate_on_container_move_assignment::value || Traits::is_always_equal::value) {
    if (this == &other) {
      return *this;
    }
    if constexpr (Traits::propagate_on_container_move_assignment::value) {
      release();
      allocator_ = std::move(other.allocator_);
      take(other);
    } else if (allocator_ == other.allocator_) {
      release();
      take(other);
    } else {
      tree_array copy(std::move(other), allocator_);
      release();
      take(copy);
    }
    return *this;
  }

  tree_array& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }

  /// Either all of it or nothing.
  template <std::input_iterator It>
  void assign(It first, It last) {
    tree_array copy(std::move(first), std::move(last), allocator_);
    release();
    take(copy);
  }

  allocator_type get_allocator() const noexcept { return allocator_; }
  size_type size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Elements that there is memory for.
  size_type capacity() const noexcept { return leaves_ << kLeafShift; }
  /// What three levels can hold.
  size_type max_size() const noexcept {
    return std::min(static_cast<size_type>(std::numeric_limits<difference_type>::max()) / sizeof(T), size_type{1} << (kLeafShift + 2 * kDirectoryShift));
  }

  reference operator[](size_type index) noexcept { return *address(index); }
  const_reference operator[](size_type index) const noexcept { return *address(index); }
  reference at(size_type index) { return *checked(index); }
  const_reference at(size_type index) const { return *checked(index); }
  reference front() noexcept { return *address(0); }
  const_reference front() const noexcept { return *address(0); }
  reference back() noexcept { return *address(size_ - 1); }
  const_reference back() const noexcept { return *address(size_ - 1); }

  iterator begin() noexcept { return iterator(this, 0); }
  iterator end() noexcept { return iterator(this, size_); }
  const_iterator begin() const noexcept { return const_iterator(this, 0); }
  const_iterator end() const noexcept { return const_iterator(this, size_); }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  /// How many leaves have elements.
  size_type segment_count() const noexcept { return leaves_for(size_); }
  /// The elements of one leaf.
  std::span<T> segment(size_type number) noexcept { return {leaf(number), segment_size(number)}; }
  std::span<const T> segment(size_type number) const noexcept { return {leaf(number), segment_size(number)}; }
  /// The elements as a range of spans.
  auto segments() noexcept {
    return std::views::iota(size_type{0}, segment_count()) | std::views::transform([this](size_type number) { return segment(number); });
  }
  auto segments() const noexcept {
    return std::views::iota(size_type{0}, segment_count()) | std::views::transform([this](size_type number) { return segment(number); });
  }

  /// Memory for so many elements; it stays until shrink_to_fit. When it throws nothing has changed.
  void reserve(size_type count) {
    make_leaves(count);
    reserved_ = std::max(reserved_, leaves_for(count));
  }

  /// Leaves without elements go back.
  void shrink_to_fit() noexcept {
    reserved_ = 0;
    remove_leaves(leaves_for(size_));
  }

  /// An element at the end. When it throws nothing has changed.
  template <class... Arguments>
  reference emplace_back(Arguments&&... arguments) {
    if (size_ == capacity()) [[unlikely]] {
      make_leaves(size_ + 1);
    }
    T* place = address(size_);
    Traits::construct(allocator_, place, std::forward<Arguments>(arguments)...);
    ++size_;
    return *place;
  }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }

  void pop_back() noexcept { truncate(size_ - 1); }
  void clear() noexcept { truncate(0); }

  /// Elements at the end. When it throws nothing has changed, but for what an input iterator has read. The range may be one of this container's.
  template <std::input_iterator It>
  void append(It first, It last) {
    Undo undo{*this};
    if constexpr (std::is_same_v<It, iterator> || std::is_same_v<It, const_iterator>) {
      // Their container may be this one, whose last leaf is about to change.
      for (difference_type left = last - first; left > 0; --left, ++first) {
        emplace_back(*first);
      }
    } else {
      for (; first != last; ++first) {
        emplace_back(*first);
      }
    }
    undo.keep();
  }

  /// More elements, value-initialised, or fewer. When it throws nothing has changed.
  void resize(size_type count) {
    change_size(count, [this](T* place) { Traits::construct(allocator_, place); });
  }

  /// More elements, copies of one, which may be in the container, or fewer. When it throws nothing has changed.
  void resize(size_type count, const T& value) {
    change_size(count, [this, &value](T* place) { Traits::construct(allocator_, place, value); });
  }

  /// An element before a place; what follows moves by one. When a move throws, elements have any order.
  iterator insert(const_iterator before, const T& value) { return emplace(before, value); }
  iterator insert(const_iterator before, T&& value) { return emplace(before, std::move(value)); }

  template <class... Arguments>
  iterator emplace(const_iterator before, Arguments&&... arguments) {
    const difference_type index = before.index();
    emplace_back(std::forward<Arguments>(arguments)...);
    std::rotate(begin() + index, end() - 1, end());
    return begin() + index;
  }

  /// Elements before a place; what follows moves once.
  template <std::input_iterator It>
  iterator insert(const_iterator before, It first, It last) {
    const difference_type index = before.index(), count = static_cast<difference_type>(size_);
    append(std::move(first), std::move(last));
    std::rotate(begin() + index, begin() + count, end());
    return begin() + index;
  }

  iterator erase(const_iterator place) { return erase(place, place + 1); }

  /// What follows moves once; leaves that have no element any more go back.
  iterator erase(const_iterator first, const_iterator last) {
    const difference_type index = first.index(), count = last.index() - index;
    if (count > 0) {
      std::move(begin() + (index + count), end(), begin() + index);
      truncate(size_ - static_cast<size_type>(count));
    }
    return begin() + index;
  }

  void swap(tree_array& other) noexcept {
    if constexpr (Traits::propagate_on_container_swap::value) {
      std::swap(allocator_, other.allocator_);
    }
    std::swap(root_, other.root_);
    std::swap(root_capacity_, other.root_capacity_);
    std::swap(size_, other.size_);
    std::swap(leaves_, other.leaves_);
    std::swap(reserved_, other.reserved_);
  }

  friend void swap(tree_array& a, tree_array& b) noexcept { a.swap(b); }
  friend bool operator==(const tree_array& a, const tree_array& b) { return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin()); }
  friend auto operator<=>(const tree_array& a, const tree_array& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  template <class Tree, bool Const>
  friend class tree_array_iterator;

  static constexpr int kDirectoryShift = std::bit_width(kMostBytes / sizeof(Leaf)) - 1;
  static constexpr size_type kDirectoryEntries = size_type{1} << kDirectoryShift;
  static constexpr size_type kFirstRoot = 4;

  // Removes what was added, and its leaves, unless told to keep it.
  struct Undo {
    tree_array& tree;
    size_type size = tree.size_;
    size_type leaves = tree.leaves_;
    bool kept = false;

    void keep() noexcept { kept = true; }
    ~Undo() {
      if (!kept) {
        tree.destroy(size);
        tree.remove_leaves(leaves);
      }
    }
  };

  static size_type leaves_for(size_type count) noexcept { return (count >> kLeafShift) + ((count & (kLeafElements - 1)) != 0); }

  Leaf leaf(size_type number) const noexcept { return root_[number >> kDirectoryShift][number & (kDirectoryEntries - 1)]; }
  Leaf leaf_or_null(size_type number) const noexcept { return number < leaves_ ? leaf(number) : nullptr; }
  T* address(size_type index) const noexcept { return leaf(index >> kLeafShift) + (index & (kLeafElements - 1)); }
  size_type segment_size(size_type number) const noexcept { return std::min(kLeafElements, size_ - (number << kLeafShift)); }

  T* checked(size_type index) const {
    if (index >= size_) {
      throw std::out_of_range("tree_array::at: the index is not less than size()");
    }
    return address(index);
  }

  template <class Construct>
  void change_size(size_type count, Construct construct) {
    if (count <= size_) {
      truncate(count);
      return;
    }
    Undo undo{*this};
    make_leaves(count);
    for (size_type number = size_ >> kLeafShift; size_ < count; ++number) {
      T* const begin = leaf(number);
      for (const size_type end = std::min(count, (number + 1) << kLeafShift); size_ < end; ++size_) {
        construct(begin + (size_ & (kLeafElements - 1)));
      }
    }
    undo.keep();
  }

  void truncate(size_type count) noexcept {
    destroy(count);
    const size_type kept = std::max(reserved_, leaves_for(count) + 1);
    if (leaves_ > kept) [[unlikely]] {
      remove_leaves(kept);
    }
  }

  // The last element first.
  void destroy(size_type count) noexcept {
    if constexpr (std::is_trivially_destructible_v<T>) {
      size_ = count;
    } else {
      while (size_ > count) {
        --size_;
        Traits::destroy(allocator_, address(size_));
      }
    }
  }

  // All or nothing.
  void make_leaves(size_type count) {
    if (count > max_size()) {
      throw std::length_error("tree_array: more elements than three levels of 32 KB can hold");
    }
    const size_type before = leaves_, wanted = leaves_for(count);
    try {
      while (leaves_ < wanted) {
        add_leaf();
      }
    } catch (...) {
      remove_leaves(before);
      throw;
    }
  }

  void add_leaf() {
    const size_type slot = leaves_ >> kDirectoryShift, at = leaves_ & (kDirectoryEntries - 1);
    if (slot == root_capacity_) {
      grow_root();
    }
    const bool first = at == 0;
    if (first) {
      DirectoryAllocator allocator(allocator_);
      root_[slot] = DirectoryTraits::allocate(allocator, kDirectoryEntries);
    }
    try {
      root_[slot][at] = Traits::allocate(allocator_, kLeafElements);
    } catch (...) {
      if (first) {
        remove_directory(slot);
      }
      throw;
    }
    ++leaves_;
  }

  void grow_root() {
    RootAllocator allocator(allocator_);
    const size_type larger = root_capacity_ == 0 ? kFirstRoot : root_capacity_ * 2;
    Directory* root = RootTraits::allocate(allocator, larger);
    if (root_ != nullptr) {
      std::copy_n(root_, root_capacity_, root);
      RootTraits::deallocate(allocator, root_, root_capacity_);
    }
    root_ = root;
    root_capacity_ = larger;
  }

  void remove_leaves(size_type kept) noexcept {
    while (leaves_ > kept) {
      --leaves_;
      Traits::deallocate(allocator_, leaf(leaves_), kLeafElements);
      if ((leaves_ & (kDirectoryEntries - 1)) == 0) {
        remove_directory(leaves_ >> kDirectoryShift);
      }
    }
    if (leaves_ == 0 && root_ != nullptr) {
      RootAllocator allocator(allocator_);
      RootTraits::deallocate(allocator, std::exchange(root_, nullptr), std::exchange(root_capacity_, 0));
    }
  }

  void remove_directory(size_type slot) noexcept {
    DirectoryAllocator allocator(allocator_);
    DirectoryTraits::deallocate(allocator, root_[slot], kDirectoryEntries);
  }

  void release() noexcept {
    destroy(0);
    reserved_ = 0;
    remove_leaves(0);
  }

  // From one whose memory this one's allocator can give back; this one has none.
  void take(tree_array& other) noexcept {
    root_ = std::exchange(other.root_, nullptr);
    root_capacity_ = std::exchange(other.root_capacity_, 0);
    size_ = std::exchange(other.size_, 0);
    leaves_ = std::exchange(other.leaves_, 0);
    reserved_ = std::exchange(other.reserved_, 0);
  }

  Directory* root_ = nullptr;
  size_type root_capacity_ = 0;
  size_type size_ = 0;
  size_type leaves_ = 0;
  size_type reserved_ = 0;  // leaves that reserve asked for
  [[no_unique_address]] Allocator allocator_;
};

}  // namespace freehold
