#include "heap/chunks.h"

#include <emmintrin.h>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/blocks.h"
#include "heap/dead_blocks.h"
#include "heap/pacing.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::kBlockSize;
using core::kHeaderSize;
using core::kPageSize;
using core::kUnit;
using core::kUnitsPerPage;
using core::kWindowSize;
using core::kWindowsPerBlock;

namespace {

// What is zeroed at a time in memory that was another block's: a page, or room for so many objects. It is still in the first-level cache when the
// objects are made there.
constexpr size_t kObjectsPerStep = 4;
// Zeros behind what is handed out: a walk of the window's objects ends there.
constexpr size_t kStop = 64;

// Zeros [start, end), whole cache lines, and asks for as much behind it, up to `horizon`: the memory was some other block's, a while ago, and is to be in
// the cache when its turn comes. Stores of 16 bytes: the string instructions of a memset of this size start too slowly.
void zero_ahead(uint8_t* start, const uint8_t* end, const uint8_t* horizon) noexcept {
  const __m128i zero = _mm_setzero_si128();
  size_t distance = static_cast<size_t>(end - start);
  const uint8_t* asking_end = end + distance <= horizon ? end : horizon - distance;
  uint8_t* line = start;
  auto zero_line = [&]() noexcept {
    auto* words = reinterpret_cast<__m128i*>(line);
    _mm_store_si128(words, zero);
    _mm_store_si128(words + 1, zero);
    _mm_store_si128(words + 2, zero);
    _mm_store_si128(words + 3, zero);
    line += 64;
  };
  while (line < asking_end) {
    __builtin_prefetch(line + distance, 1);
    zero_line();
  }
  while (line < end) zero_line();
}

uint8_t* align_up(uint8_t* address, size_t alignment) noexcept {
  return reinterpret_cast<uint8_t*>(core::align_up(reinterpret_cast<uintptr_t>(address), alignment));
}

// Blocks that several threads take small chunks from: a thread that allocates little does not hold 2 MB.
struct SharedBlock {
  size_t block = kNoBlock;
  size_t next_window = kWindowsPerBlock;
};
os::Lock lock;
struct State {
  AllocationContext pinned = {};
  SharedBlock shared[3];  // of small objects, of pinned ones, of those in an emergency
};
constinit State state;
FREEHOLD_MODULE_STATE(state);
SharedBlock& shared_in_emergency = state.shared[2];

// No more chunks from it. Caller holds the lock.
void leave(SharedBlock& source) noexcept {
  if (source.block != kNoBlock) let_record_go(source.block);
  source = {};
}

SharedBlock& shared_of(BlockKind kind) noexcept {
  return kind == BlockKind::kPinned ? state.shared[1] : thread_heap.emergency != 0 ? shared_in_emergency : state.shared[0];
}

// A context's chunks double in size, from one window to a whole block. gc_reserved_2 holds the exponent.
size_t windows_wanted(AllocationContext* context) noexcept {
  auto exponent = reinterpret_cast<uintptr_t>(context->reserved);
  if (exponent < 6) context->reserved = reinterpret_cast<void*>(exponent + 1);
  return size_t{1} << exponent;
}

size_t window_of(const uint8_t* address) noexcept { return (reinterpret_cast<uintptr_t>(address) - arena.start) % kBlockSize / kWindowSize; }

// Bits [first, first + count) of a word of windows.
uint64_t window_mask(size_t first, size_t count) noexcept { return (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first; }

// Claims the windows [from, to) of the context's chunk. False: they were taken from an idle owner; the chunk ends at `from`, or is over if nothing is
// left before that.
bool claim(AllocationContext* context, uint8_t* from, const uint8_t* to) noexcept {
  BlockRecord& block = arena.blocks[arena.block_index(reinterpret_cast<uintptr_t>(from))];
  uint64_t mask = window_mask(window_of(from), static_cast<size_t>(to - from) / kWindowSize);
  if ((block.claimed.fetch_or(mask, std::memory_order_acq_rel) & mask) == 0) return true;
  context->reserved = nullptr;  // small chunks again: it needs little at a time
  context->chunk_end = from;
  if (context->alloc_ptr - kHeaderSize == from) {
    context->alloc_ptr = context->alloc_limit = nullptr;
    context->chunk_end = nullptr;
    let_record_go(arena.block_index(reinterpret_cast<uintptr_t>(from)));
  }
  return false;
}

// A chunk, or a filler in its place, starts with the window.
uint8_t* begin_chunk(size_t block, size_t window) noexcept {
  uint8_t* start = arena.block_start(block) + window * kWindowSize;
  arena.blocks[block].chunk_starts.fetch_or(uint64_t{1} << window, std::memory_order_relaxed);
  __atomic_store_n(&arena.pages[arena.page_index(reinterpret_cast<uintptr_t>(start))].first, uint16_t{1}, __ATOMIC_RELAXED);
  return start;
}

// The caller is a user of the block, for the context.
void install(AllocationContext* context, size_t block, size_t window, size_t count) noexcept {
  uint8_t* start = begin_chunk(block, window);
  // The runtime's pointer is that of the next object, its header lies before it; so the limit lies a header's size behind the window's end.
  context->alloc_ptr = context->alloc_limit = start + kHeaderSize;
  context->chunk_end = start + count * kWindowSize;
}

}  // namespace

bool next_chunk(AllocationContext* context, size_t size, BlockKind kind) noexcept {
  close_chunk(context);
  // What is larger has pages of its own, so a block is never left with windows that are too few for the next object.
  static_assert(core::kLargeObject <= kWindowSize);
  size_t needed = (size + kWindowSize - 1) / kWindowSize;
  // The memory for emergencies has to do for all threads.
  bool emergency = thread_heap.emergency != 0;
  size_t wanted = emergency ? needed : windows_wanted(context);
  if (wanted < needed) wanted = needed;
  if (core::knobs.stress.moves() && kind == BlockKind::kSmall && !emergency) [[unlikely]] {
    // Blocks as small as possible, so that also programs of little memory have some that are complete. With small pages: most of each is a filler.
    size_t block = acquire_block(kind, BlockUse::kShared);
    if (block == kNoBlock) return false;
    install(context, block, 0, needed);
    // Unless maintenance took the whole block for idle meanwhile: then it has become a filler, and may be gone.
    uint64_t rest = needed < kWindowsPerBlock ? window_mask(needed, kWindowsPerBlock - needed) : 0;
    if ((arena.blocks[block].claimed.fetch_or(rest, std::memory_order_acq_rel) & rest) == 0 && rest != 0)
      fill(begin_chunk(block, needed), (kWindowsPerBlock - needed) * kWindowSize);
    return true;
  }
  if (wanted == kWindowsPerBlock && kind == BlockKind::kSmall) {
    if (!emergency) wait_for_frames();
    size_t block = acquire_block(kind);
    if (block == kNoBlock) return false;
    install(context, block, 0, kWindowsPerBlock);
    return true;
  }
  SharedBlock& source = shared_of(kind);
  os::LockGuard guard(lock);
  size_t left = kWindowsPerBlock - source.next_window;
  if (left == 0) {
    size_t block = acquire_block(kind, BlockUse::kShared);
    if (block == kNoBlock) return false;
    leave(source);
    source = {block, 0};
    left = kWindowsPerBlock;
  }
  size_t count = wanted < left ? wanted : left;
  keep_record(source.block);
  install(context, source.block, source.next_window, count);
  source.next_window += count;
  return true;
}

bool next_promoted_chunk(AllocationContext* context) noexcept {
  close_chunk(context);
  size_t block = acquire_block(BlockKind::kSmall, BlockUse::kPromoted);
  if (block == kNoBlock) return false;
  install(context, block, 0, kWindowsPerBlock);
  return true;
}

bool extend_window(AllocationContext* context, size_t size) noexcept {
  auto* chunk_end = static_cast<uint8_t*>(context->chunk_end);
  if (chunk_end == nullptr) return false;
  uint8_t* object_start = context->alloc_ptr - kHeaderSize;
  uint8_t* object_end = object_start + size;
  if (object_end > chunk_end) return false;
  uint8_t* from = context->alloc_limit - kHeaderSize;  // start of the first page that is not handed out
  if (object_end <= from) return true;
  uint8_t* claimed_end = align_up(from, kWindowSize);
  uint8_t* to = align_up(object_end, kPageSize);
  uint8_t* wanted = align_up(object_start + kObjectsPerStep * size, kPageSize);
  uint8_t* last = align_up(object_end, kWindowSize);
  if (wanted > to) to = wanted < last ? wanted : last;
  uint8_t* windows_end = align_up(to, kWindowSize);
  BlockRecord& block = arena.blocks[arena.block_index(reinterpret_cast<uintptr_t>(from))];
  if (windows_end > claimed_end) {
    if (thread_heap.paced_windows != 0 && context == thread_heap.context) [[unlikely]]
      pace();
    if (!claim(context, claimed_end, windows_end)) return false;
    // An initialised window must be there, all of it: userfaultfd takes a page that is not for a dead one. Fresh memory is not, nor is what was a filler
    // on fresh memory in a block's last life.
    for (uint8_t* page = claimed_end; page < windows_end; page += kPageSize) *reinterpret_cast<volatile uint8_t*>(page) = 0;
  }
  if (block.dirty) {
    uint8_t* end = to + kStop < windows_end ? to + kStop : windows_end;
    zero_ahead(from, end, chunk_end);
  }
  // The object about to be made covers the first bytes of these pages. Noted here, nobody has to walk to find it.
  for (uint8_t* page = from; page < object_end; page += kPageSize) {
    __atomic_store_n(&arena.pages[arena.page_index(reinterpret_cast<uintptr_t>(page))].first, static_cast<uint16_t>(1 + (page - object_start) / kUnit),
                     __ATOMIC_RELAXED);
  }
  if (windows_end > claimed_end) {
    // Release: who sees the bit sees zeros, or objects.
    block.initialised.fetch_or(window_mask(window_of(claimed_end), static_cast<size_t>(windows_end - claimed_end) / kWindowSize), std::memory_order_release);
  }
  context->alloc_bytes += to - from;
  context->alloc_limit = to + kHeaderSize;
  return true;
}

void close_chunk(AllocationContext* context) noexcept {
  if (context->chunk_end == nullptr) return;
  size_t block = arena.block_index(reinterpret_cast<uintptr_t>(context->chunk_end) - 1);
  uint8_t* unused = align_up(context->alloc_limit - kHeaderSize, kWindowSize);
  if (unused < context->chunk_end && !claim(context, unused, static_cast<uint8_t*>(context->chunk_end)) && context->chunk_end == nullptr) return;
  uint8_t* start = context->alloc_ptr - kHeaderSize;
  size_t left = static_cast<size_t>(static_cast<uint8_t*>(context->chunk_end) - start);
  context->alloc_bytes -= context->alloc_limit - context->alloc_ptr;
  context->alloc_ptr = context->alloc_limit = nullptr;
  context->chunk_end = nullptr;
  if (left != 0) fill(start, left);
  let_record_go(block);
}

AllocationContext& pinned_context() noexcept { return state.pinned; }

void for_each_shared_rest(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept {
  os::LockGuard guard(lock);
  for (const SharedBlock& source : state.shared) {
    if (source.block != kNoBlock) fn(arena.block_start(source.block) + source.next_window * kWindowSize, arena.block_start(source.block) + kBlockSize);
  }
}

void fill(uint8_t* start, size_t size) noexcept {
  BlockRecord& block = arena.blocks[arena.block_index(reinterpret_cast<uintptr_t>(start))];
  *reinterpret_cast<uint64_t*>(start) = uint64_t{size} << 32 | core::kFillerBit | core::kDeletedBit;
  // Nobody looks inside a filler; so all its windows count as initialised.
  size_t windows = (size - 1 + reinterpret_cast<uintptr_t>(start) % kWindowSize) / kWindowSize + 1;
  block.initialised.fetch_or(window_mask(window_of(start), windows), std::memory_order_release);
  count_deleted(reinterpret_cast<uintptr_t>(start), size);
}

bool recount_page(size_t page) noexcept {
  if (is_all_deleted(page)) {
    mark_page_dead(page);
    return true;
  }
  PageCount count = count_page(page);
  // At least 1: beside a deletion that happens meanwhile, this may be the last word on a page that must be counted again.
  __atomic_store_n(&arena.pages[page].deleted, static_cast<uint16_t>(count.deleted_units != 0 ? count.deleted_units : 1), __ATOMIC_RELAXED);
  return false;
}

void count_deleted(uintptr_t start, size_t size) noexcept {
  uintptr_t end = start + size;
  while (start < end) {
    uintptr_t page_end = (start | (kPageSize - 1)) + 1;
    uintptr_t part_end = page_end < end ? page_end : end;
    size_t page = arena.page_index(start), units = (part_end - start) / kUnit;
    uint16_t* deleted = &arena.pages[page].deleted;
    auto sum = static_cast<uint16_t>(__atomic_load_n(deleted, __ATOMIC_RELAXED) + units);
    __atomic_store_n(deleted, sum, __ATOMIC_RELAXED);
    if (units == kUnitsPerPage) {
      mark_page_dead(page);  // one object or filler covers it all
    } else if (sum >= kUnitsPerPage) {
      recount_page(page);
    }
    start = part_end;
  }
}

size_t end_idle_chunks(size_t block) noexcept {
  uint64_t taken;
  BlockRecord& record = arena.blocks[block];
  {
    os::LockGuard guard(lock);
    uint64_t wanted = ~uint64_t{0};
    for (SharedBlock& source : state.shared) {
      if (block != source.block) continue;
      if (&source == &shared_in_emergency) return 0;
      // It goes on where it has no memory yet. One that has it to its end is replaced.
      if (record.backed) leave(source);
      else wanted = window_mask(0, source.next_window);
    }
    uint64_t claimed = record.claimed.load(std::memory_order_acquire);
    if ((wanted & ~claimed) == 0 || !record.claimed.compare_exchange_strong(claimed, claimed | wanted, std::memory_order_acq_rel)) return 0;
    taken = wanted & ~claimed;
  }
  // A filler for each chunk: where one began, its pages say so.
  uint64_t starts = record.chunk_starts.load(std::memory_order_acquire);
  for (size_t window = 0; window < kWindowsPerBlock;) {
    size_t end = window;
    while (end < kWindowsPerBlock && (taken >> end & 1) != 0 && (end == window || (starts >> end & 1) == 0)) end++;
    if (end == window) {
      window++;
      continue;
    }
    fill(begin_chunk(block, window), (end - window) * kWindowSize);
    window = end;
  }
  return static_cast<size_t>(__builtin_popcountll(taken)) * kWindowSize;
}

}  // namespace freehold::heap
