#include "heap/guarded_objects.h"

#include <algorithm>
#include <atomic>

#include "Platform/lock.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/block_protection.h"
#include "heap/blocks.h"
#include "heap/guarded_blocks.h"
#include "heap/mappings.h"
#include "heap/stack_store.h"
#include "os/kernel.h"
#include "os/watching.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::kPageSize;
using core::kPagesPerBlock;

namespace {

constexpr size_t kPagesPerWindow = core::kWindowSize / kPageSize;

// So many choices go by between two tries to begin a block, once one was refused: twice as many each time.
constexpr uint32_t kPatience = 1024;

os::Lock lock;  // guards what follows, except for `left_to_skip`
struct State {
  size_t block = kNoBlock;
  size_t next_page = 0;
  uint32_t to_skip = 0;
  std::atomic<uint32_t> left_to_skip{0};  // relaxed: a choice more or less
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// With mprotect each of those that live may be a mapping of its own among pages without access, and what follows it another one.
constexpr size_t kShareOfMappings = 8, kMappingsOfEach = 2;
// Of the heap's limit, what guarded objects may take.
constexpr size_t kShareOfLimit = 16;

uint64_t alive_at_most() noexcept {
  uint64_t at_most = std::min<uint64_t>(kGuardedAliveAtMost, limit() / kShareOfLimit / kPageSize);
  return is_watching() ? at_most : std::min<uint64_t>(at_most, mapping_budget() / kShareOfMappings / kMappingsOfEach);
}

// Caller holds the lock.
bool begin_block() noexcept {
  size_t block = acquire_block(BlockKind::kGuarded, BlockUse::kShared);
  state.to_skip = block != kNoBlock ? 0 : std::clamp<uint32_t>(2 * state.to_skip, 1, kPatience);
  state.left_to_skip.store(state.to_skip, std::memory_order_relaxed);
  if (block == kNoBlock) return false;
  let_record_go(block);  // it does not die before it is full, and this thread asks here
  arena.blocks[block].claimed.store(~uint64_t{0}, std::memory_order_relaxed);
  arena.blocks[block].chunk_starts.store(1, std::memory_order_relaxed);
  arena.blocks[block].populated.store(true, std::memory_order_relaxed);
  remember_guarded_block(block);
  state.block = block;
  state.next_page = 0;
  return true;
}

// userfaultfd takes a page that never had memory for a dead one: a window is there as a whole. It is watched from here on: one call of the kernel, where each page
// that goes would make one.
void begin_window(size_t first) noexcept {
  core::BlockRecord& record = arena.blocks[first / kPagesPerBlock];
  uint8_t* start = arena.page_start(first);
  if (!os::populate(start, core::kWindowSize))
    for (size_t page = 0; page < kPagesPerWindow; page++) *reinterpret_cast<volatile uint8_t*>(start + page * kPageSize) = 0;
  if (is_watching() && !os::watch(start, core::kWindowSize)) record.populated.store(false, std::memory_order_relaxed);
  size_t window = first % kPagesPerBlock / kPagesPerWindow;
  record.initialised.fetch_or(uint64_t{1} << window, std::memory_order_release);
}

}  // namespace

uint8_t* take_guarded_page(size_t size) noexcept {
  if (uint32_t left = state.left_to_skip.load(std::memory_order_relaxed); left != 0) [[unlikely]] {
    state.left_to_skip.store(left - 1, std::memory_order_relaxed);
    return nullptr;
  }
  if (!make_room_for_guarded(alive_at_most())) return nullptr;
  uint32_t stack = remember_stack_of(StackOf::kAllocation, kStackDepth);
  os::LockGuard guard(lock);
  if ((state.block == kNoBlock || state.next_page == kPagesPerBlock) && !begin_block()) return nullptr;
  size_t page = state.block * kPagesPerBlock + state.next_page;
  uint8_t* start = arena.page_start(page);
  if (!remember_guarded(start, stack)) return nullptr;
  if (page % kPagesPerWindow == 0) begin_window(page);
  state.next_page++;
  // The rest of the page: objects and fillers tile every block.
  if (size_t rest = kPageSize - size; rest != 0) {
    *reinterpret_cast<uint64_t*>(start + size) = uint64_t{rest} << 32 | core::kFillerBit | core::kDeletedBit;
    __atomic_store_n(&arena.pages[page].deleted, static_cast<uint16_t>(rest / core::kUnit), __ATOMIC_RELAXED);
  }
  __atomic_store_n(&arena.pages[page].first, uint16_t{1}, __ATOMIC_RELEASE);
  return start;
}

void for_rest_of_guarded(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept {
  os::LockGuard guard(lock);
  if (state.block != kNoBlock && state.next_page != kPagesPerBlock)
    fn(arena.page_start(state.block * kPagesPerBlock + state.next_page), arena.block_start(state.block) + core::kBlockSize);
}

}  // namespace freehold::heap
