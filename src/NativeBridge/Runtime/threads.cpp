#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <new>

#include "Platform/memory_budget.h"
#include "faults.h"
#include "os.h"
#include "scoped_pins.h"
#include "services.h"
#include "signal_masks.h"

using freehold::bridge::ThreadWord;

extern "C" {
thread_local ThreadWord __freehold_thread __attribute__((tls_model("initial-exec"))) = {0, 1};
}

namespace freehold::bridge::threads {

namespace {

thread_local Thread* mine __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local uint32_t handlers_running __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool ending __attribute__((tls_model("initial-exec"))) = false;  // forget() has run

constexpr unsigned kLetInPauses = 500;  // of 20 microseconds each

// Held from stop() to resume(), and to change the list. Only a thread that is outside may wait for it: whoever holds it may wait for the others.
os::Lock world;
std::atomic<uint32_t> newcomers{0};  // threads that wait for `world` to become known, or to go
Thread* all = nullptr;
Thread* unused = nullptr;  // of threads that have ended
bool has_barrier = false;
bool poll_always = false;
pthread_key_t exit_key;
uint64_t began_at = 0;  // the stop
sigset_t mask_before;   // of the thread that stopped the others; under `world`
// Written by who holds `world`, read by anybody.
std::atomic<uint64_t> stop_count{0}, longest_stop{0}, longest_wait{0}, all_stops{0}, abandoned_stops{0};

std::atomic_ref<uint32_t> outside_of(const Thread& thread) noexcept { return std::atomic_ref<uint32_t>(thread.word->outside); }

void fence_if_needed() noexcept {
  if (has_barrier) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// Under `world`.
void keep_longest(std::atomic<uint64_t>& longest, uint64_t time) noexcept {
  if (time > longest.load(std::memory_order_relaxed)) longest.store(time, std::memory_order_relaxed);
}

// A handler on a thread that holds `world` would wait for itself.
using signal_masks::block_signals;
using signal_masks::NoSignals;

void pin_stopped(uint64_t handle, bool pin) noexcept {
  if (!HandleTable::is_live(handle)) return;
  if (pin) {
    table.pin(HandleTable::id_of(handle), HandleTable::kStopped);
  } else {
    table.unpin(HandleTable::id_of(handle), HandleTable::kStopped);
  }
}
void pin_all(bool pin) noexcept {
  threads::for_each([pin](Thread& thread) { thread.pins.for_each([pin](uint64_t handle) { pin_stopped(handle, pin); }); });
  scoped_pins.for_each([pin](uint64_t handle) { pin_stopped(handle, pin); });
}

// Where its frames are. Allocates.
void find_stack(Thread& thread) noexcept {
  pthread_attr_t attributes;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
    thread.pins.set_stack(reinterpret_cast<uintptr_t>(start), reinterpret_cast<uintptr_t>(start) + size);
  }
  pthread_attr_destroy(&attributes);
}

// The lock goes to whoever is awake: a thread that stops the others again and again would always be first.
void lock_world_as_newcomer() noexcept {
  newcomers.fetch_add(1, std::memory_order_relaxed);
  world.lock();
  newcomers.fetch_sub(1, std::memory_order_relaxed);
}
void let_newcomers_first() noexcept {
  for (unsigned pauses = 0; pauses < kLetInPauses && newcomers.load(std::memory_order_relaxed) != 0; pauses++) os::pause(20);
}

// Under `world`, before a stop begins. A thread that one stop after another finds outside, not yet awake, would never come inside. Not for long: a handler
// that interrupted the wait may have left it by longjmp, or the thread gets no processor.
void let_waiting_in() noexcept {
  for (Thread* thread = all; thread != nullptr; thread = thread->next) {
    for (unsigned pauses = 0; pauses < kLetInPauses && thread->waits_for_stop.load(std::memory_order_relaxed) != 0; pauses++) os::pause(20);
  }
}

// The thread ends. It may yet run compiled code, in destructors that come later: that makes it known again.
void forget(void* pointer) noexcept {
  auto* thread = static_cast<Thread*>(pointer);
  ending = true;
  if (is_outside(*thread)) enter(*thread);
  // pthread_exit and cancellation leave frames, and handlers, without a word.
  thread->pins.clear();
  thread->handlers = 0;
  heap.empty(thread->cache);
  objects::empty(thread->ids);
  leave(*thread);
  NoSignals no_signals;
  lock_world_as_newcomer();
  for (Thread** at = &all; *at != nullptr; at = &(*at)->next) {
    if (*at != thread) continue;
    *at = thread->next;
    break;
  }
  thread->next = unused;
  unused = thread;
  mine = nullptr;
  world.unlock();
}

Thread* make_known() noexcept {
  constexpr size_t kSize = (sizeof(Thread) + os::kPageSize - 1) & ~(os::kPageSize - 1);
  signal_masks::unblock_faults();
  NoSignals no_signals;
  if (mine != nullptr) return mine;  // a handler was first
  lock_world_as_newcomer();
  Thread* thread = unused;
  if (thread != nullptr) {
    unused = thread->next;
  } else if ((thread = static_cast<Thread*>(os::map(kSize))) == nullptr) {
    world.unlock();
    os::fail("freehold: no memory for a thread of compiled code\n");
  }
  thread->word = &__freehold_thread;
  thread->stop = reinterpret_cast<std::atomic<uint32_t>*>(&__freehold_thread.stop);
  thread->stop->store(poll_always ? kPollAlways : 0, std::memory_order_relaxed);
  thread->pins.clear();
  thread->pins.set_stack(0, 0);
  thread->entering = 0;
  thread->waits_for_stop.store(0, std::memory_order_relaxed);
  thread->lacks_stack = false;
  thread->handlers = 0;
  thread->next = all;
  all = thread;
  mine = thread;
  world.unlock();
  int saved = errno;
  pthread_setspecific(exit_key, thread);
  thread->lacks_stack = handlers_running != 0;
  if (!thread->lacks_stack) find_stack(*thread);
  errno = saved;
  return thread;
}

// What the thread that forks has done before. Others have none.
struct Fork {
  // kInterrupted: a handler forks, and the code that it has interrupted may hold addresses. Then nothing may move, so nobody is stopped.
  enum Kind : uint8_t { kOutside, kInside, kInterrupted } kind;
  bool has_heap, has_table;  // their locks
  uint32_t service_locks;    // of the service that was chosen
  sigset_t mask;             // that was, if interrupted
};
thread_local constinit Fork forking __attribute__((tls_model("initial-exec"))) = {};

// Everybody is outside while the process is copied, so that nothing is half done in the copy. What is half done by other threads when nobody can be
// stopped is no matter of the child, but for what the locks guard.
void before_fork() noexcept {
  forking.kind = mine == nullptr || is_outside(*mine) ? Fork::kOutside : may_leave(*mine) ? Fork::kInside : Fork::kInterrupted;
  if (forking.kind == Fork::kInterrupted) {
    forking.mask = block_signals();
  } else {
    if (forking.kind == Fork::kInside) leave(*mine);
    stop();
  }
  forking.has_heap = heap.lock_unless_mine();
  forking.has_table = table.lock_unless_mine();
  forking.service_locks = lock_service();
}
void unlock_after_fork() noexcept {
  unlock_service(forking.service_locks);
  if (forking.has_table) table.unlock();
  if (forking.has_heap) heap.unlock();
}
void go_on_after_fork() noexcept {
  if (forking.kind == Fork::kInterrupted) {
    sigset_t before = forking.mask;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } else {
    resume();
    if (forking.kind == Fork::kInside) enter(*mine);
  }
}
void after_fork() noexcept {
  unlock_after_fork();
  go_on_after_fork();
}
// Only this thread is there. What the others kept is lost, their memory too.
void after_fork_in_child() noexcept {
  freehold::os::leave_parents_budget();
  unlock_after_fork();
  newcomers.store(0, std::memory_order_relaxed);
  if (forking.kind == Fork::kInterrupted) {
    // Another thread may have been in the middle of a stop, or have waited for one.
    new (&world) os::Lock();
    unused = nullptr;
    mine->stop->fetch_and(~kStop, std::memory_order_relaxed);
  } else {
    // Their records are in the copied memory, and name what they have pinned.
    pin_all(false);
  }
  all = mine;
  if (mine != nullptr) mine->next = nullptr;
  has_barrier = os::request_membarrier();
  go_on_after_fork();
}

}  // namespace

bool initialize() noexcept {
  has_barrier = os::request_membarrier();
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
  return pthread_key_create(&exit_key, forget) == 0;
}

void always_poll() noexcept { poll_always = true; }

Thread* known() noexcept { return mine; }

Thread& current() noexcept {
  Thread* thread = mine;
  return *(thread != nullptr ? thread : make_known());
}

Thread* first() noexcept { return all; }

bool is_asked_to_stop(const Thread& thread) noexcept { return (thread.stop->load(std::memory_order_relaxed) & kStop) != 0; }

bool is_outside(const Thread& thread) noexcept { return outside_of(thread).load(std::memory_order_relaxed) != 0; }

void enter(Thread& thread) noexcept {
  while (true) {
    thread.entering = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    outside_of(thread).store(0, std::memory_order_relaxed);
    fence_if_needed();
    uint32_t stop = thread.stop->load(std::memory_order_acquire);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if ((stop & kStop) == 0) {
      thread.entering = 0;
      if (thread.waits_for_stop.load(std::memory_order_relaxed) != 0) thread.waits_for_stop.store(0, std::memory_order_relaxed);
      return;
    }
    outside_of(thread).store(1, std::memory_order_release);
    thread.waits_for_stop.store(1, std::memory_order_relaxed);
    os::wait_on(*thread.stop, stop);
  }
}

void leave(Thread& thread) noexcept { outside_of(thread).store(1, std::memory_order_release); }

void leave_entry(Thread& thread) noexcept {
  if (!ending || thread.pins.depth() != 0 || thread.handlers != 0) return leave(thread);
  pthread_setspecific(exit_key, nullptr);
  forget(&thread);
}

// A handler that interrupts this may use the same place: so it is written once more.
void begin_handler(Thread& thread, uintptr_t stack_pointer) noexcept {
  uint32_t depth = thread.handlers;
  auto note = [&] {
    if (depth < kKnownHandlers) *static_cast<volatile uintptr_t*>(&thread.interrupted[depth]) = stack_pointer;
  };
  note();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.handlers = depth + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  note();
}
void end_handler(Thread& thread) noexcept { thread.handlers--; }

InHandler::InHandler() noexcept { handlers_running++; }
InHandler::~InHandler() {
  if (handlers_running != 0) handlers_running--;
}
void forget_handlers() noexcept { handlers_running = 0; }

void complete(Thread& thread) noexcept {
  if (!thread.lacks_stack || handlers_running != 0) return;
  thread.lacks_stack = false;
  find_stack(thread);
}

void leave_frames(Thread& thread, uintptr_t stack_pointer) noexcept {
  Pins& pins = thread.pins;
  // Of other stacks nobody knows which frames go on.
  if (pins.is_own(stack_pointer)) {
    while (thread.handlers != 0 && thread.handlers <= kKnownHandlers) {
      uintptr_t interrupted = thread.interrupted[thread.handlers - 1];
      if (!pins.is_own(interrupted) || interrupted >= stack_pointer) break;
      thread.handlers--;
    }
    if (may_leave(thread)) pins.drop_below(stack_pointer - 1);
  }
  if (may_leave(thread)) leave(thread);
}

namespace {

void ask_all_to_stop() noexcept {
  sigset_t before = block_signals();
  let_newcomers_first();
  world.lock();
  mask_before = before;
  let_waiting_in();
  began_at = os::nanoseconds();
  for_each([](Thread& thread) { thread.stop->fetch_or(kStop, std::memory_order_relaxed); });
  if (has_barrier) {
    // Once requested, it does not fail, unless the program has forbidden it since.
    if (!os::membarrier()) {
      os::fail(
          "freehold: the kernel refuses membarrier, which it has allowed at the start: threads cannot be stopped. Allow the call in the program's filter of "
          "system calls (seccomp), or install the filter before the program starts\n");
    }
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

// False: it got too late for one of them. `limit`: since they were asked.
bool wait_until_outside(uint64_t limit) noexcept {
  bool in_time = true;
  for_each([&](Thread& thread) {
    for (unsigned spins = 0; in_time && outside_of(thread).load(std::memory_order_acquire) == 0; spins++) {
      if (spins < 100) {
        __builtin_ia32_pause();
      } else {
        os::pause(20);
        in_time = os::nanoseconds() - began_at < limit;
      }
    }
  });
  keep_longest(longest_wait, os::nanoseconds() - began_at);
  return in_time;
}

void let_all_go() noexcept {
  for_each([](Thread& thread) {
    thread.stop->fetch_and(~kStop, std::memory_order_release);
    os::wake_all(*thread.stop);
  });
  uint64_t time = os::nanoseconds() - began_at;
  stop_count.fetch_add(1, std::memory_order_relaxed);
  all_stops.fetch_add(time, std::memory_order_relaxed);
  keep_longest(longest_stop, time);
  sigset_t before = mask_before;
  world.unlock();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void stop() noexcept {
  ask_all_to_stop();
  wait_until_outside(UINT64_MAX);
  pin_all(true);
}

bool stop_within(uint64_t nanoseconds) noexcept {
  ask_all_to_stop();
  if (!wait_until_outside(nanoseconds)) {
    abandoned_stops.fetch_add(1, std::memory_order_relaxed);
    let_all_go();
    return false;
  }
  pin_all(true);
  return true;
}

void resume() noexcept {
  pin_all(false);
  let_all_go();
}

uint64_t stopped_at() noexcept { return began_at; }

StopFigures stop_figures() noexcept {
  return {stop_count.load(std::memory_order_relaxed), longest_stop.load(std::memory_order_relaxed), longest_wait.load(std::memory_order_relaxed),
          all_stops.load(std::memory_order_relaxed), abandoned_stops.load(std::memory_order_relaxed)};
}

}  // namespace freehold::bridge::threads
