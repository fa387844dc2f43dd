#include "objects.h"

namespace freehold::profile {

bool Objects::initialize() noexcept { return leaves_.initialize(size_t{1} << (kAddressBits - kLeafBits)) && objects_.initialize(kMostObjects); }

bool Objects::set(uintptr_t start, size_t size, uint32_t number) noexcept {
  for (uintptr_t at = start; at < start + size; at += size_t{1} << kGranuleBits) {
    auto& place = leaves_[at >> kLeafBits];
    std::atomic<uint32_t>* leaf = place.load(std::memory_order_relaxed);
    if (leaf == nullptr) {
      if (number == 0) continue;
      leaf = static_cast<std::atomic<uint32_t>*>(os::map_private(nullptr, kGranules * sizeof *leaf, PROT_READ | PROT_WRITE));
      if (leaf == nullptr) return false;
      place.store(leaf, std::memory_order_release);
    }
    leaf[at >> kGranuleBits & (kGranules - 1)].store(number, std::memory_order_relaxed);
  }
  return true;
}

uint32_t Objects::add(uintptr_t start, size_t size) noexcept {
  if ((start + size) >> kAddressBits != 0) return 0;
  uint32_t number = free_;
  if (number != 0) {
    free_ = objects_[number].next_free;
  } else if (used_ < kMostObjects) {
    number = used_++;
  } else {
    return 0;
  }
  if (set(start, size, number)) return number;
  set(start, size, 0);
  put_back(number);
  return 0;
}

void Objects::resize(uint32_t number, uintptr_t start, size_t old_size, size_t size) noexcept {
  if (size > kLargest) {
    remove(number, start, old_size);
  } else {
    set(start, old_size, 0);
    set(start, size, number);
  }
}

void Objects::remove(uint32_t number, uintptr_t start, size_t size) noexcept {
  set(start, size, 0);
  // A part of memory whose free was not seen, in a handler that had interrupted the recorder: the other part has given the number back.
  if (objects_[number].context.load(std::memory_order_relaxed) == 0) return;
  objects_[number].context.store(0, std::memory_order_relaxed);
  put_back(number);
}

void Objects::put_back(uint32_t number) noexcept {
  objects_[number].next_free = free_;
  free_ = number;
}

}  // namespace freehold::profile
