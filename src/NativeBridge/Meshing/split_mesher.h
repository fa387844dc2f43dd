// Finds pairs of spans whose live slots do not overlap, and meshes them: SplitMesher of the paper. The spans of a class are put in random order and split
// into halves; each of one half is compared with at most t of the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "global_heap.h"

namespace freehold::mesh {

struct MeshFigures {
  std::atomic<uint64_t> passes{0}, meshes{0}, refused{0}, nanoseconds{0}, longest_nanoseconds{0}, bytes_copied{0};
};

class SplitMesher {
 public:
  static constexpr uint32_t kProbes = 64;          // t
  static constexpr uint32_t kMaximalMembers = 15;  // of a leader: freeing and allocating look at all of them
  static constexpr uint32_t kMaximalCandidates = 32'768;

  bool open(GlobalHeap& heap, WriteBarrier& barrier, uint64_t seed) noexcept;
  void close() noexcept;

  // A pass, if it is time for one and it is likely to pay, or if `now_anyway`. One thread at a time: another one returns at once.
  // The spans whose memory was given back.
  uint64_t run(uint64_t milliseconds, bool now_anyway) noexcept;
  os::Lock& lock() noexcept { return lock_; }
  const MeshFigures& figures() const noexcept { return figures_; }
  uint64_t next_time() const noexcept { return next_time_.load(std::memory_order_relaxed); }
  int64_t budget() const noexcept { return budget_; }

  struct Candidate {
    MiniHeapId id;  // 0: has been in a pair
    uint32_t page;
    Bits live;
  };
  // Calls `pair` with two candidates whose live slots do not overlap, one of either half, until it returns false. No candidate is in two pairs.
  template <typename Pair>
  static void split(Candidate* candidates, uint32_t count, uint32_t rotation, Pair pair) noexcept {
    uint32_t half = count / 2;
    for (uint32_t probe = 0; probe < kProbes && probe < half; probe++) {
      for (uint32_t i = 0; i < half; i++) {
        Candidate &left = candidates[i], &right = candidates[half + (i + probe + rotation) % half];
        if (left.id == 0 || right.id == 0 || left.live.intersects(right.live)) continue;
        if (!pair(left, right)) return;
        left.id = right.id = 0;
      }
    }
  }

 private:
  uint32_t run_class(uint32_t size_class, uint64_t end_of_pass) noexcept;
  bool mesh(uint32_t size_class, MiniHeapId one, MiniHeapId other) noexcept;
  bool is_candidate(const MiniHeap& mini_heap, uint32_t size_class) const noexcept;

  GlobalHeap* heap_ = nullptr;
  WriteBarrier* barrier_ = nullptr;
  os::Lock lock_;  // all below
  Random random_;
  Candidate* candidates_ = nullptr;
  std::atomic<uint64_t> next_time_{0};  // milliseconds; read by threads that ask whether it is time
  uint64_t pause_ = 0;                  // milliseconds: longer after passes that did not pay
  uint64_t partial_then_ = 0;           // partial spans after the last pass
  uint32_t last_class_ = 0;
  uint64_t last_pass_ = 0;  // milliseconds
  int64_t budget_ = 0;      // mappings that the spans may take
  MeshFigures figures_;
};

}  // namespace freehold::mesh
