#include "heap/pins.h"

#include <algorithm>
#include <new>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/stop_spacing.h"
#include "core/stress.h"
#include "heap/block_walk.h"
#include "heap/classification.h"
#include "heap/forwarding.h"
#include "heap/maintenance_signals.h"
#include "heap/refused_pin.h"
#include "heap/trace.h"
#include "heap/walk.h"
#include "os/growing_memory.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;

PinCounters pin_counters;
FREEHOLD_MODULE_STATE(pin_counters);

namespace {

constexpr uint64_t kMicrosecondsBetweenRefreshes = 2000;

constexpr size_t kFoundStep = size_t{64} << 10;

struct State {
  bool fence_in_pin = true;
  std::atomic<PinScanner> pin_scanner{nullptr};

  // What a scan has found in pinned locals: the start of the block (the first, of a huge object), of objects with pages of their own the start of the page. Used only while all
  // threads are stopped, by the one that has stopped them; so scans exclude each other. As many as there are blocks, or pages of pinned objects.
  os::GrowingMemory found_memory{size_t{1} << 30, kFoundStep};
  size_t found_capacity = 0;
  size_t found_count = 0;
  bool found_all = false;

  void release() noexcept { found_memory.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uintptr_t* found() noexcept { return reinterpret_cast<uintptr_t*>(state.found_memory.start()); }

// In order, each once.
void sort_found() noexcept {
  std::sort(found(), found() + state.found_count);
  state.found_count = static_cast<size_t>(std::unique(found(), found() + state.found_count) - found());
}

// Room for one more: deep recursion pins the same blocks over and over.
bool make_room() noexcept {
  if (state.found_memory.start() == nullptr && !state.found_memory.reserve()) return false;
  sort_found();
  if (state.found_count * 2 > state.found_capacity || state.found_capacity == 0) {
    size_t wanted = state.found_capacity == 0 ? kFoundStep : state.found_capacity * 2 * sizeof(uintptr_t);
    if (state.found_memory.reach(wanted)) state.found_capacity = wanted / sizeof(uintptr_t);
  }
  return state.found_count < state.found_capacity;
}

void note_found(uintptr_t place) noexcept {
  if (state.found_count != 0 && found()[state.found_count - 1] == place) return;
  if (state.found_count == state.found_capacity && !make_room()) {
    state.found_all = false;  // no memory: nothing is forgotten this time
    return;
  }
  found()[state.found_count++] = place;
}

// What a pin reads of a block in one load.
struct Head {
  BlockState state;
  BlockKind kind;
  bool dirty;
  bool partly_released;
};
static_assert(offsetof(BlockRecord, state) == 0 && offsetof(BlockRecord, kind) == 1 && offsetof(BlockRecord, partly_released) == 3 && sizeof(Head) == 4);

// False: the tables of segments that were never used have no memory.
bool load_head(const BlockRecord& record, Head* head) noexcept {
  uint32_t word;
  if (!core::try_load(reinterpret_cast<const uint32_t*>(&record), &word)) return false;
  *head = __builtin_bit_cast(Head, word);
  return true;
}

void* nowhere() noexcept { return reinterpret_cast<void*>(refused_pin()); }

// The record that holds the pins of an object with a byte at `address`.
BlockRecord& record_of(uintptr_t address) noexcept {
  size_t block = arena.block_index(address);
  const BlockRecord& record = arena.blocks[block];
  return arena.blocks[record.kind == BlockKind::kHugeTail ? block - record.next : block];
}

// Whether the object with a byte at `address` ends on its page, or begins there, by what walks have noted. False: it does not, or that is not known.
bool ends_here(size_t page, uintptr_t address) noexcept {
  uint16_t next = __atomic_load_n(&arena.pages[page + 1].first, __ATOMIC_RELAXED);
  return next != 0 && next < core::PageRecord::kStartsLater && address < reinterpret_cast<uintptr_t>(arena.page_start(page + 1)) - (next - 1) * core::kUnit;
}
bool begins_here(size_t page, uintptr_t address) noexcept {
  uint16_t first = __atomic_load_n(&arena.pages[page].first, __ATOMIC_RELAXED);
  const uint8_t* start = arena.page_start(page);
  if (first < core::PageRecord::kStartsLater) {
    if (first <= 1) return first == 1;
    const uint8_t* reaches_in = start - (first - 1) * core::kUnit;
    Walked walked = look_at(reaches_in);
    return walked.step != Step::kEnd && address >= reinterpret_cast<uintptr_t>(reaches_in) + walked.size;
  }
  return address >= reinterpret_cast<uintptr_t>(start) + (first - core::PageRecord::kStartsLater) * core::kUnit;
}

// A reference into a block that lost pages: it may lie in what is left of a deleted object that has lost others. Its header may be among those: then
// no object is found. Something lives on a page that is not dead, so that a deleted object ends there, or begins. (Pages
// are dead before they are released, and who releases one reads the pins behind a membarrier: what looks alive here is taken back if it goes now.)
bool is_broken(uintptr_t address) noexcept {
  size_t page = arena.page_index(address), in_block = page % core::kPagesPerBlock;
  const BlockRecord& record = arena.blocks[arena.block_index(address)];
  auto has_bit = [](const std::atomic<uint64_t>* words, size_t at) noexcept { return (words[at / 64].load(std::memory_order_acquire) >> (at % 64) & 1) != 0; };
  if (has_bit(record.released, in_block)) return true;
  bool begins_near = in_block == 0 || !has_bit(record.dead, in_block - 1) || begins_here(page, address);
  bool ends_near = in_block + 1 == core::kPagesPerBlock || !has_bit(record.dead, in_block + 1) || ends_here(page, address);
  if (begins_near && ends_near) return false;
  const core::Object* object = find_object(address);
  // The next pin on this page need not walk.
  if (!ends_near) first_object(page + 1);
  return object == nullptr || is_deleted(object);
}

// The page where a large object starts that has a byte on this one.
size_t first_page(size_t page) noexcept {
  size_t begin = page / core::kPagesPerBlock * core::kPagesPerBlock;
  while (page > begin && __atomic_load_n(&arena.pages[page].first, __ATOMIC_RELAXED) != 1) page--;
  return page;
}

// Its objects share no page, and their pages go at once.
bool has_pages_of_their_own(const BlockRecord& record) noexcept { return core::knobs.debug || record.kind == BlockKind::kGuarded; }

void note_stack_pin(BlockRecord& record, uintptr_t address) noexcept {
  if (has_pages_of_their_own(record) && arena.in_lower_half(address)) {
    size_t page = first_page(arena.page_index(address)) % core::kPagesPerBlock;
    record.pinned[page / 64].fetch_or(uint64_t{1} << (page % 64), std::memory_order_acq_rel);
  }
  if (record.stack_pins.load(std::memory_order_relaxed) == 0) record.stack_pins.store(1, std::memory_order_relaxed);
}

bool has_pins(const BlockRecord& record) noexcept {
  return record.stack_pins.load(std::memory_order_acquire) != 0 || record.handle_pins.load(std::memory_order_acquire) != 0;
}

}  // namespace

void initialize_pins() noexcept { state.fence_in_pin = !os::register_barrier(); }
bool pins_use_membarrier() noexcept { return !state.fence_in_pin; }

void* pin(void* pointer) noexcept {
  // The byte before belongs to the object too, whatever the reference leads to: its header comes first.
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer) - 1;
  if (!arena.contains(address)) return pointer;
  while (true) {
    BlockRecord* record = &arena.blocks[arena.block_index(address)];
    Head head;
    if (!load_head(*record, &head)) return nowhere();
    if (head.kind == BlockKind::kHugeTail) [[unlikely]] {
      record = &record_of(address);
      if (!load_head(*record, &head)) return nowhere();
    }
    if (head.state == BlockState::kLive) [[likely]] {
      note_stack_pin(*record, address);
      core::stress_step(100);
      if (state.fence_in_pin) [[unlikely]] {
        std::atomic_thread_fence(std::memory_order_seq_cst);
      } else {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      load_head(*record, &head);
      if (head.state != BlockState::kLive) [[unlikely]]
        continue;
      if (head.partly_released && is_broken(address)) [[unlikely]]
        return nowhere();
      return reinterpret_cast<void*>(address + 1);
    }
    if (head.state == BlockState::kEvacuating) {
      wait_while_evacuating(address + 1);
    } else if (head.state == BlockState::kForwarded) {
      uintptr_t current = current_address(address + 1) - 1;
      if (current == address) return nowhere();
      address = current;
    } else {
      return nowhere();
    }
  }
}

void add_handle_pin(const void* object) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  if (arena.contains(address)) record_of(address).handle_pins.fetch_add(1, std::memory_order_acq_rel);
}

void remove_handle_pin(const void* object) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  if (!arena.contains(address)) return;
  BlockRecord& record = record_of(address);
  // A count of 0 would be an error elsewhere; it must not become one of four billion.
  uint32_t count = record.handle_pins.load(std::memory_order_relaxed);
  while (count != 0 && !record.handle_pins.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) {}
  if (count == 1 && (record.state.load(std::memory_order_acquire) == BlockState::kPooled || record.release_waits.load(std::memory_order_seq_cst))) {
    note_unpinned();
    wake_maintenance();
  }
}

