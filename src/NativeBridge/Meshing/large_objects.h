// Objects with pages of their own, and the spans that do not mesh: runs of pages in the second half of the arena. A free run stays as it is for a while
// (decay), because the next large object will often fit; then its memory goes back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "meshable_arena.h"

namespace freehold::mesh {

class LargeObjects {
 public:
  bool open(MeshableArena& arena) noexcept;
  void close() noexcept;

  // Whole pages that begin at a multiple of `alignment` (a power of two, at least a page). Null: no memory. `zero`: whether they read as zero.
  void* allocate(size_t size, size_t alignment, uint32_t kind, uint32_t owner, uint32_t index, bool* zero) noexcept;
  // A run of that first page.
  void free(uint32_t page) noexcept;
  size_t size_of(uint32_t page) const noexcept;
  // Makes an object longer or shorter where it is. False: there is no room.
  bool resize(uint32_t page, size_t size) noexcept;
  // The object's frames came from elsewhere: its mapping is one of its own until it is freed.
  void set_moved(uint32_t page) noexcept { run(page).moved = true; }
  // Gives the memory of runs back that became free at `time` (milliseconds) or before.
  void purge(uint32_t time) noexcept;
  uint64_t live_bytes() const noexcept { return live_pages_.load(std::memory_order_relaxed) << os::kPageShift; }
  os::Lock& lock() noexcept { return lock_; }
  // With the lock: all runs, and the lists of the free ones. What is wrong, if anything is.
  Violation verify(Runs* found) const noexcept;
  // With the lock: a used run of that length begins there.
  bool is_used_run(uint32_t page, uint32_t pages) const noexcept {
    return page >= begin_ && page < fresh_ && run(page).first && !run(page).free && run(page).pages == pages;
  }

 private:
  // A run is described at its first page; a free one's length also at its last.
  struct Run {
    uint32_t pages;           // at the first page, and of a free run at the last
    uint32_t next, previous;  // of free runs of about this length
    uint32_t newer, older;    // of free runs that are dirty
    uint32_t since;           // milliseconds
    bool free, first, dirty, moved;
  };
  static constexpr uint32_t kBins = 8 * 32;

  Violation verify_lists(uint64_t free_runs, uint64_t dirty_runs) const noexcept;
  static uint32_t bin_of(uint32_t pages) noexcept;
  Run& run(uint32_t page) const noexcept { return runs_[page - begin_]; }
  void insert(uint32_t page, uint32_t pages, bool dirty, uint32_t since) noexcept;
  void take_out(uint32_t page) noexcept;
  uint32_t find(uint32_t pages, uint32_t alignment) noexcept;
  void purge_run(uint32_t page) noexcept;
  bool grow(uint32_t end) noexcept;

  MeshableArena* arena_ = nullptr;
  os::Lock lock_;  // all below
  Run* runs_ = nullptr;
  uint32_t begin_ = 0, end_ = 0, fresh_ = 0, committed_ = 0;  // pages of the arena: from `fresh_` on never used, up to `committed_` accessible
  uint32_t bins_[kBins] = {};
  uint64_t occupied_[kBins / 64] = {};
  uint32_t newest_ = 0, oldest_ = 0;
  std::atomic<uint64_t> live_pages_{0};
};

}  // namespace freehold::mesh
