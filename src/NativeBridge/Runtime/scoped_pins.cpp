#include "scoped_pins.h"

#include "handle_table.h"
#include "os.h"

namespace freehold::bridge {

ScopedPins scoped_pins;

uint32_t ScopedPins::add(uint64_t handle) noexcept {
  OwnedLockGuard guard(lock_);
  if (pins_ == nullptr && (pins_ = static_cast<uint64_t*>(os::map(kMost * sizeof(uint64_t)))) == nullptr) return 0;
  uint32_t place = unused_;
  if (place != 0) {
    unused_ = static_cast<uint32_t>(pins_[place]);
  } else if (end_ == kMost) {
    return 0;
  } else {
    place = end_++;
  }
  pins_[place] = handle;
  count_.fetch_add(1, std::memory_order_relaxed);
  return place;
}

bool ScopedPins::remove(uint32_t place, uint64_t handle) noexcept {
  OwnedLockGuard guard(lock_);
  if (place == 0 || place >= end_ || pins_[place] != handle) return false;
  pins_[place] = unused_;
  unused_ = place;
  count_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool ScopedPins::has(uint32_t id) noexcept {
  if (count() == 0) return false;
  OwnedLockGuard guard(lock_);
  for (uint32_t i = 1; i < end_; i++) {
    if ((pins_[i] >> 63) != 0 && HandleTable::id_of(pins_[i]) == id) return true;
  }
  return false;
}

}  // namespace freehold::bridge
