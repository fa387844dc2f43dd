// What belongs to one thread: its shuffle vectors, and the addresses that it has announced to the mesher. Never unmapped: a dead thread's heap goes to the next one.
#pragma once

#include <atomic>
#include <cstdint>

#include "shuffle_vector.h"
#include "size_classes.h"

namespace freehold::mesh {

struct ThreadLocalHeap {
  static constexpr uint32_t kAnnouncements = 48, kLasting = 4;
  // An owner that no span has: of the heap of threads that have none yet.
  static constexpr uint32_t kNobody = 0xffff, kMaximal = 0xfff0;

  uint32_t id = kNobody;  // from 1 on: the owner in the page words
  ShuffleVector vectors[kClasses];
  // Objects of other threads that this one has freed, until they go to their spans together (GlobalHeap::flush_remote).
  ShuffleVector remote[kClasses];
  Random random;
  ThreadLocalHeap* next_unused = nullptr;  // under the global heap's lock
  // Addresses that a system call of this thread may write to: no span with one of them is meshed. Written by the thread, read by the mesher; see WriteBarrier.
  std::atomic<uint32_t> announced_count{0};
  std::atomic<uintptr_t> announced[kAnnouncements] = {};
  uintptr_t announcing_frame[kAnnouncements] = {};  // of each; only this thread's
  std::atomic<uintptr_t> lasting[kLasting] = {};
  uint32_t next_lasting = 0;
  std::atomic<uint32_t> making{0};  // a span; see GlobalHeap::is_settled. Written by the thread before it takes a lock

  // At most 64 objects of a class wait, 16 KB of a class that meshes and 64 KB of another one, whose spans have four slots or more.
  static constexpr uint32_t remote_capacity(uint32_t size_class) noexcept {
    uint32_t fit = (is_meshable(size_class) ? 16'384 : 65'536) / kSizeClasses[size_class].size;
    return fit > 64 ? 64 : fit;
  }
};

}  // namespace freehold::mesh
