// The thread that forks stops the others, when no round, remap or phase of maintenance is under way: none of them holds a lock of the heap then, and in the child they
// count as stopped for ever, with their stacks as roots. (The runtime's finalizer thread is among them: finalizers of what no root reaches do not run in a child.)
// A marking is not waited for. It holds no other lock than that of places, outside of its stops and of what it does under the lock of maintenance: the child forgets both, the parent's goes on.
//
// A thread that forks in cooperative mode, by a P/Invoke with SuppressGCTransition, cannot: who waits for it to stop may hold what it would wait for. Its child
// finds dead memory protected, but perhaps a lock of the heap's lists that nobody gives back. In that child nobody stops others again, whoever asks.
#include "runtime/fork.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdint>
#include <new>

#include "core/stop_request.h"
#include "diag/diagnostic_socket.h"
#include "heap/fork.h"
#include "heap/phases.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"
#include "runtime/threads_may_run.h"

namespace freehold::runtime {

namespace {

// Of the thread that forks; one does at a time.
alignas(heap::PromotionPause) unsigned char promotion[sizeof(heap::PromotionPause)];
alignas(heap::MaintenancePause) unsigned char maintenance[sizeof(heap::MaintenancePause)];
[[gnu::tls_model("initial-exec")]] thread_local constinit bool stopped_others = false, only_reads = false;

bool may_stop_others() noexcept {
  if (!can_stop_others()) return false;
  const Thread& thread = tls_CurrentThread;
  return (thread.state & Thread::kAttached) == 0 || thread.transition_frame != nullptr;
}

void before_fork() noexcept {
  if (!may_stop_others()) return;
  new (promotion) heap::PromotionPause;
  suspend_all();
  // Only now: a thread that waits for maintenance can be stopped when it is through.
  new (maintenance) heap::MaintenancePause;
  heap::take_locks_for_fork();
  stopped_others = true;
}

void after_fork() noexcept {
  if (!stopped_others) return;
  stopped_others = false;
  heap::give_back_locks_of_fork();
  std::launder(reinterpret_cast<heap::MaintenancePause*>(maintenance))->~MaintenancePause();
  resume_all();
  std::launder(reinterpret_cast<heap::PromotionPause*>(promotion))->~PromotionPause();
}

// The lock of the runtime's list of threads knows its owner, which has another number in the child and could not give it back.
void own_thread_list() noexcept {
  auto* lock = reinterpret_cast<pthread_mutex_t*>(reinterpret_cast<uint8_t*>(runtime_instance()->threads) + FREEHOLD_THREAD_LIST_LOCK);
  lock->__data.__owner = static_cast<int>(syscall(SYS_gettid));
}

void in_child() noexcept {
  diag::leave_diagnostics_to_parent(only_reads);
  heap::set_tracing(false);  // its reader is the parent's
  go_on_without_other_threads(stopped_others);
  heap::go_on_in_child(only_reads ? heap::ChildOfFork::kOnlyReads : heap::ChildOfFork::kGoesOn);
  if (stopped_others) {
    own_thread_list();
    heap::keep_pauses_in_child();
  } else {
    // Managed code holds none of these.
    heap::forget_pauses_in_child();
    // Who was about to stop this thread is not here, and would never let it go on.
    RhpTrapThreads &= ~core::kTrapForStop;
    threads_may_run.set();
  }
  standing_threads.forget();
  after_fork();
}

}  // namespace

pid_t fork_to_read() noexcept {
  only_reads = true;
  pid_t child = fork();
  if (child != 0) only_reads = false;
  return child;
}

bool watch_forks() noexcept { return pthread_atfork(before_fork, after_fork, in_child) == 0; }

}  // namespace freehold::runtime
