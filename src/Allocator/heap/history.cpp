#include "heap/history.h"

#include <atomic>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/stack_store.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::kBlockSize;
using core::kPageSize;
using core::kSegmentSize;

namespace {

// What lies at the same place in the table, field by field.
struct Record {
  std::atomic<const core::MethodTable*> type;
  std::atomic<uint32_t> allocated, deleted;
};
static_assert(sizeof(Record) == sizeof(History));

StackWalker stack_walker = nullptr;

os::Lock lock;  // guards what follows, except for reading the table
struct State {
  // Address space for a record of every page and, behind those, of every block of the upper half. Memory comes by the segment.
  std::atomic<Record*> records{nullptr};
  size_t segments_begun = 0, segments_forgotten = 0;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

size_t lower_records() noexcept { return arena.size / 2 / kPageSize; }
size_t table_bytes() noexcept { return (lower_records() + arena.size / 2 / kBlockSize) * sizeof(Record); }

size_t index_of(uintptr_t address) noexcept {
  return arena.in_lower_half(address) ? arena.page_index(address) : lower_records() + arena.block_index(address) - arena.block_count() / 2;
}

bool has_memory(const Record* record) noexcept {
  uint64_t probe;
  return core::try_load(reinterpret_cast<const uint64_t*>(record), &probe);
}

// The records from that of `address` on; null when the kernel refuses memory for them. Those of an object lie in one segment, or are one each.
Record* records_at(uintptr_t address) noexcept {
  Record* table = state.records.load(std::memory_order_acquire);
  size_t index = index_of(address);
  if (table != nullptr && has_memory(table + index)) return table + index;
  os::LockGuard guard(lock);
  if (table == nullptr) table = state.records.load(std::memory_order_relaxed);
  if (table == nullptr) table = static_cast<Record*>(os::reserve(table_bytes(), kPageSize, 0));
  if (table == nullptr) return nullptr;
  state.records.store(table, std::memory_order_release);
  if (has_memory(table + index)) return table + index;
  constexpr size_t kLowerBytes = kSegmentSize / kPageSize * sizeof(Record), kUpperBytes = kSegmentSize / kBlockSize * sizeof(Record);
  auto* bytes = reinterpret_cast<uint8_t*>(table);
  if (!arena.in_lower_half(address)) {
    size_t segment = (address - arena.start - arena.size / 2) / kSegmentSize;
    return os::commit(bytes + lower_records() * sizeof(Record) + segment * kUpperBytes, kUpperBytes) ? table + index : nullptr;
  }
  size_t segment = (address - arena.start) / kSegmentSize;
  if (!os::commit(bytes + segment * kLowerBytes, kLowerBytes)) return nullptr;
  if (!core::knobs.debug) return table + index;  // guarded objects are forgotten by the block
  // Discarded, not decommitted: a late writer must not fault.
  if (state.segments_begun <= segment) state.segments_begun = segment + 1;
  for (; state.segments_forgotten + kSegmentsRemembered < state.segments_begun; state.segments_forgotten++) {
    os::discard(bytes + state.segments_forgotten * kLowerBytes, kLowerBytes);
  }
  return table + index;
}

uint32_t this_stack(StackOf what) noexcept { return remember_stack_of(what, kStackDepth); }

}  // namespace

void set_stack_walker(StackWalker walker) noexcept { stack_walker = walker; }

uint32_t remember_stack_of(StackOf what, size_t frames) noexcept {
  uintptr_t addresses[kStackDepth];
  size_t count = stack_walker != nullptr ? stack_walker(what, addresses, frames) : 0;
  return remember_stack(addresses, count);
}

void note_allocated(const uint8_t* start) noexcept {
  Record* record = records_at(reinterpret_cast<uintptr_t>(start));
  if (record != nullptr) record->allocated.store(this_stack(StackOf::kAllocation), std::memory_order_relaxed);
}

void note_deleted(const uint8_t* start, size_t size, const core::MethodTable* type) noexcept {
  auto address = reinterpret_cast<uintptr_t>(start);
  Record* first = records_at(address);
  if (first == nullptr) return;  // the exception then does without the name
  size_t grain = arena.in_lower_half(address) ? kPageSize : kBlockSize;
  uint32_t allocated = first->allocated.load(std::memory_order_relaxed), deleted = core::knobs.stacks ? this_stack(StackOf::kDeletion) : kNoStack;
  for (Record* record = first; record < first + (size + grain - 1) / grain; record++) {
    record->allocated.store(allocated, std::memory_order_relaxed);
    record->deleted.store(deleted, std::memory_order_relaxed);
    record->type.store(type, std::memory_order_release);
  }
}

bool note_guarded(const uint8_t* start, uint32_t stack) noexcept {
  Record* record = records_at(reinterpret_cast<uintptr_t>(start));
  if (record == nullptr) return false;
  record->type.store(nullptr, std::memory_order_relaxed);
  record->allocated.store(stack, std::memory_order_relaxed);
  record->deleted.store(kAlive, std::memory_order_release);
  return true;
}

bool note_guarded_deleted(const uint8_t* start, const core::MethodTable* type, bool with_stack) noexcept {
  Record* table = state.records.load(std::memory_order_acquire);
  Record* record = table + index_of(reinterpret_cast<uintptr_t>(start));
  if (record->deleted.load(std::memory_order_acquire) != kAlive) return false;
  uint32_t stack = with_stack ? this_stack(StackOf::kDeletion) : kNoStack;
  record->type.store(type, std::memory_order_release);  // another thread may store the same
  uint32_t alive = kAlive;
  if (record->deleted.compare_exchange_strong(alive, stack, std::memory_order_acq_rel)) return true;
  // Forgotten meanwhile: then nothing is to be known. (Or another thread has noted it, and there was no stack of the allocation.)
  if (record->allocated.load(std::memory_order_relaxed) == kNoStack) record->type.store(nullptr, std::memory_order_relaxed);
  return false;
}

bool is_guarded_alive(const uint8_t* start) noexcept {
  const Record* table = state.records.load(std::memory_order_acquire);
  size_t index = index_of(reinterpret_cast<uintptr_t>(start));
  return table != nullptr && has_memory(table + index) && table[index].deleted.load(std::memory_order_acquire) == kAlive;
}

size_t forget_guarded_block(size_t block) noexcept {
  Record* first = state.records.load(std::memory_order_acquire);
  if (first == nullptr) return 0;
  first += block * core::kPagesPerBlock;
  if (!has_memory(first)) return 0;
  size_t alive = 0;
  for (size_t page = 0; page < core::kPagesPerBlock; page++)
    if (first[page].deleted.exchange(kNoStack, std::memory_order_acq_rel) == kAlive) alive++;
  static_assert(core::kPagesPerBlock * sizeof(Record) % kPageSize == 0);
  if (!os::discard(first, core::kPagesPerBlock * sizeof(Record))) {
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      first[page].allocated.store(kNoStack, std::memory_order_relaxed);
      first[page].type.store(nullptr, std::memory_order_relaxed);
    }
  }
  return alive;
}

