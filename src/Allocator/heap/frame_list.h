// The frames on all stacks in one look at deaths, and which of their places lead to a watched object. With the threads stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/holder_support.h"
#include "os/growing_memory.h"

namespace freehold::heap {

class FrameList {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  void clear() noexcept;
  // False: some have had no room, and nobody can say that a frame is not there.
  bool is_complete() const noexcept { return is_complete_; }
  // Frames of a thread follow each other. Those without room are not found.
  void add(const FrameSeen& frame) noexcept;
  // Of the frame that was added last.
  void add_place(const void* place) noexcept;

  const FrameSeen& at(size_t index) const noexcept { return frames()[index].seen; }
  // By the low halves of its numbers, as heap/death_samples.h keeps them.
  size_t find(uint64_t thread, uint32_t stack_pointer, uint32_t method) const noexcept;
  size_t frame_of(const void* place) const noexcept;

  void release() noexcept {
    frames_.release();
    places_.release();
  }

 private:
  struct Frame {
    FrameSeen seen;
    uint32_t next;  // with the same hash, from 1 on; 0: none
  };
  struct Place {
    const void* place;
    size_t frame;
  };
  static constexpr size_t kFrames = size_t{1} << 20, kPlaces = size_t{1} << 18, kStep = size_t{64} << 10, kHashes = size_t{1} << 14;

  static size_t hash_of(uint64_t thread, uint32_t stack_pointer, uint32_t method) noexcept {
    return ((thread << 48 ^ uint64_t{stack_pointer} << 29 ^ method) * 0x9e3779b97f4a7c15) >> 50;
  }
  Frame* frames() const noexcept { return reinterpret_cast<Frame*>(frames_.start()); }
  Place* places() const noexcept { return reinterpret_cast<Place*>(places_.start()); }

  os::GrowingMemory frames_{kFrames * sizeof(Frame), kStep}, places_{kPlaces * sizeof(Place), kStep};
  size_t frame_count_ = 0, place_count_ = 0;
  bool last_is_listed_ = false, is_complete_ = true;
  uint32_t first_[kHashes] = {};  // for each hash the frame that was added last, from 1 on
};

}  // namespace freehold::heap
