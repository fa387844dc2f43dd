#include "heap/forwarding.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/addresses.h"
#include "heap/cards.h"
#include "heap/shading.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockState;

namespace {

// A table: what is common, then an index, the sorted runs and one more that ends the last (sparse), or a bitmap with the set bits before each page (dense).
// Tables lie behind each other; a number counts units of kStep bytes.
struct Header {
  uintptr_t target[2];
  uint32_t split;
  uint32_t runs;  // or kDense
};
constexpr uint32_t kDense = UINT32_MAX;
struct Run {
  uint32_t first;  // unit of the block
  uint32_t rank;   // promoted units before it
};
struct Dense {
  uint64_t live[ForwardingDraft::kWords];
  uint32_t rank[core::kPagesPerBlock];
};
// Where to look: the last run that begins at or before each stretch of four pages, or the first run of all. Most lookups go through a few runs then.
struct RunIndex {
  static constexpr uint32_t kStretches = core::kPagesPerBlock / 4, kUnits = core::kBlockSize / core::kUnit / kStretches;
  uint16_t last[kStretches + 1];
};
struct Sparse {
  RunIndex index;
  Run runs[];
};
constexpr size_t kRunsAtMost = (sizeof(Dense) - sizeof(Sparse)) / sizeof(Run) - 1;
static_assert(kRunsAtMost <= UINT16_MAX);

constexpr size_t kStep = 32;
constexpr size_t kAtMost = size_t{32} << 30;
constexpr size_t kCommitStep = size_t{64} << 10;
static_assert(kAtMost / kStep < kNoForwarding);

struct State {
  uint8_t* tables = nullptr;
  size_t committed = 0;
  std::atomic<size_t> used{0};

