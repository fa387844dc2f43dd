#include "runtime/heap_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/module_state.h"
#include "diag/diagnostic_socket.h"
#include "diag/heap_dump.h"
#include "heap/phases.h"
#include "heap/walk.h"
#include "os/growing_memory.h"
#include "runtime/frozen_segments.h"
#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"

namespace freehold::runtime {

namespace {

constexpr uint32_t kOldest = 2;

// Of the thread of requests, and in the child of that one thread.
struct State {
  diag::DumpStream stream;
  diag::DumpCounts counts;
  int socket = 0;  // 0: no dump is under way
  os::GrowingMemory types{diag::DumpedTypes::kMost * sizeof(void*), size_t{64} << 10};

  void release() noexcept { types.release(); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

struct DumpScan : ScanContext {
  diag::RootDumped fn;
  void* argument;
};

bool is_thread_static(const Thread* thread, void** slot) noexcept {
  if (static_cast<const void*>(slot) == &thread->thread_statics) return true;
  for (const ThreadStaticRoot* root = thread->thread_static_roots; root != nullptr; root = root->next)
    if (static_cast<const void*>(slot) == &root->object) return true;
  return false;
}

void report_thread_root(void** slot, ScanContext* context, uint32_t flags) noexcept {
  constexpr uint32_t kInterior = 1;
  if (slot == nullptr || *slot == nullptr) return;
  auto* scan = static_cast<DumpScan*>(context);
  bool is_static = false;
  for (const Thread* thread = *runtime_instance()->threads; thread != nullptr && !is_static; thread = thread->next) is_static = is_thread_static(thread, slot);
  scan->fn(is_static ? diag::DumpedRoot::kThreadStatic : diag::DumpedRoot::kStack, context->thread == nullptr ? 0 : context->thread->thread_id,
           reinterpret_cast<uintptr_t>(*slot), (flags & kInterior) != 0, scan->argument);
}

void report_handle(void** handle, ScanContext* context, uint32_t) noexcept {
  uint32_t type = handle_type(handle);
  if (*handle == nullptr || is_weak_handle(type)) return;
  auto* scan = static_cast<DumpScan*>(context);
  // Whether native code counts references to it is managed code's to say, which runs in no snapshot.
  scan->fn(type == kRefCounted ? diag::DumpedRoot::kCountedHandle : diag::DumpedRoot::kHandle, 0, reinterpret_cast<uintptr_t>(*handle), false, scan->argument);
}

void report_pinned_handle(void** handle, ScanContext* context, uint32_t) noexcept {
  auto* scan = static_cast<DumpScan*>(context);
  if (*handle != nullptr) scan->fn(diag::DumpedRoot::kPinnedHandle, 0, reinterpret_cast<uintptr_t>(*handle), false, scan->argument);
}

void for_each_dumped_root(diag::RootDumped fn, void* argument) noexcept {
  DumpScan scan = {};
  scan.promotion = true;
  scan.fn = fn;
  scan.argument = argument;
  scan_roots(report_thread_root, 0, 0, &scan);
  scan.thread = nullptr;
  scan.thread_count = 1;
  scan_handles(kOldest, kOldest, &scan, report_handle);
  scan_pinning_handles(kOldest, kOldest, &scan, report_pinned_handle);
}

constexpr diag::DumpSupport kSupport = {
    getppid, for_each_dumped_root, [](diag::DependentDumped fn, void* argument) { root_support.for_each_dependent(fn, argument); }, for_each_frozen_segment};

// What the child tells the parent when it is through; the types follow.
struct Done {
  uint64_t magic;
  diag::DumpCounts counts;
};
constexpr uint64_t kDone = 0x454e4f44504d5544;

struct Dump {
  diag::DumpStream& stream;
  diag::DumpedTypes& types;
  Done done;
  bool complete;
};

void write_stopped(void* argument) noexcept {
  auto& dump = *static_cast<Dump*>(argument);
  heap::MaintenancePause pause;
  heap::set_threads_stopped(true);
  dump.complete = diag::write_heap(dump.stream, kSupport, dump.types, &dump.done.counts);
  heap::set_threads_stopped(false);
}

bool write_all(int descriptor, const void* bytes, size_t size) noexcept {
  for (const auto* next = static_cast<const char*>(bytes); size != 0;) {
    ssize_t written = write(descriptor, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Clients of the program wait for the end of their connections, and who signals the program means that one. Standard error stays, for what the heap says when it must end.
void keep_only(int one, int other) noexcept {
  sigset_t all;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigdelset(&all, signal);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  int low = one < other ? one : other, high = one < other ? other : one;
  auto close_between = [](int first, int last) noexcept {
    if (first > last) return;
    if (syscall(SYS_close_range, first, last, 0) == 0) return;
    // Before Linux 5.9.
    constexpr int kMost = 1 << 16;
    for (int descriptor = first; descriptor <= last && descriptor < kMost; descriptor++) close(descriptor);
  };
  close_between(0, STDERR_FILENO - 1);
  close_between(STDERR_FILENO + 1, low - 1);
  close_between(low + 1, high - 1);
  close_between(high + 1, INT32_MAX);
}

[[noreturn]] void dump_in_child(int socket, int result, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  keep_only(socket, result);
  diag::Frame frame = {{}, diag::kProtocolVersion, static_cast<uint16_t>(diag::Status::kDone), diag::kStreamed};
  memcpy(frame.magic, diag::kMagic, sizeof frame.magic);
  state.stream.raw(&frame, sizeof frame);
  diag::DumpedTypes types;
  Dump dump = {state.stream, types, {kDone, {}}, false};
  {
    heap::PromotionPause pause;
    if (!root_support.stop(write_stopped, &dump)) _exit(1);
  }
  bool told = dump.complete && write_all(result, &dump.done, sizeof dump.done) && write_all(result, types.types(), types.count() * sizeof(void*));
  _exit(told ? 0 : 1);
}

// Until the child has told all, or is not there any more: another child of a fork may have the other end of the pipe, so that there is no end to be waited for.
bool read_all(int descriptor, pid_t child, bool* ended, void* bytes, size_t size) noexcept {
  constexpr int kMilliseconds = 100;
  for (auto* next = static_cast<char*>(bytes); size != 0;) {
    pollfd pipe = {descriptor, POLLIN, 0};
    if (poll(&pipe, 1, kMilliseconds) > 0) {
      ssize_t got = read(descriptor, next, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      size -= static_cast<size_t>(got);
    } else if (*ended) {
      return false;
    } else {
      // Perhaps somebody else has waited for it, who waits for all children of the program.
      pid_t waited = waitpid(child, nullptr, WNOHANG);
      *ended = waited == child || (waited < 0 && errno == ECHILD);
    }
  }
  return true;
}

bool read_result(int descriptor, pid_t child, bool* ended) noexcept {
  Done done;
  if (!read_all(descriptor, child, ended, &done, sizeof done) || done.magic != kDone || done.counts.types >= diag::DumpedTypes::kMost) return false;
  size_t size = done.counts.types * sizeof(void*);
  state.counts = done.counts;
  return (state.types.start() != nullptr || state.types.reserve()) && state.types.reach(size) && read_all(descriptor, child, ended, state.types.start(), size);
}

}  // namespace

int32_t dump_heap(const void* const** types, char* reason, size_t capacity) noexcept {
  auto fails = [&](const char* what) noexcept {
    snprintf(reason, capacity, "%s: %s.", what, strerror(errno));
    return -1;
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fails("The process has no descriptors for a dump");
  int socket = diag::answering_socket();
  if (socket < 0) {
    close(ends[0]);
    close(ends[1]);
    return fails("The process has no descriptors for a dump");
  }
  state.stream.begin(socket, diag::kTimeToTake);
  pid_t parent = getpid(), child = fork();
  if (child == 0) dump_in_child(socket, ends[1], parent);
  int failure = errno;
  close(ends[1]);
  bool ended = false, complete = child > 0 && read_result(ends[0], child, &ended);
  close(ends[0]);
  while (child > 0 && !ended && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
  if (complete) {
    state.socket = socket;
    *types = reinterpret_cast<const void* const*>(state.types.start());
    return static_cast<int32_t>(state.counts.types);
  }
  close(socket);
  if (child > 0) return -2;
  errno = failure;
  return fails("The process cannot fork, and a child of it takes the dump");
}

void end_dump(const char* names, size_t length) noexcept {
  if (state.socket > 0) {
    if (names != nullptr) {
      for (const char *next = names, *end = names + length; next < end;) {
        size_t size = strnlen(next, static_cast<size_t>(end - next));
        diag::write_type_name(state.stream, next, size);
        next += size + 1;
      }
      diag::write_end(state.stream, state.counts);
    }
    close(state.socket);
    state.socket = 0;
  }
  diag::end_answer();
}

}  // namespace freehold::runtime
