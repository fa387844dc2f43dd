// Which values the fields that heap/death_table.h has rows of have in one look, whoever has them, sampled or not: a value that comes twice is shared. With the threads stopped.
// A look at more values than there is room for takes a part of them, in each look another one: one that many share comes twice in some look.
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
  // Whether it has come before, of that field.
  bool was_there(uint64_t field, uint64_t value) noexcept;
  void release() noexcept { memory_.release(); }

 private:
  static constexpr size_t kEntries = size_t{1} << 17, kProbes = 16;

  uint64_t* entries() const noexcept { return reinterpret_cast<uint64_t*>(memory_.start()); }

  os::GrowingMemory memory_{kEntries * sizeof(uint64_t), kEntries * sizeof(uint64_t)};
  uint64_t salt_ = 0, part_ = 0;  // part_: a mask, of which values are left out
  size_t lost_ = 0;
};

}  // namespace freehold::heap
