// Compiled for general registers only, as the barriers call it.
#include "heap/scope_notes.h"

#include "Platform/lock.h"
#include "core/arena.h"
#include "heap/forwarding.h"
#include "os/kernel.h"

thread_local constinit FreeholdScopeRange freehold_scope_range = {};

namespace freehold::heap {

ScopeNotes scope_notes;
thread_local constinit uintptr_t own_stack_end = 0;

namespace {

os::Lock lock;  // who has it makes the memory

// What a thread has noted lately: most stores go where others went before.
struct Noted {
  uint64_t page, epoch;
};
constexpr size_t kRemembered = 64;
[[gnu::tls_model("initial-exec")]] thread_local constinit Noted noted_lately[kRemembered] = {};

// Half of the table stays free, but for as many places as there are threads at this point.
void insert(uint64_t page) noexcept {
  if (scope_notes.count.load(std::memory_order_relaxed) >= ScopeNotes::kMost) {
    scope_notes.count.store(ScopeNotes::kMost + 1, std::memory_order_relaxed);
    return;
  }
  constexpr int kShift = 64 - __builtin_ctzll(ScopeNotes::kSlots);
  for (size_t slot = page * 0x9E3779B97F4A7C15 >> kShift;; slot = (slot + 1) % ScopeNotes::kSlots) {
    uint64_t there = scope_notes.table[slot].load(std::memory_order_relaxed);
    if (there == 0 && scope_notes.table[slot].compare_exchange_strong(there, page, std::memory_order_relaxed)) {
      size_t place = scope_notes.count.fetch_add(1, std::memory_order_relaxed);
      if (place < ScopeNotes::kMost) scope_notes.slots[place].store(static_cast<uint32_t>(slot), std::memory_order_relaxed);
      return;
    }
    if (there == page) return;
  }
}

void note_page(uint64_t page) noexcept {
  uint64_t epoch = scope_notes.epoch.load(std::memory_order_relaxed);
  Noted& last = noted_lately[page % kRemembered];
  if (last.page == page && last.epoch == epoch) return;
  insert(page);
  last = {page, epoch};
}

// The place, not what a reference there would be resolved by.
uintptr_t current_place(uintptr_t location) noexcept { return current_address(location + 1) - 1; }

bool is_in_own_range(uintptr_t address) noexcept { return address - freehold_scope_range.start < freehold_scope_range.size; }

bool is_on_own_stack(uintptr_t place) noexcept { return place >= reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) && place < own_stack_end; }

}  // namespace

bool reserve_scope_notes() noexcept {
  os::LockGuard guard(lock);
  if (scope_notes.table != nullptr) return true;
  constexpr size_t kTable = ScopeNotes::kSlots * sizeof(uint64_t), kBytes = kTable + ScopeNotes::kMost * sizeof(uint32_t);
  void* memory = os::reserve(kBytes, os::kPageSize, 0);
  if (memory == nullptr) return false;
  if (!os::commit(memory, kBytes)) {
    os::unreserve(memory, kBytes);
    return false;
  }
  scope_notes.slots = reinterpret_cast<std::atomic<uint32_t>*>(static_cast<uint8_t*>(memory) + kTable);
  scope_notes.table = static_cast<std::atomic<uint64_t>*>(memory);
  return true;
}

void note_scope_pages(uintptr_t start, size_t size) noexcept {
  for (uintptr_t page = start / core::kPageSize; page <= (start + size - 1) / core::kPageSize; page++) note_page(page);
}

void note_moved_into(uintptr_t destination, size_t size) noexcept {
  uintptr_t place = current_place(destination);
  if (size != 0 && !is_on_own_stack(place)) note_scope_pages(place, size);
}

}  // namespace freehold::heap

extern "C" uint64_t freehold_before_store(uint64_t reference, uint64_t location) noexcept {
  using namespace freehold::heap;
  if (reference >= __atomic_load_n(&freehold_barrier.scope_from, __ATOMIC_RELAXED)) {
    uintptr_t place = current_place(location);
    if (!(is_in_own_range(place) && is_in_own_range(reference)) && !is_on_own_stack(place)) note_page(place / freehold::core::kPageSize);
  }
  return freehold_current_name(reference);
}