void forget_history(size_t block, size_t count) noexcept {
  Record* table = state.records.load(std::memory_order_acquire);
  if (table == nullptr || block >= arena.block_count() / 2) return;
  for (Record* first = table + block * core::kPagesPerBlock; count != 0; count--, first += core::kPagesPerBlock) {
    if (!has_memory(first)) continue;
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      if (first[page].type.load(std::memory_order_relaxed) != nullptr) first[page].type.store(nullptr, std::memory_order_relaxed);
    }
  }
}

uint32_t allocation_stack(const uint8_t* start) noexcept {
  const Record* table = state.records.load(std::memory_order_acquire);
  size_t index = index_of(reinterpret_cast<uintptr_t>(start));
  return table != nullptr && has_memory(table + index) ? table[index].allocated.load(std::memory_order_relaxed) : kNoStack;
}

History history_of(uintptr_t address) noexcept {
  const Record* table = state.records.load(std::memory_order_acquire);
  if (table == nullptr || !arena.contains(address) || !has_memory(table + index_of(address))) return {};
  const Record& record = table[index_of(address)];
  History history = {record.type.load(std::memory_order_acquire), record.allocated.load(std::memory_order_relaxed),
                     record.deleted.load(std::memory_order_relaxed)};
  if (history.deleted == kAlive) history.deleted = kNoStack;  // about to be
  return history.type != nullptr ? history : History{};
}

}  // namespace freehold::heap