bool is_pinned(size_t block) noexcept {
  if (state.fence_in_pin) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    os::barrier_on_all_threads();
  }
  return has_pins(arena.blocks[block]);
}

bool has_unchecked_stack_pins(const uint8_t* start) noexcept {
  auto address = reinterpret_cast<uintptr_t>(start);
  const BlockRecord& record = record_of(address);
  BlockState state = record.state.load(std::memory_order_acquire);
  if (state == BlockState::kGone || record.handle_pins.load(std::memory_order_acquire) != 0) return false;
  if (!arena.in_lower_half(address)) return record.stack_pins.load(std::memory_order_acquire) != 0;
  size_t page = arena.page_index(address) % core::kPagesPerBlock;
  auto has_bit = [page](const std::atomic<uint64_t>* words) noexcept { return (words[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0; };
  return has_bit(record.pinned) && !has_bit(record.released);
}

void exclude_pinned(size_t block, uint64_t* pages) noexcept {
  const BlockRecord& record = arena.blocks[block];
  bool pinned = false;
  for (size_t page = 0; page < core::kPagesPerBlock; page++) {
    uint64_t bit = uint64_t{1} << (page % 64);
    if (__atomic_load_n(&arena.pages[block * core::kPagesPerBlock + page].first, __ATOMIC_RELAXED) == 1)
      pinned = (record.pinned[page / 64].load(std::memory_order_acquire) & bit) != 0;
    if (pinned) pages[page / 64] &= ~bit;
  }
}

void forget_stack_pins(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  if (!state.found_all) return;
  const uintptr_t* end = found() + state.found_count;
  auto start = reinterpret_cast<uintptr_t>(arena.block_start(block));
  const uintptr_t* here = std::lower_bound(static_cast<const uintptr_t*>(found()), end, start);
  bool pinned = here != end && *here < start + core::kBlockSize;
  // One store of what is known now: threads that are not the runtime's, or in preemptive mode, read it beside this.
  record.stack_pins.store(pinned ? 1 : 0, std::memory_order_relaxed);
  // Which of them a handle pins is not known.
  if (!has_pages_of_their_own(record) || !arena.in_lower_half(start) || record.handle_pins.load(std::memory_order_acquire) != 0) return;
  uint64_t pages[core::kPagesPerBlock / 64] = {};
  for (; here != end && *here < start + core::kBlockSize; here++) {
    size_t page = first_page(arena.page_index(*here)) % core::kPagesPerBlock;
    pages[page / 64] |= uint64_t{1} << (page % 64);
  }
  for (size_t i = 0; i < core::kPagesPerBlock / 64; i++) record.pinned[i].store(pages[i], std::memory_order_relaxed);
}

void set_pin_scanner(PinScanner scanner) noexcept { state.pin_scanner.store(scanner, std::memory_order_release); }

bool refresh_stack_pins(void (*forget)(void*), void* argument) noexcept {
  PinScanner scanner = state.pin_scanner.load(std::memory_order_acquire);
  if (scanner == nullptr) return false;
  struct Caller {
    void (*forget)(void*);
    void* argument;
  };
  Caller caller = {forget, argument};
  PinScan scan = {.stopped =
                      [](void*) {
                        state.found_count = 0;
                        state.found_all = true;
                      },
                  // No thread is inside pin() now: what a pin has noted is in its pinned local.
                  .pinned =
                      [](void* pointer, void*) {
                        // A thread may have been stopped before it put the result of pin() in the place of an older name.
                        uintptr_t address = current_address(reinterpret_cast<uintptr_t>(pointer)) - 1;
                        Head head;
                        if (!arena.contains(address) || !load_head(arena.blocks[arena.block_index(address)], &head) || head.state == BlockState::kGone) return;
                        if (arena.in_lower_half(address) && has_pages_of_their_own(record_of(address))) {
                          note_found(address - address % core::kPageSize);
                        } else {
                          note_found(reinterpret_cast<uintptr_t>(arena.block_start(static_cast<size_t>(&record_of(address) - arena.blocks))));
                        }
                      },
                  .seen =
                      [](void* of_caller) {
                        sort_found();
                        static_cast<Caller*>(of_caller)->forget(static_cast<Caller*>(of_caller)->argument);
                      },
                  .argument = &caller};
  core::leave_threads_their_time();
  uint64_t start = os::nanoseconds();
  if (!scanner(scan)) return false;
  uint64_t took = os::nanoseconds() - start;
  pin_counters.stops.fetch_add(1, std::memory_order_relaxed);
  if (took > pin_counters.longest_stop.load(std::memory_order_relaxed)) pin_counters.longest_stop.store(took, std::memory_order_relaxed);
  trace(TraceKind::kPinStop, took);
  return true;
}

void refresh_pins() noexcept {
  refresh_stack_pins(
      [](void*) {
        for_each_lower_block([](size_t block) noexcept {
          if (arena.blocks[block].stack_pins.load(std::memory_order_relaxed) != 0) forget_stack_pins(block);
        });
      },
      nullptr);
}

void refresh_pins_for_ever() noexcept {
  while (true) {
    os::pause(kMicrosecondsBetweenRefreshes);
    refresh_pins();
  }
}

}  // namespace freehold::heap