  void release() noexcept {
    if (tables != nullptr) os::unreserve(tables, kAtMost);
  }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

Header* header_of(uint32_t number) noexcept { return reinterpret_cast<Header*>(state.tables + number * kStep); }
template <typename Body>
Body* body_of(Header* header) noexcept {
  return reinterpret_cast<Body*>(header + 1);
}

// The compiler's own is a call into a library on processors that may be as old as the runtime allows.
uint32_t count_bits(uint64_t word) noexcept {
  constexpr uint64_t kOnes = ~uint64_t{0};
  word -= word >> 1 & kOnes / 3;
  word = (word & kOnes / 5) + (word >> 2 & kOnes / 5);
  word = (word + (word >> 4)) & kOnes / 17;
  return static_cast<uint32_t>(word * (kOnes / 255) >> 56);
}

constexpr uint32_t kNotPromoted = UINT32_MAX;

uint32_t rank_in_runs(const Sparse& sparse, uint32_t count, uint32_t unit) noexcept {
  // Nobody asks for a name in tables that go (drop_all_forwardings). Should somebody, their pages read as zeros, in any order: no lookup leaves its table.
  if (count == 0) return kNotPromoted;  // the header of a bitmap, too
  // The last run that begins at or before the unit is in [low, high).
  uint32_t stretch = unit / RunIndex::kUnits, low = sparse.index.last[stretch], high = sparse.index.last[stretch + 1] + 1u;
  while (low + 1 < high) {
    uint32_t middle = (low + high) / 2;
    (sparse.runs[middle].first <= unit ? low : high) = middle;
  }
  const Run& run = sparse.runs[low];
  uint32_t rank = run.rank + (unit - run.first);
  return run.first <= unit && rank < (&run)[1].rank ? rank : kNotPromoted;
}

uint32_t rank_in_bitmap(const Dense& dense, uint32_t unit) noexcept {
  size_t word = unit / 64;
  uint64_t bit = uint64_t{1} << (unit % 64);
  if ((dense.live[word] & bit) == 0) return kNotPromoted;
  uint32_t rank = dense.rank[unit / core::kUnitsPerPage];
  for (size_t i = unit / core::kUnitsPerPage * (core::kUnitsPerPage / 64); i < word; i++) rank += count_bits(dense.live[i]);
  return rank + count_bits(dense.live[word] & (bit - 1));
}

// The copy of what lay at `address`, or 0. The table may go meanwhile, and another one come to its place: the caller looks at the state again.
uintptr_t forwarded(const core::BlockRecord& record, uintptr_t address) noexcept {
  Header* header = header_of(record.forwarding);
  uintptr_t before = address - 1;
  auto unit = static_cast<uint32_t>((before - arena.start) % core::kBlockSize / core::kUnit);
  uint32_t runs = __atomic_load_n(&header->runs, __ATOMIC_RELAXED);  // once: it says what follows
  uint32_t rank = runs != kDense ? rank_in_runs(*body_of<Sparse>(header), runs, unit) : rank_in_bitmap(*body_of<Dense>(header), unit);
  if (rank == kNotPromoted) return 0;
  uintptr_t start = rank < header->split ? header->target[0] + rank * core::kUnit : header->target[1] + (rank - header->split) * core::kUnit;
  return start + before % core::kUnit + 1;
}

// Calls function(first, count) for each run of set bits.
template <typename Function>
void for_each_run(const uint64_t* live, Function function) noexcept {
  constexpr size_t kUnits = ForwardingDraft::kWords * 64;
  // The next bit from `unit` on that is set (flip = 0) or clear (flip = ~0).
  auto next = [live](size_t unit, uint64_t flip) noexcept {
    for (; unit < kUnits; unit = (unit | 63) + 1) {
      uint64_t rest = (live[unit / 64] ^ flip) >> (unit % 64);
      if (rest != 0) return unit + static_cast<size_t>(__builtin_ctzll(rest));
    }
    return size_t{kUnits};
  };
  for (size_t first = next(0, 0); first < kUnits;) {
    size_t end = next(first, ~uint64_t{0});
    function(static_cast<uint32_t>(first), static_cast<uint32_t>(end - first));
    first = next(end, 0);
  }
}

size_t count_runs(const uint64_t* live) noexcept {
  size_t runs = 0;
  uint64_t before = 0;  // the bit before the word's first
  for (size_t i = 0; i < ForwardingDraft::kWords; i++) {
    runs += count_bits(live[i] & ~(live[i] << 1 | before));
    before = live[i] >> 63;
  }
  return runs;
}

core::BlockRecord& record_before(uintptr_t address) noexcept { return arena.blocks[arena.block_index(address - 1)]; }

// The state of the block that holds the byte before an address of the lower half. The tables of segments that were never used have no memory, and
// a wild reference may ask for them.
BlockState state_before(uintptr_t address) noexcept {
  static_assert(offsetof(core::BlockRecord, state) == 0);
  uint32_t head;
  if (!core::try_load(reinterpret_cast<const uint32_t*>(&record_before(address)), &head)) return BlockState::kGone;
  return static_cast<BlockState>(head & 0xff);
}

// The copy of what lies at an address whose block was forwarded a moment ago, or 0. A remap that retires the block first says so in its state, then drops the
// table: what was read while the state was still the old one was read from the right table. (Loads of x86-64 stay in order; the compiler's stay around
// those of try_load, which are volatile and clobber memory.) Only names of dead objects are left by then, and their answer is that they are dead.
uintptr_t copy_of(uintptr_t address) noexcept {
  uintptr_t copy = forwarded(record_before(address), address);
  return state_before(address) == BlockState::kForwarded ? copy : 0;
}

}  // namespace

thread_local constinit bool thread_promotes = false;

uintptr_t current_address(uintptr_t address) noexcept {
  while (arena.in_lower_half(address - 1)) {
    if (state_before(address) != BlockState::kForwarded) return address;
    uintptr_t next = copy_of(address);
    if (next == 0) return address;
    address = next;
  }
  return address;
}

void current_addresses(uintptr_t* a, uintptr_t* b) noexcept {
  uintptr_t first = current_address(*a), second, again;
  while (true) {
    second = current_address(*b);
    again = current_address(first);
    if (again == first) break;  // so it was when the second one was asked for
    first = again;
  }
  *a = first;
  *b = second;
}

intptr_t difference(uintptr_t a, uintptr_t b) noexcept {
  if (!is_in_one_block(a, b)) current_addresses(&a, &b);
  return static_cast<intptr_t>(a - b);
}

Whereabouts whereabouts_of(uintptr_t address) noexcept {
  if (!arena.in_lower_half(address - 1)) return Whereabouts::kHere;
  switch (state_before(address)) {
    case BlockState::kEvacuating: return Whereabouts::kEvacuating;
    case BlockState::kForwarded: return copy_of(address) != 0 ? Whereabouts::kMoved : Whereabouts::kDead;
    default: return Whereabouts::kHere;
  }
}

void wait_while_evacuating(uintptr_t address) noexcept {
  if (thread_promotes) os::fail_fast("Promotion writes to a block that it evacuates.", "Report it; FREEHOLD_COMPACTION=0 avoids it.");
  // A thread that promotes may have to wait for a processor: it must not be one that those who wait keep busy.
  constexpr int kYields = 400;  // some 130 us, which an evacuation takes where little lives
  constexpr timespec kBetween = {0, 50'000};
  for (int i = 0; state_before(address) == BlockState::kEvacuating; i++) {
    if (i < kYields) sched_yield();
    else nanosleep(&kBetween, nullptr);
  }
}

uint32_t make_forwarding(const ForwardingDraft& draft) noexcept {
  size_t runs = count_runs(draft.live);
  bool dense = runs > kRunsAtMost;
  size_t size = core::align_up(sizeof(Header) + (dense ? sizeof(Dense) : sizeof(Sparse) + (runs + 1) * sizeof(Run)), kStep),
         start = state.used.load(std::memory_order_relaxed);
  if (state.tables == nullptr) {
    state.tables = static_cast<uint8_t*>(os::reserve(kAtMost, os::kPageSize, 0));
    if (state.tables == nullptr) return kNoForwarding;
  }
  while (start + size > state.committed) {
    if (state.committed == kAtMost || !os::commit(state.tables + state.committed, kCommitStep)) return kNoForwarding;
    state.committed += kCommitStep;
  }
  auto number = static_cast<uint32_t>(start / kStep);
  Header* header = header_of(number);
  header->target[0] = draft.target[0];
  header->target[1] = draft.target[1];
  header->split = draft.split;
  header->runs = dense ? kDense : static_cast<uint32_t>(runs);
  if (dense) {
    auto* body = body_of<Dense>(header);
    memcpy(body->live, draft.live, sizeof body->live);
    uint32_t rank = 0;
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      constexpr size_t kWordsPerPage = core::kUnitsPerPage / 64;
      body->rank[page] = rank;
      for (size_t word = 0; word < kWordsPerPage; word++) rank += count_bits(draft.live[page * kWordsPerPage + word]);
    }
  } else {
    auto* body = body_of<Sparse>(header);
    uint32_t rank = 0, stretch = 0;
    uint16_t number_of_run = 0, last = 0;
    for_each_run(draft.live, [&](uint32_t first, uint32_t count) noexcept {
      for (; stretch * RunIndex::kUnits < first; stretch++) body->index.last[stretch] = last;
      body->runs[last = number_of_run++] = {first, rank};
      rank += count;
    });
    for (; stretch <= RunIndex::kStretches; stretch++) body->index.last[stretch] = last;
    body->runs[number_of_run] = {UINT32_MAX, rank};
  }
  state.used.store(start + size, std::memory_order_relaxed);
  return number;
}

void drop_last_forwarding(uint32_t number) noexcept { state.used.store(number * kStep, std::memory_order_relaxed); }

void drop_all_forwardings() noexcept {
  if (state.committed != 0) os::discard(state.tables, state.committed);
  state.used.store(0, std::memory_order_relaxed);
}

size_t forwarding_bytes() noexcept { return state.used.load(std::memory_order_relaxed); }

}  // namespace freehold::heap

extern "C" uint64_t freehold_current_name(uint64_t reference) noexcept {
  uint64_t current = freehold::heap::current_address(reference);
  if (freehold::heap::is_scanning_addresses()) freehold::heap::note_name(current);
  if (freehold::heap::is_marking()) freehold::heap::shade(current);
  return current;
}
