#include "heap/field_values.h"

#include <string.h>

namespace freehold::heap {

void FieldValues::begin(uint64_t look) noexcept {
  memset(entries(), 0, kEntries * sizeof(uint64_t));
  // As many as in the look before: half of the room for what is remembered by then.
  part_ = 0;
  while (reads_ / (part_ + 1) > kMost) part_ = part_ * 2 + 1;
  reads_ = used_ = 0;
  limit_ = kMost;
  random_ = (look + 1) * 0xd6e8feb86659fd93;
}

// Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003.
uint64_t FieldValues::random() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  return random_ ^= random_ << 17;
}

bool FieldValues::was_there(uint64_t field, uint64_t value) noexcept {
  reads_++;
  uint64_t key = ((value + field * 0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15) ^ value;
  key += key == 0 ? 1 : 0;
  size_t index = key >> 32;
  for (;; index++) {
    uint64_t entry = entries()[index % kEntries];
    if (entry == key) return true;
    if (entry == 0) break;
  }
  if (used_ == kFull || (part_ != 0 && (random() >> 20 & part_) != 0)) return false;
  entries()[index % kEntries] = key;
  // There are more than in the look before: the rest of the room is for all of them.
  if (++used_ == limit_) {
    part_ = part_ * 2 + 1;
    limit_ += (kFull - limit_) / 4;
  }
  return false;
}

}  // namespace freehold::heap
