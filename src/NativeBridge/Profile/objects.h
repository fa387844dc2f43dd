// The live objects of a profiled program: from any address in one to its context and its place in the order of allocations. Each 16 bytes of the heap have a word with the number
// of the object that lies there.
//
// Written under the runtime's lock; read without it. A reader that comes while an object is freed and its number used again sees one or the other, or a mixture, which
// makes one count wrong.
#pragma once

#include <atomic>
#include <cstdint>

#include "reserved.h"

namespace freehold::profile {

struct Object {
  std::atomic<uint32_t> context;  // 0: free
  uint32_t next_free;
  std::atomic<uint64_t> sequence;  // of its allocation, from 1
  // The allocations before and after it from the same context; 0: none.
  std::atomic<uint64_t> previous, following;
};

class Objects {
 public:
  // Objects above it lie alone anyway: no group takes them, and nobody asks what they are used with.
  static constexpr size_t kLargest = 4096;

  bool initialize() noexcept;
  // 0: none. By any thread.
  uint32_t number_at(uintptr_t address) noexcept {
    if (address >> kAddressBits != 0) return 0;
    std::atomic<uint32_t>* leaf = leaves_[address >> kLeafBits].load(std::memory_order_acquire);
    return leaf == nullptr ? 0 : leaf[address >> kGranuleBits & (kGranules - 1)].load(std::memory_order_relaxed);
  }
  Object& operator[](uint32_t number) noexcept { return objects_[number]; }

  // 0: no room.
  uint32_t add(uintptr_t start, size_t size) noexcept;
  // It stays where it is. What does not fit is not found.
  void resize(uint32_t number, uintptr_t start, size_t old_size, size_t size) noexcept;
  void remove(uint32_t number, uintptr_t start, size_t size) noexcept;

 private:
  static constexpr int kAddressBits = 47, kLeafBits = 26, kGranuleBits = 4;
  static constexpr size_t kGranules = size_t{1} << (kLeafBits - kGranuleBits), kMostObjects = 1 << 26;

  bool set(uintptr_t start, size_t size, uint32_t number) noexcept;
  void put_back(uint32_t number) noexcept;

  Reserved<std::atomic<std::atomic<uint32_t>*>> leaves_;
  Reserved<Object> objects_;
  uint32_t used_ = 1, free_ = 0;
};

}  // namespace freehold::profile
