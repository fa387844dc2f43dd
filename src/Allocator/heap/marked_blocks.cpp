#include "heap/marked_blocks.h"

#include "core/arena.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/block_walk.h"
#include "heap/chunks.h"
#include "heap/guarded_objects.h"
#include "heap/large.h"
#include "heap/new_blocks.h"
#include "heap/thread_heap.h"
#include "heap/young_blocks.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockState;

Shading shading;

namespace {

constexpr size_t kMarksOfBlock = core::kBlockSize / core::kUnit / 8;  // bytes
static_assert(kMarksOfBlock % os::kPageSize == 0);

size_t bytes_of_marks() noexcept { return arena.size / core::kUnit / 8; }
size_t bytes_of_blocks() noexcept { return core::align_up(arena.block_count() / 8, os::kPageSize); }
size_t bytes_of_found() noexcept { return arena.block_count() / 2 * sizeof(uint32_t); }  // of the lower half
constexpr size_t bytes_of_queue() noexcept { return MarkingBounds::kQueue * sizeof(uint64_t); }

// What belongs to `shading`, for a test that begins anew.
struct State {
  bool reserved = false;
  size_t marks_size = 0, blocks_size = 0, found_size = 0;

  void release() noexcept {
    auto give_back = [](auto*& start, size_t size) noexcept { os::unreserve_at(start, size); };
    give_back(shading.marks, marks_size);
    give_back(shading.covered, blocks_size);
    give_back(shading.overflowed, blocks_size);
    give_back(shading.found, found_size);
    give_back(shading.queue, bytes_of_queue());
    shading.queued.store(0, std::memory_order_relaxed);
    shading.any_overflowed.store(false, std::memory_order_relaxed);
  }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint8_t* marks_of(size_t block) noexcept { return reinterpret_cast<uint8_t*>(shading.marks) + block * kMarksOfBlock; }

// Neighbours in one call of the kernel.
class Run {
 public:
  bool add(size_t block) noexcept {
    if (block == first_ + count_ && count_ != 0) {
      count_++;
      return true;
    }
    bool done = end();
    first_ = block;
    count_ = 1;
    return done;
  }
  bool end() noexcept {
    if (count_ == 0) return true;
    bool done = os::commit(marks_of(first_), count_ * kMarksOfBlock);
    for (size_t i = 0; i < count_ && done; i++) shades::set(shading.covered, first_ + i);
    count_ = 0;
    return done;
  }

