// Threads that run compiled code, and how they are stopped.
//
// A thread is inside while it runs compiled code or the runtime: it may hold addresses of objects that nobody has pinned, so nothing moves. It is
// outside while it runs anything else, or waits at a poll: the objects that it needs in place are in its pin records. To stop the threads is to
// ask each to go outside and to wait until all are; a thread that is outside stays there until the stop ends. Nobody sends a signal.
//
// Order: a thread that comes inside clears `outside`, then looks at `stop`. Whoever stops writes `stop`, makes all threads pass a barrier
// (membarrier), then looks at `outside`. At least one side observes the other's store. Where the kernel has no membarrier, the thread has a fence.
//
// A thread that nobody knows yet is outside: the first compiled function that it enters makes it known.
#pragma once

#include <atomic>

#include "abi.h"
#include "heap.h"
#include "objects.h"
#include "pins.h"

// Initial-exec, so that compiled code needs no call to find it.
extern "C" thread_local freehold::bridge::ThreadWord __freehold_thread __attribute__((tls_model("initial-exec")));

namespace freehold::bridge {

inline constexpr uint32_t kKnownHandlers = 8;

struct Thread {
  ThreadWord* word;
  std::atomic<uint32_t>* stop;  // &word->stop: what it waits on
  Pins pins;                    // of its records
  Ids ids;
  ThreadCache cache;           // of the defragmenter's service
  Thread* next;                // in the list of all
  uint64_t polls;              // slow ones
  uint8_t* step_code;          // a page where copies of instructions run (faults.cpp); null until one is needed
  volatile uint32_t entering;  // in enter(), not inside yet although `outside` is 0: for handlers that interrupt it
  // A stop keeps it from coming inside. Written by the thread; whoever begins the next stop lets it in first.
  std::atomic<uint32_t> waits_for_stop;
  bool lacks_stack;                       // it became known in a handler, which must not ask for the bounds of its stack
  uint32_t handlers;                      // of signals that have interrupted it inside, and run. Not zero: it must not go outside
  uintptr_t interrupted[kKnownHandlers];  // by each handler, from the outermost: the stack pointer there
};

namespace threads {

// The bits of ThreadWord::stop.
inline constexpr uint32_t kStop = 1, kPollAlways = 2;

// Once. False: no memory.
bool initialize() noexcept;
// For stress: every poll of threads that become known from now on is a slow one.
void always_poll() noexcept;

// Of the calling thread. Makes it known first, and is never null: without memory the process ends.
Thread& current() noexcept;
// Null: not known yet.
Thread* known() noexcept;

// From outside to inside; waits while the threads are stopped.
void enter(Thread& thread) noexcept;
// From inside to outside.
void leave(Thread& thread) noexcept;
// The same at the end of what an outside caller has called. A thread that ends may come back in a destructor when no other will tell: it is forgotten.
void leave_entry(Thread& thread) noexcept;
bool is_outside(const Thread& thread) noexcept;
// A stop has begun that waits for the thread if it is inside.
bool is_asked_to_stop(const Thread& thread) noexcept;

// Around a handler of a signal that has interrupted the thread inside.
void begin_handler(Thread& thread, uintptr_t stack_pointer) noexcept;
void end_handler(Thread& thread) noexcept;
// Around every handler of a signal, wherever it interrupts: what it has interrupted may hold locks of the C library.
class InHandler {
 public:
  InHandler() noexcept;
  ~InHandler();
  InHandler(const InHandler&) = delete;
  InHandler& operator=(const InHandler&) = delete;
};
// A jump: the handlers of this thread may be over.
void forget_handlers() noexcept;
// What a handler must not do. The caller is outside.
void complete(Thread& thread) noexcept;
// Goes outside for a jump to a frame with that stack pointer: what the frames below it have left goes, handlers too. Stays inside if a handler that has
// interrupted compiled code goes on after the jump.
void leave_frames(Thread& thread, uintptr_t stack_pointer) noexcept;
// The thread may go outside.
inline bool may_leave(const Thread& thread) noexcept { return thread.handlers == 0; }

inline void link(Thread& thread, const PinRecord& record) noexcept { thread.pins.push(record, !may_leave(thread)); }
inline void unlink(Thread& thread, const PinRecord& record) noexcept { thread.pins.pop(record, !may_leave(thread)); }

// Stops all threads; the caller is outside, or no thread of compiled code. From here to resume() every id that a record names is pinned with
// HandleTable::kStopped. One stop at a time: a second caller waits.
void stop() noexcept;
// The same, but if a thread is not outside in time, those that are go on, and it is false. For who can do its work later: a thread that another process keeps from its
// processor would hold up all others.
bool stop_within(uint64_t nanoseconds) noexcept;
void resume() noexcept;
// Between stop() and resume(). When the stop was asked for, on the clock of os::nanoseconds.
uint64_t stopped_at() noexcept;
// Between stop() and resume(). Visits every known thread.
template <typename Visitor>
void for_each(Visitor visit) noexcept;
Thread* first() noexcept;

struct StopFigures {
  // longest_wait: until the last thread was outside; a part of that stop, not of the longest.
  uint64_t stops, longest_nanoseconds, longest_wait_nanoseconds, total_nanoseconds, abandoned;
};
StopFigures stop_figures() noexcept;

template <typename Visitor>
void for_each(Visitor visit) noexcept {
  for (Thread* thread = first(); thread != nullptr; thread = thread->next) visit(*thread);
}

// Inside for as long as this lives, wherever the thread was.
class Inside {
 public:
  Inside() noexcept : thread_(current()), was_outside_(is_outside(thread_)) {
    if (was_outside_) enter(thread_);
  }
  ~Inside() {
    if (was_outside_) leave_entry(thread_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  Thread& thread() noexcept { return thread_; }

 private:
  Thread& thread_;
  bool was_outside_;
};

}  // namespace threads
}  // namespace freehold::bridge
