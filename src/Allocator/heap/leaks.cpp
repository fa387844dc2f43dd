#include "heap/leaks.h"

#include <string.h>

#include <algorithm>

#include "core/knobs.h"
#include "heap/allocation_samples.h"
#include "heap/classification.h"
#include "heap/history.h"
#include "heap/stack_store.h"

namespace freehold::heap {

using core::MethodTable;
using core::Object;

namespace {

class LeakTable {
 public:
  LeakTable(LeakEntry* entries, size_t capacity) noexcept : entries_(entries), last_(entries), capacity_(capacity) {
    memset(entries, 0, capacity * sizeof *entries);
  }

  void add(const MethodTable* type, uint32_t stack, uint32_t samples, uint64_t objects, uint64_t bytes) noexcept {
    // Method tables lie next to each other: the bits above their alignment differ.
    size_t index = (reinterpret_cast<uintptr_t>(type) / sizeof(MethodTable) + size_t{stack} * 0x9e3779b97f4a7c15 + samples_of(samples)) % capacity_;
    auto is_it = [&](const LeakEntry& entry) noexcept {
      return entry.type == type && entry.stack == stack && samples_of(entry.samples) == samples_of(samples);
    };
    // Objects of one type often lie next to each other.
    if (is_it(*last_)) index = static_cast<size_t>(last_ - entries_);
    while (entries_[index].type != nullptr && !is_it(entries_[index])) index = (index + 1) % capacity_;
    LeakEntry& entry = *(last_ = &entries_[index]);
    if (entry.type == nullptr) {
      // One stays free, where lookups end.
      if (overflows_ || used_ + 1 == capacity_) {
        overflows_ = true;
        return;
      }
      used_++;
    }
    entry = {type, stack, entry.samples + samples, entry.objects + objects, entry.bytes + bytes};
  }
  bool overflows() const noexcept { return overflows_; }

 private:
  static size_t samples_of(uint32_t samples) noexcept { return samples != 0 ? 1 : 0; }

  LeakEntry *entries_, *last_;
  size_t capacity_, used_ = 0;
  bool overflows_ = false;
};

void add_leak(Object* object, const MethodTable* type, size_t size, void* table) noexcept {
  // Static fields of threads that have ended: what they refer to is the program's, they are the runtime's.
  if (!type->is_type()) return;
  static_cast<LeakTable*>(table)->add(type, core::knobs.stacks ? allocation_stack(object->start()) : kNoStack, 0, 1, size);
}

void add_samples(const Marking& marking, void* table) noexcept {
  struct Request {
    const Marking& marking;
    LeakTable& table;
  } request = {marking, *static_cast<LeakTable*>(table)};
  refresh_samples();
  for_each_sample(
      [](const AllocationSample& sample, void* argument) noexcept {
        const auto& request = *static_cast<Request*>(argument);
        auto* object = reinterpret_cast<Object*>(sample.object);
        // One without a type yet is not an object yet.
        if (object->type == nullptr || !object->type->is_type() || is_reached(request.marking, object)) return;
        uint64_t bytes = uint64_t{sample.weight} << 10;
        request.table.add(object->type, sample.stack, 1, std::max<uint64_t>(bytes / object->size(), 1), bytes);
      },
      &request);
}

}  // namespace

MarkingResult find_leaks(LeakEntry* entries, size_t capacity) noexcept {
  LeakTable table(entries, capacity);
  if (!find_unreachable(add_leak, core::knobs.samples_allocations() ? add_samples : nullptr, &table)) return MarkingResult::kNotPossible;
  return table.overflows() ? MarkingResult::kNoRoom : MarkingResult::kDone;
}

MarkingResult find_live_by_place(LeakEntry* entries, size_t capacity) noexcept {
  LeakTable table(entries, capacity);
  if (!find_live(add_leak, &table)) return MarkingResult::kNotPossible;
  return table.overflows() ? MarkingResult::kNoRoom : MarkingResult::kDone;
}

}  // namespace freehold::heap
