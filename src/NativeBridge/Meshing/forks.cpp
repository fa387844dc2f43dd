// Every way in which a program copies the process: parent and child must not share what either writes later (heap.h, before_fork).
#include <dlfcn.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "forks.h"
#include "heap.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace freehold::mesh {

// By the first allocation, and so nearly always before any library's constructor: the handlers registered first run last before a fork, and first after it. What others allocate meanwhile is
// no trouble then. In malloc itself: the list of handlers has room for some without an allocation.
void watch_forks() noexcept {
  static std::atomic<bool> done{false};
  if (!done.exchange(true, std::memory_order_relaxed)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// _Fork and the bare system calls run no handlers. They may be called by a handler of a signal that has interrupted malloc: then the locks are not free, and parent and child share the spans as
// they are. The child of such a call should only exec or end.
bool prepare_bare_fork() noexcept { return try_before_fork(); }

bool copies_process(long number, const void* first) noexcept {
  if (number == SYS_fork) return true;
  if (number == SYS_clone) return (reinterpret_cast<uintptr_t>(first) & CLONE_VM) == 0;
  return number == SYS_clone3 && first != nullptr && (static_cast<const clone_args*>(first)->flags & CLONE_VM) == 0;
}

void end_bare_fork(long result) noexcept {
  if (result == 0) after_fork_in_child();
  else after_fork_in_parent(result > 0);
}

}  // namespace freehold::mesh

using namespace freehold::mesh;

EXPORTED pid_t _Fork() {
  static auto* next = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "_Fork"));
  bool prepared = prepare_bare_fork();
  pid_t result = next();
  if (prepared) end_bare_fork(result);
  return result;
}

namespace {

struct Started {
  int (*function)(void*);
  void* argument;
};

int start_child(void* started) {
  Started child = *static_cast<Started*>(started);
  after_fork_in_child();
  return child.function(child.argument);
}

}  // namespace

EXPORTED int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) {
  using Clone = int (*)(int (*)(void*), void*, int, void*, ...);
  static auto* next = reinterpret_cast<Clone>(dlsym(RTLD_NEXT, "clone"));
  va_list rest;
  va_start(rest, argument);
  void *parent = va_arg(rest, void*), *tls = va_arg(rest, void*), *child = va_arg(rest, void*);
  va_end(rest);
  if ((flags & CLONE_VM) != 0 || !prepare_bare_fork()) return next(function, stack, flags, argument, parent, tls, child);
  Started started = {function, argument};  // the child has a copy of this frame
  int result = next(start_child, stack, flags, &started, parent, tls, child);
  after_fork_in_parent(result > 0);
  return result;
}
