// The profile of a running process: contexts, live objects and the affinities that each thread has seen. docs/internals/grouping.md.
//
// Lock order: the recorder's, then that of a thread's state. Neither is held where something else of the process is called, but for the allocator behind (realloc).
#pragma once

#include <atomic>
#include <cstdint>

#include "../Runtime/owned_lock.h"
#include "Platform/lock.h"
#include "affinity.h"
#include "contexts.h"
#include "objects.h"
#include "sites.h"

namespace freehold::profile {

// What a thread records. Never unmapped: a thread that has ended leaves its counts, and another one takes the state.
struct ThreadState {
  explicit ThreadState(uint64_t distance) noexcept : affinity(distance) {}
  os::Lock lock;  // the thread, and who writes the file; a handler of a signal that finds it taken records nothing
  Affinity affinity;
  uint64_t burst_left = 0, random = 0;
  bool in_use = true;  // under the recorder's lock
  ThreadState* next = nullptr;
  Frame* frames = nullptr;
};

class Recorder {
 public:
  // Once, before the program runs. Without a path nothing is recorded.
  void start(const char* path) noexcept;
  bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }

  // The frames of the calling thread, which becomes known.
  Frame* know_thread() noexcept;
  void forget_thread(ThreadState* state) noexcept;
  void access(uintptr_t address, uint64_t bytes) noexcept;

  // Of memory that the allocator behind has given or takes back. `size`: what it could hold.
  void allocated(void* start, size_t asked, size_t usable) noexcept;
  void freed(void* start, size_t usable) noexcept;
  // A realloc: `change` calls the allocator, and nobody else is told of what lies at the old place meanwhile.
  template <typename Change, typename UsableSize>
  void* reallocated(void* old, size_t old_usable, size_t asked, Change change, UsableSize usable_size) noexcept {
    if (!lock_.lock_unless_mine()) return change();
    void* made = change();
    if (made != nullptr && made != old) {
      remove(old, old_usable);
      add(made, asked, usable_size(made));
    } else if (made == old) {
      resize(old, old_usable, usable_size(made));
    }
    lock_.unlock();
    return made;
  }

  // At exit, and by the child of a fork under another name. Says on standard error what went wrong. A handler that has interrupted the recorder may exit: what was being recorded is missing then.
  void write() noexcept;

  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

 private:
  friend class ProfileWriter;
  void add(void* start, size_t asked, size_t usable) noexcept;
  void remove(void* start, size_t usable) noexcept;
  void resize(void* start, size_t old_usable, size_t usable) noexcept;
  void begin(ThreadState& state) noexcept;
  void begin_gap(ThreadState& state) noexcept;

  std::atomic<bool> on_{false};
  // A handler of a signal that has interrupted its thread in here records nothing; nor do handlers of fork, which run while the thread that forks has it.
  bridge::OwnedLock lock_;
  Contexts contexts_;
  Objects objects_;
  uint64_t sequence_ = 0;
  ThreadState* states_ = nullptr;
  Frame* nobodys_frames_ = nullptr;  // of threads when nothing is recorded
  bool is_child_ = false;
  uint64_t threads_ = 0;
  char path_[4096] = {};
};

extern Recorder recorder;

}  // namespace freehold::profile
