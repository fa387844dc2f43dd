// One thread of this file picks others at random times, among those that run, and sends them SIGSTKFLT. Its handler sleeps: the thread stays at an
// instruction that nobody chose, while rounds and remaps go by.
//
// The signal. Nothing on Linux raises SIGSTKFLT, and it does not queue: a thread that blocks it gets one when it unblocks it. The handler runs on the stack that
// the thread has at the moment, also in another handler (that of faults defers nothing). Only threads are picked that the kernel calls running, since a system
// call that waits would end with EINTR where SA_RESTART does not help (poll, nanosleep); one that was about to wait still may.
//
// Stops. The runtime stops a thread in managed code by SIGRTMIN, whose handler looks at the instruction that it interrupted. A thread that is preempted could not be
// stopped: so SIGRTMIN is blocked while it is preempted, and ends that. It is sent anew and comes when the handler returns, at the very instruction.
#include "runtime/preemption.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "core/stress.h"
#include "heap/background_thread.h"
#include "os/kernel.h"

namespace freehold::runtime {

namespace {

pid_t thread_id() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }
void send(pid_t thread, int signal) noexcept { syscall(SYS_tgkill, getpid(), thread, signal); }

void handle_preemption(int) noexcept {
  int saved = errno;
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGRTMIN);
  uint64_t end = os::nanoseconds() + uint64_t{core::next_random() % core::knobs.stress.preempt} * 1000;
  for (uint64_t now; (now = os::nanoseconds()) < end;) {
    timespec left = {static_cast<time_t>((end - now) / 1'000'000'000), static_cast<long>((end - now) % 1'000'000'000)};
    if (sigtimedwait(&stop, nullptr, &left) != SIGRTMIN) continue;
    send(thread_id(), SIGRTMIN);
    break;
  }
  errno = saved;
}

// The state that the kernel shows of a thread, behind its name in brackets, which may hold any character but ends with the last of them.
bool runs(pid_t thread) noexcept {
  char path[64], text[256] = {};
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  for (ssize_t i = length - 1; i > 0; i--) {
    if (text[i] == ')') return text[i + 1] == ' ' && text[i + 2] == 'R';
  }
  return false;
}

// One of the threads that run, each as likely; 0 when only this one does.
pid_t pick_thread(DIR* threads) noexcept {
  pid_t self = thread_id(), picked = 0;
  uint32_t count = 0;
  rewinddir(threads);
  while (dirent* entry = readdir(threads)) {
    auto thread = static_cast<pid_t>(atoi(entry->d_name));
    if (thread > 0 && thread != self && runs(thread) && core::next_random() % ++count == 0) picked = thread;
  }
  return picked;
}

void* preempt_for_ever(void*) noexcept {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) os::fail_fast("FREEHOLD_STRESS=preempt needs /proc, which cannot be read.", "Mount it, or leave the mode out.");
  while (true) {
    os::pause(core::next_random() % core::knobs.stress.preempt);
    if (pid_t thread = pick_thread(threads); thread != 0) send(thread, heap::kPreemptionSignal);
  }
}

}  // namespace

void preempt_at_random() noexcept {
  int saved = errno;
  os::pause(core::next_random() % core::knobs.stress.preempt);
  errno = saved;
}

bool start_preemption() noexcept {
  struct sigaction action = {};
  action.sa_handler = handle_preemption;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGRTMIN);
  return sigaction(heap::kPreemptionSignal, &action, nullptr) == 0 && heap::start_background_thread("Freehold delays", preempt_for_ever);
}

}  // namespace freehold::runtime
