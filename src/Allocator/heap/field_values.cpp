#include "heap/field_values.h"

#include <string.h>

namespace freehold::heap {

void FieldValues::begin(uint64_t look) noexcept {
  memset(entries(), 0, kEntries * sizeof(uint64_t));
  if (lost_ > kEntries / 64) part_ = part_ * 2 + 1;
  lost_ = 0;
  salt_ = (look + 1) * 0xd6e8feb86659fd93;
}

bool FieldValues::was_there(uint64_t field, uint64_t value) noexcept {
  if ((((value ^ salt_) * 0x9e3779b97f4a7c15) >> 40 & part_) != 0) return false;
  uint64_t key = ((value + field * 0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15) ^ value;
  key += key == 0 ? 1 : 0;
  size_t index = key >> 32;
  for (size_t i = 0; i < kProbes; i++) {
    uint64_t& entry = entries()[(index + i) % kEntries];
    if (entry == key) return true;
    if (entry != 0) continue;
    entry = key;
    return false;
  }
  lost_++;
  return false;
}

}  // namespace freehold::heap
