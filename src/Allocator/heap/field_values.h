// Which values the fields that heap/death_table.h has rows of have in one look, whoever has them, sampled or not: a value that comes twice is shared. With the threads stopped.
// Where a look reads more than there is room for, it remembers some of what it reads, at random, and compares all: one that many share is remembered soon, and seen with the next one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/growing_memory.h"

namespace freehold::heap {

class FieldValues {
 public:
  // False: there is no memory.
  bool reserve() noexcept { return memory_.start() != nullptr || (memory_.reserve() && memory_.reach(kEntries * sizeof(uint64_t))); }
  bool is_there() const noexcept { return memory_.start() != nullptr; }
  // None has come in this look.
  void begin(uint64_t look) noexcept;
  // Whether it has come before, of that field, and was remembered.
  bool was_there(uint64_t field, uint64_t value) noexcept;
  // One of so many reads is remembered now.
  uint64_t part() const noexcept { return part_ + 1; }
  void release() noexcept { memory_.release(); }

 private:
  static constexpr size_t kEntries = size_t{1} << 17, kMost = kEntries / 2, kFull = kEntries / 4 * 3;

  uint64_t* entries() const noexcept { return reinterpret_cast<uint64_t*>(memory_.start()); }
  uint64_t random() noexcept;

  os::GrowingMemory memory_{kEntries * sizeof(uint64_t), kEntries * sizeof(uint64_t)};
  uint64_t random_ = 1, part_ = 0;  // part_: a mask
  uint64_t reads_ = 0;              // in this look
  size_t used_ = 0, limit_ = kMost;
};

}  // namespace freehold::heap