 private:
  size_t first_ = 0, count_ = 0;
};

bool cover_all(ReclaimScope scope) noexcept {
  Run run;
  bool done = true;
  auto cover = [&](size_t block, bool holds_objects) noexcept {
    BlockState now = arena.blocks[block].state.load(std::memory_order_acquire);
    if (holds_objects && (now == BlockState::kLive || now == BlockState::kPooled) && !shades::test(shading.covered, block)) done = run.add(block) && done;
  };
  if (scope == ReclaimScope::kYoung) {
    for_each_young_block([&](size_t block) noexcept { cover(block, true); });
    return run.end() && done;
  }
  for_each_lower_block([&](size_t block) noexcept { cover(block, true); });
  for_each_upper_block([&](size_t block) noexcept { cover(block, arena.blocks[block].kind == BlockKind::kHuge); });
  return run.end() && done;
}

void mark_range(uint8_t* start, const uint8_t* end) noexcept {
  if (start >= end || !is_covered(reinterpret_cast<uintptr_t>(start))) return;
  // What begins there is marked: an object's place is a header behind.
  size_t first = shades::unit_of(reinterpret_cast<uintptr_t>(start)), last = shades::unit_of(reinterpret_cast<uintptr_t>(end) - 1);
  for (size_t unit = first; unit <= last;) {
    if (unit % 64 == 0 && last - unit >= 63) {
      shading.marks[unit / 64].store(~uint64_t{0}, std::memory_order_relaxed);
      unit += 64;
    } else {
      shades::set(shading.marks, unit++);
    }
  }
}

}  // namespace

bool reserve_marks() noexcept {
  if (state.reserved) return true;
  state.release();
  state.marks_size = bytes_of_marks();
  state.blocks_size = bytes_of_blocks();
  state.found_size = bytes_of_found();
  using Words = std::atomic<uint64_t>*;
  shading.marks = static_cast<Words>(os::reserve(state.marks_size, os::kPageSize, 0));
  shading.covered = static_cast<Words>(os::reserve(state.blocks_size, os::kPageSize, 0));
  shading.overflowed = static_cast<Words>(os::reserve(state.blocks_size, os::kPageSize, 0));
  shading.found = static_cast<uint32_t*>(os::reserve(state.found_size, os::kPageSize, 0));
  shading.queue = static_cast<Words>(os::reserve(bytes_of_queue(), os::kPageSize, 0));
  state.reserved = shading.marks != nullptr && shading.covered != nullptr && shading.overflowed != nullptr && shading.found != nullptr &&
                   shading.queue != nullptr && os::commit(shading.covered, state.blocks_size) && os::commit(shading.overflowed, state.blocks_size) &&
                   os::commit(shading.found, state.found_size) && os::commit(shading.queue, bytes_of_queue());
  if (!state.reserved) state.release();
  return state.reserved;
}

bool cover_blocks(ReclaimScope scope) noexcept {
  want_new_blocks();
  return cover_all(scope);
}

bool cover_new_blocks(ReclaimScope scope) noexcept {
  struct Cover {
    ReclaimScope scope;
    Run run;
    bool done;
  } cover = {scope, {}, true};
  bool complete = take_new_blocks(
      [](size_t block, void* argument) noexcept {
        auto* cover = static_cast<Cover*>(argument);
        if (cover->scope == ReclaimScope::kYoung && !is_young_block(block)) return;
        if (!shades::test(shading.covered, block)) cover->done = cover->run.add(block) && cover->done;
      },
      &cover);
  cover.done = cover.run.end() && cover.done;
  return complete ? cover.done : cover_all(scope);
}

void mark_what_is_not_handed_out() noexcept {
  for_each_context([](const AllocationContext& context) noexcept {
    if (context.chunk_end != nullptr) mark_range(context.alloc_ptr - core::kHeaderSize, static_cast<const uint8_t*>(context.chunk_end));
  });
  const AllocationContext& pinned = pinned_context();
  if (pinned.chunk_end != nullptr) mark_range(pinned.alloc_ptr - core::kHeaderSize, static_cast<const uint8_t*>(pinned.chunk_end));
  for_each_shared_rest([](uint8_t* start, const uint8_t* end) noexcept { mark_range(start, end); });
  for_rest_of_guarded([](uint8_t* start, const uint8_t* end) noexcept { mark_range(start, end); });
  for_rest_of_large([](uint8_t* start, const uint8_t* end) noexcept { mark_range(start, end); });
}

void forget_marks() noexcept {
  state.release();
  state.reserved = false;
}

void uncover_blocks() noexcept {
  if (shading.covered == nullptr) return;  // there was no memory for it
  size_t first = 0, count = 0;
  auto end = [&]() noexcept {
    if (count != 0 && !os::decommit(marks_of(first), count * kMarksOfBlock)) {
      // They must say nothing the next time.
      for (size_t word = 0; word < count * kMarksOfBlock / sizeof(uint64_t); word++)
        shading.marks[first * kMarksOfBlock / sizeof(uint64_t) + word].store(0, std::memory_order_relaxed);
    }
    count = 0;
  };
  for_each_covered_block([&](size_t block) noexcept {
    shading.covered[block / 64].fetch_and(~(uint64_t{1} << (block % 64)), std::memory_order_relaxed);
    if (arena.in_lower_half(reinterpret_cast<uintptr_t>(arena.block_start(block)))) shading.found[block] = 0;
    if (block != first + count || count == 0) {
      end();
      first = block;
    }
    count++;
  });
  end();
}

}  // namespace freehold::heap
