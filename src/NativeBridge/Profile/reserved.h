// Arrays for the runtime of profiles. A profiled program's allocator is what is looked at, so nothing here calls it: address space is reserved once, for as many elements
// as there may ever be, and takes memory as they are written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/memory.h"

namespace freehold::profile {

template <typename Element>
class Reserved {
 public:
  // False: no address space.
  bool initialize(size_t most) noexcept {
    most_ = most;
    memory_ = static_cast<Element*>(os::map_private(nullptr, bytes(), PROT_READ | PROT_WRITE));
    return memory_ != nullptr;
  }
  Element& operator[](size_t index) noexcept { return memory_[index]; }
  size_t most() const noexcept { return most_; }

 private:
  size_t bytes() const noexcept { return (most_ * sizeof(Element) + os::kPageSize - 1) & ~(os::kPageSize - 1); }

  Element* memory_ = nullptr;
  size_t most_ = 0;
};

// From keys other than 0 to counts or numbers; open addressing. It grows, unless there is no memory: then what is new is not counted.
class Counts {
 public:
  struct Entry {
    uint64_t key, value;
  };

  // The value of the key, 0 at first. Null: no memory.
  uint64_t* at(uint64_t key) noexcept {
    if (used_ * 4 >= capacity_ * 3 && !grow()) return find_only(key);
    Entry& entry = place_of(key);
    if (entry.key == 0) {
      entry.key = key;
      used_++;
    }
    return &entry.value;
  }
  template <typename Visitor>
  void for_each(Visitor visit) const noexcept {
    for (size_t i = 0; i < capacity_; i++) {
      if (entries_[i].key != 0) visit(entries_[i].key, entries_[i].value);
    }
  }

 private:
  static uint64_t mix(uint64_t key) noexcept {
    key = (key ^ key >> 32) * 0x9e3779b97f4a7c15;
    return key ^ key >> 29;
  }
  Entry& place_of(uint64_t key) noexcept { return place_in(entries_, capacity_, key); }
  static Entry& place_in(Entry* entries, size_t capacity, uint64_t key) noexcept {
    size_t at = mix(key) & (capacity - 1);
    while (entries[at].key != 0 && entries[at].key != key) at = (at + 1) & (capacity - 1);
    return entries[at];
  }
  uint64_t* find_only(uint64_t key) noexcept {
    if (capacity_ == 0) return nullptr;
    Entry& entry = place_of(key);
    return entry.key == key ? &entry.value : nullptr;
  }
  bool grow() noexcept {
    size_t capacity = capacity_ == 0 ? kFirst : capacity_ * 2;
    auto* made = static_cast<Entry*>(os::map_private(nullptr, capacity * sizeof(Entry), PROT_READ | PROT_WRITE));
    if (made == nullptr) {
      // Full but for one place, which ends each search.
      return used_ + 1 < capacity_;
    }
    Entry* old = entries_;
    size_t old_capacity = capacity_;
    for (size_t i = 0; i < old_capacity; i++) {
      if (old[i].key != 0) place_in(made, capacity, old[i].key) = old[i];
    }
    // A handler that exits writes the profile, whatever it has interrupted: there is always a table, and it is as long as it says.
    entries_ = made;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    capacity_ = capacity;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (old != nullptr) os::unmap(old, old_capacity * sizeof(Entry));
    return true;
  }

  static constexpr size_t kFirst = 1024;
  Entry* entries_ = nullptr;
  size_t capacity_ = 0, used_ = 0;
};

}  // namespace freehold::profile
