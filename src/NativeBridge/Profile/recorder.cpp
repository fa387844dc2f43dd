#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <new>

#include "Platform/files.h"
#include "knobs.h"
#include "profile_writer.h"

thread_local constinit freehold::profile::ThreadWords __freehold_profile __attribute__((tls_model("initial-exec"))) = {};

namespace freehold::profile {

constinit Recorder recorder;

namespace {

thread_local constinit ThreadState* own_state __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit bool fork_has_locked __attribute__((tls_model("initial-exec"))) = false;
pthread_key_t thread_end;

void end_thread(void* state) { recorder.forget_thread(static_cast<ThreadState*>(state)); }

template <typename T>
T* map_for(size_t count = 1) noexcept {
  return static_cast<T*>(os::map_private(nullptr, (count * sizeof(T) + os::kPageSize - 1) & ~(os::kPageSize - 1), PROT_READ | PROT_WRITE));
}

}  // namespace

void Recorder::start(const char* path) noexcept {
  if (path == nullptr) return;
  if (strlen(path) >= sizeof path_) {
    os::write_error("freehold: FREEHOLD_PROFILE names a path that is too long; nothing is recorded\n");
    return;
  }
  strcpy(path_, path);
  if (!contexts_.initialize() || !objects_.initialize() || pthread_key_create(&thread_end, end_thread) != 0) {
    os::write_error("freehold: there is no address space for a heap profile; nothing is recorded\n");
    return;
  }
  on_.store(true, std::memory_order_relaxed);
}

Frame* Recorder::know_thread() noexcept {
  int error = errno;
  ThreadState* state = nullptr;
  bool was_free = lock_.lock_unless_mine();
  // Not in a handler that has interrupted this: the interrupted call goes on and makes the thread known.
  if (is_on() && was_free) {
    for (state = states_; state != nullptr && state->in_use; state = state->next) {}
    if (state == nullptr) {
      auto* memory = map_for<ThreadState>();
      auto* frames = memory == nullptr ? nullptr : map_for<Frame>(kMostFrames);
      if (frames != nullptr) {
        state = new (memory) ThreadState(knobs.distance);
        state->frames = frames;
        state->next = states_;
        states_ = state;
      }
    }
  }
  if (state != nullptr) {
    begin(*state);
    own_state = state;
    __freehold_profile.frames = state->frames;
    __freehold_profile.countdown = 0;
  } else {
    if (nobodys_frames_ == nullptr) nobodys_frames_ = map_for<Frame>(kMostFrames);
    // Without any memory the program could not go on either.
    if (nobodys_frames_ == nullptr) abort();
    __freehold_profile.frames = nobodys_frames_;
    __freehold_profile.countdown = INT64_MAX;
  }
  if (was_free) lock_.unlock();
  if (state != nullptr) pthread_setspecific(thread_end, state);
  errno = error;
  return __freehold_profile.frames;
}

void Recorder::begin(ThreadState& state) noexcept {
  state.in_use = true;
  // Each thread's gaps come at other places, and at the same ones in each run.
  state.random = ++threads_ * 0x9e3779b97f4a7c15;
  state.burst_left = knobs.burst;
  state.affinity.interrupt();
}

// Destructors that run after this one are not looked at.
void Recorder::forget_thread(ThreadState* state) noexcept {
  bool was_free = lock_.lock_unless_mine();
  own_state = nullptr;
  if (nobodys_frames_ == nullptr) nobodys_frames_ = map_for<Frame>(kMostFrames);
  __freehold_profile.countdown = INT64_MAX;
  if (nobodys_frames_ != nullptr) {
    __freehold_profile.frames = nobodys_frames_;
    state->in_use = false;
  }
  if (was_free) lock_.unlock();
}

void Recorder::begin_gap(ThreadState& state) noexcept {
  state.burst_left = knobs.burst;
  if (knobs.gap == 0) return;
  state.affinity.interrupt();
  state.random ^= state.random << 13;
  state.random ^= state.random >> 7;
  state.random ^= state.random << 17;
  // From half of it to one and a half.
  __freehold_profile.countdown = static_cast<int64_t>(knobs.gap / 2 + state.random % (knobs.gap + 1));
}

void Recorder::access(uintptr_t address, uint64_t bytes) noexcept {
  if (__freehold_profile.countdown > 0) return;
  __freehold_profile.countdown = 0;
  if (__freehold_profile.frames == nullptr) know_thread();
  ThreadState* state = own_state;
  if (state == nullptr || !is_on()) {
    __freehold_profile.countdown = INT64_MAX;
    return;
  }
  if (!state->lock.try_lock()) return;
  if (uint32_t number = objects_.number_at(address); number != 0) {
    Object& object = objects_[number];
    uint32_t context = object.context.load(std::memory_order_relaxed);
    constexpr uint64_t kMostBytes = 1 << 16;
    if (context != 0) {
      state->affinity.add({context, static_cast<uint32_t>(bytes < kMostBytes ? bytes : kMostBytes), object.sequence.load(std::memory_order_relaxed),
                           object.previous.load(std::memory_order_relaxed), object.following.load(std::memory_order_relaxed)});
    }
  }
  if (--state->burst_left == 0) begin_gap(*state);
  state->lock.unlock();
}

void Recorder::add(void* start, size_t asked, size_t usable) noexcept {
  ThreadWords& words = __freehold_profile;
  // Memory that a library takes for itself has no context: of what the program calls only allocation functions count.
  if (own_state == nullptr || words.depth == 0) return;
  const Site* site = words.frames[(words.depth - 1) & (kMostFrames - 1)].site;
  if (site == nullptr || site->allocates == 0) return;
  uint32_t context = contexts_.of_frames(words.frames, words.depth);
  ContextNode& node = contexts_[context];
  uint64_t sequence = ++sequence_;
  node.allocations++;
  node.bytes += asked;
  if (node.last_object != 0 && objects_[node.last_object].sequence.load(std::memory_order_relaxed) == node.last_sequence) {
    objects_[node.last_object].following.store(sequence, std::memory_order_relaxed);
  }
  uint64_t previous = node.last_sequence;
  node.last_sequence = sequence;
  node.last_object = 0;
  if (asked > Objects::kLargest) return;
  uint32_t number = objects_.add(reinterpret_cast<uintptr_t>(start), usable);
  if (number == 0) return;
  Object& object = objects_[number];
  object.sequence.store(sequence, std::memory_order_relaxed);
  object.previous.store(previous, std::memory_order_relaxed);
  object.following.store(0, std::memory_order_relaxed);
  object.context.store(context, std::memory_order_relaxed);
  node.last_object = number;
}

void Recorder::remove(void* start, size_t usable) noexcept {
  auto address = reinterpret_cast<uintptr_t>(start);
  if (uint32_t number = objects_.number_at(address); number != 0) objects_.remove(number, address, usable);
}

void Recorder::resize(void* start, size_t old_usable, size_t usable) noexcept {
  auto address = reinterpret_cast<uintptr_t>(start);
  uint32_t number = objects_.number_at(address);
  if (number != 0 && usable != old_usable) objects_.resize(number, address, old_usable, usable);
}

void Recorder::allocated(void* start, size_t asked, size_t usable) noexcept {
  if (start == nullptr || !is_on()) return;
  if (__freehold_profile.frames == nullptr) know_thread();
  if (!lock_.lock_unless_mine()) return;
  add(start, asked, usable);
  lock_.unlock();
}

void Recorder::freed(void* start, size_t usable) noexcept {
  // Without the lock first: most of what libraries free nobody knows.
  if (start == nullptr || !is_on() || objects_.number_at(reinterpret_cast<uintptr_t>(start)) == 0) return;
  if (!lock_.lock_unless_mine()) return;
  remove(start, usable);
  lock_.unlock();
}

// A handler that has interrupted the recorder may fork: the interrupted call has the lock, and gives it back in both processes.
void Recorder::before_fork() noexcept { fork_has_locked = lock_.lock_unless_mine(); }
void Recorder::after_fork_in_parent() noexcept {
  if (fork_has_locked) lock_.unlock();
}

// What the parent has counted it writes itself. The states of its threads may be in the middle of something, and are left; the frames stay, since calls are under way.
void Recorder::after_fork_in_child() noexcept {
  is_child_ = true;
  contexts_.forget_counts();
  states_ = nullptr;
  if (own_state != nullptr) {
    Frame* frames = own_state->frames;
    own_state = nullptr;
    if (auto* memory = map_for<ThreadState>()) {
      states_ = own_state = new (memory) ThreadState(knobs.distance);
      own_state->frames = frames;
      begin(*own_state);
    }
  }
  if (fork_has_locked) lock_.unlock();
}

void Recorder::write() noexcept {
  if (!is_on()) return;
  int error = errno;
  bool was_free = lock_.lock_unless_mine();
  on_.store(false, std::memory_order_relaxed);
  // A handler that calls exit may have interrupted the thread in its own.
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state != own_state) state->lock.lock();
  }
  if (auto* writer = map_for<ProfileWriter>()) (new (writer) ProfileWriter(*this))->write();
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state != own_state) state->lock.unlock();
  }
  if (was_free) lock_.unlock();
  errno = error;
}

}  // namespace freehold::profile
