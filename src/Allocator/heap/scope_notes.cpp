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

void note_page(uint64_t page) noexcept {
  uint64_t epoch = scope_notes.epoch.load(std::memory_order_relaxed);
  Noted& last = noted_lately[page % kRemembered];
  if (last.page == page && last.epoch == epoch) return;
  size_t place = scope_notes.count.fetch_add(1, std::memory_order_relaxed);
  if (place < ScopeNotes::kMost) scope_notes.pages[place].store(page, std::memory_order_relaxed);
  last = {page, epoch};
}

// The place, not what a reference there would be resolved by.
uintptr_t current_place(uintptr_t location) noexcept { return current_address(location + 1) - 1; }

bool is_in_own_range(uintptr_t address) noexcept { return address - freehold_scope_range.start < freehold_scope_range.size; }

bool is_on_own_stack(uintptr_t place) noexcept { return place >= reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) && place < own_stack_end; }

}  // namespace

bool reserve_scope_notes() noexcept {
  os::LockGuard guard(lock);
  if (scope_notes.pages != nullptr) return true;
  constexpr size_t kBytes = ScopeNotes::kMost * sizeof(uint64_t);
  void* memory = os::reserve(kBytes, os::kPageSize, 0);
  if (memory == nullptr) return false;
  if (!os::commit(memory, kBytes)) {
    os::unreserve(memory, kBytes);
    return false;
  }
  scope_notes.pages = static_cast<std::atomic<uint64_t>*>(memory);
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
