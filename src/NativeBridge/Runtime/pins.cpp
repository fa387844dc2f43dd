#include "pins.h"

#include <atomic>
#include <cstring>

#include "os.h"
#include "signal_masks.h"

namespace freehold::bridge {

void Pins::push(const PinRecord& record, bool interrupted) noexcept {
  auto at = reinterpret_cast<uintptr_t>(&record);
  if (count_ != 0 && all()[count_ - 1].record <= at && !interrupted) drop_below(at);
  uint32_t named = record.named(), count = named == 0 ? 1 : named;
  // Room to spare, so that a handler hardly ever moves what it has interrupted.
  uint32_t wanted = count_ + count + (interrupted ? 0 : kSpare);
  if (wanted > capacity()) grow(wanted);
  // A handler that comes here pushes above, and pops again.
  uint32_t first = count_;
  count_ = first + count;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < count; i++) all()[first + i] = {at, i < named ? reinterpret_cast<uint64_t>(record.handles()[i]) : 0};
}

// The record at the address itself goes too, on any stack: its memory has another one now, or it has been unlinked.
void Pins::drop_below(uintptr_t address) noexcept {
  bool is_own_stack = is_own(address);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count_; i++) {
    Pin pin = all()[i];
    if (pin.record == address || (is_own_stack && pin.record < address && is_own(pin.record))) continue;
    all()[kept++] = pin;
  }
  count_ = kept;
}

void Pins::note_other_stack(uintptr_t low, uintptr_t high) noexcept {
  if (low >= high_ || high <= low_) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < others_count_; i++) {
    if (others_[i].low >= low && others_[i].high <= high) continue;
    others_[kept++] = others_[i];
  }
  others_count_ = kept;
  if (kept == kMostOthers) {
    // From now on nobody knows which frames have ended.
    low_ = high_ = 0;
    return;
  }
  others_[kept] = {low, high};
  others_count_ = kept + 1;
}

void Pins::grow(uint32_t wanted) noexcept {
  // A handler would push into the array that goes, or the one that is not there yet.
  signal_masks::NoSignals no_signals;
  uint32_t count = capacity();
  while (count < wanted) count *= 2;
  size_t size = (count * sizeof(Pin) + os::kPageSize - 1) & ~(os::kPageSize - 1);
  auto* made = static_cast<Pin*>(os::map(size));
  if (made == nullptr) os::fail("freehold: no memory for what a thread has pinned\n");
  memcpy(made, all(), count_ * sizeof(Pin));
  if (more_ != nullptr) os::unmap(more_, (more_capacity_ * sizeof(Pin) + os::kPageSize - 1) & ~(os::kPageSize - 1));
  more_capacity_ = count;
  more_ = made;
}

}  // namespace freehold::bridge
