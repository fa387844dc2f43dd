#include "runtime/heap_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/module_state.h"
#include "diag/diagnostic_socket.h"
#include "diag/heap_dump.h"
#include "heap/phases.h"
#include "heap/walk.h"
#include "os/growing_memory.h"
#include "os/meshing.h"
#include "runtime/fork.h"
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
  bool waits_for_names = false;  // all else is written
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
  bool is_static = context->thread != nullptr && is_thread_static(context->thread, slot);
  if (context->thread == nullptr) {
    for (const Thread* thread = *runtime_instance()->threads; thread != nullptr && !is_static; thread = thread->next)
      is_static = is_thread_static(thread, slot);
  }
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

// What the child tells the parent: that it has begun to write to the client, then how it went; the types follow.
constexpr uint64_t kBegun = 0x4e55474542504d44, kDone = 0x454e4f44504d5544;
struct Done {
  uint64_t magic;
  diag::DumpCounts counts;
};
// Why it has not begun.
enum Exit : int { kComplete = 0, kCutOff = 1, kNoMemory = 2, kCannotStop = 3 };

struct Dump {
  diag::DumpStream& stream;
  diag::DumpedTypes& types;
  Done done;
  int result;
  bool complete;
};

bool write_all(int descriptor, const void* bytes, size_t size) noexcept;

void write_stopped(void* argument) noexcept {
  auto& dump = *static_cast<Dump*>(argument);
  heap::MaintenancePause pause;
  heap::set_threads_stopped(true);
  uint64_t begun = kBegun;
  diag::Frame frame = {{}, diag::kProtocolVersion, static_cast<uint16_t>(diag::Status::kDone), diag::kStreamed};
  memcpy(frame.magic, diag::kMagic, sizeof frame.magic);
  if (write_all(dump.result, &begun, sizeof begun)) {
    dump.stream.raw(&frame, sizeof frame);
    dump.complete = diag::write_heap(dump.stream, kSupport, dump.types, &dump.done.counts);
  }
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

// Clients of the program wait for the end of their connections. Standard error stays, for what the heap says when it must end.
void keep_only(int one, int other) noexcept {
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

// A copy of the program must cost it nothing more than pages: where memory is short, it is the copy that the kernel ends, and a crash of it leaves no file with all contents.
void be_expendable() noexcept {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    write_all(file, "1000", 4);
    close(file);
  }
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
}

[[noreturn]] void dump_in_child(int socket, int result, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCutOff);
  keep_only(socket, result);
  be_expendable();  // opens a file, and the program may have no descriptor left
  diag::DumpedTypes types;
  if (!types.has_memory()) _exit(kNoMemory);
  Dump dump = {state.stream, types, {kDone, {}}, result, false};
  {
    heap::PromotionPause pause;
    if (!root_support.stop(write_stopped, &dump)) _exit(kCannotStop);
  }
  bool told = dump.complete && write_all(result, &dump.done, sizeof dump.done) && write_all(result, types.types(), types.count() * sizeof(void*));
  _exit(told ? kComplete : kCutOff);
}

// The child, whose end is waited for once.
struct Child {
  pid_t number;
  bool ended;
  int status;  // as waitpid() says it; 0 where somebody else has waited, who waits for all children of the program

  void look(int options) noexcept {
    if (ended) return;
    pid_t waited = waitpid(number, &status, options);
    ended = waited == number || (waited < 0 && errno == ECHILD);
  }
};

