// Some of the values that nobody samples, of each field that heap/death_table.h has a row of: chosen in one look among all that the field has, each with the same chance. The looks that follow see
// what becomes of them (DeathSample::adopted): one that is allocated once, and then given to many, is seen elsewhere, or outlives its holder. With the threads stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/death_table.h"
#include "os/growing_memory.h"

namespace freehold::heap {

struct AdoptableValue {
  uint64_t value;
  core::Object* holder;
  const core::MethodTable* type;  // of the holder
  uint64_t offset;
};

class AdoptableValues {
 public:
  static constexpr size_t kOfRow = 16;

  // False: there is no memory.
  bool reserve() noexcept { return memory_.start() != nullptr || (memory_.reserve() && memory_.reach(kBytes)); }
  bool is_there() const noexcept { return memory_.start() != nullptr; }
  // None is chosen.
  void begin(uint64_t look) noexcept;
  // A field of the row has it. `row`: its place in the table.
  void offer(size_t row, const AdoptableValue& value) noexcept;
  // How many of the row's values were offered; all are chosen, if they are no more than kOfRow.
  uint64_t offered(size_t row) const noexcept { return offered_of()[row]; }
  // Of those that are chosen, the `index`-th.
  const AdoptableValue& chosen(size_t row, size_t index) const noexcept { return values()[row * kOfRow + index]; }
  size_t chosen_of(size_t row) const noexcept { return offered(row) < kOfRow ? static_cast<size_t>(offered(row)) : kOfRow; }
  // Rows with some.
  size_t rows() const noexcept { return rows_; }
  void release() noexcept { memory_.release(); }

 private:
  static constexpr size_t kCounts = kDeathFieldRows * sizeof(uint64_t), kBytes = kCounts + kDeathFieldRows * kOfRow * sizeof(AdoptableValue);

  uint64_t* offered_of() const noexcept { return reinterpret_cast<uint64_t*>(memory_.start()); }
  AdoptableValue* values() const noexcept { return reinterpret_cast<AdoptableValue*>(memory_.start() + kCounts); }

  os::GrowingMemory memory_{kBytes, kBytes};
  uint64_t random_ = 1;
  size_t rows_ = 0;
};

}  // namespace freehold::heap