// Until the child has told all, or is not there any more: another child of a fork may have the other end of the pipe, so that there is no end to be waited for.
bool read_all(int descriptor, Child& child, void* bytes, size_t size) noexcept {
  constexpr int kMilliseconds = 100;
  for (auto* next = static_cast<char*>(bytes); size != 0;) {
    pollfd pipe = {descriptor, POLLIN, 0};
    if (poll(&pipe, 1, kMilliseconds) > 0) {
      ssize_t got = read(descriptor, next, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      size -= static_cast<size_t>(got);
    } else if (child.ended) {
      return false;
    } else {
      child.look(WNOHANG);
    }
  }
  return true;
}

bool read_result(int descriptor, Child& child) noexcept {
  Done done;
  if (!read_all(descriptor, child, &done, sizeof done) || done.magic != kDone || done.counts.types >= diag::DumpedTypes::kMost) return false;
  size_t size = done.counts.types * sizeof(void*);
  state.counts = done.counts;
  return (state.types.start() != nullptr || state.types.reserve()) && state.types.reach(size) && read_all(descriptor, child, state.types.start(), size);
}

// A pipe above the standard streams: a program may have closed those, and the child keeps standard error.
bool make_pipe(int* ends) noexcept {
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; i++) ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int failure = errno;
  for (int end : low) close(end);
  if (ends[0] >= 0 && ends[1] >= 0) return true;
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0) close(ends[i]);
  errno = failure;
  return false;
}

// Signals that are sent to the program, or to its group, are not for the child, nor for handlers that run in it.
pid_t fork_without_signals() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigdelset(&all, signal);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork_to_read();
  int failure = errno;
  if (child != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failure;
  return child;
}

void describe_end(const Child& child, char* reason, size_t capacity) noexcept {
  if (WIFSIGNALED(child.status)) {
    snprintf(reason, capacity, "The child of the process that takes the dump was ended by signal %d%s.", WTERMSIG(child.status),
             WTERMSIG(child.status) == SIGKILL ? ": memory may be short" : "");
  } else if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == kNoMemory) {
    snprintf(reason, capacity, "There is no memory for the table of types that a dump needs: 8 MB.");
  } else {
    snprintf(reason, capacity, "The child of the process that takes the dump has ended before it began.");
  }
}

}  // namespace

int32_t dump_heap(bool anyway, const void* const** types, char* reason, size_t capacity) noexcept {
  auto fails = [&](const char* what) noexcept {
    snprintf(reason, capacity, "%s: %s.", what, strerror(errno));
    return -1;
  };
  if (os::has_meshing_malloc() && !anyway) {
    // src/NativeBridge/Meshing/forks.cpp.
    snprintf(reason, capacity,
             "The process has the meshing malloc, and a fork, which a dump needs, ends the meshing of all native memory that it has until now. 'freehold dump "
             "--anyway' takes it all the same.");
    return -1;
  }
  int ends[2];
  if (!make_pipe(ends)) return fails("The process has no descriptors for a dump");
  int socket = diag::answering_socket();
  if (socket < 0) {
    for (int end : ends) close(end);
    snprintf(reason, capacity, "The process has no descriptor for a dump.");
    return -1;
  }
  state.stream.begin(socket, diag::kTimeToTake);
  pid_t parent = getpid();
  Child child = {fork_without_signals(), false, 0};
  if (child.number == 0) dump_in_child(socket, ends[1], parent);
  int failure = errno;
  close(ends[1]);
  uint64_t begun = 0;
  bool has_begun = child.number > 0 && read_all(ends[0], child, &begun, sizeof begun) && begun == kBegun;
  state.waits_for_names = has_begun && read_result(ends[0], child);
  close(ends[0]);
  // It may still wait for a client, or for this pipe.
  if (has_begun && !state.waits_for_names && !child.ended) kill(child.number, SIGKILL);
  while (child.number > 0 && !child.ended) child.look(0);
  if (state.waits_for_names) {
    *types = reinterpret_cast<const void* const*>(state.types.start());
    return static_cast<int32_t>(state.counts.types);
  }
  if (has_begun) return -2;
  diag::leave_answering_socket();
  if (child.number > 0) {
    describe_end(child, reason, capacity);
    return -1;
  }
  errno = failure;
  return fails("The process cannot fork, and a child of it takes the dump");
}

void end_dump(const char* names, size_t length) noexcept {
  if (state.waits_for_names && names != nullptr) {
    for (const char *next = names, *end = names + length; next < end;) {
      size_t size = strnlen(next, static_cast<size_t>(end - next));
      diag::write_type_name(state.stream, next, size);
      next += size + 1;
    }
    diag::write_end(state.stream, state.counts);
  }
  state.waits_for_names = false;
  diag::end_answer();
}

}  // namespace freehold::runtime
