// Calls in which the kernel writes to memory of the program. Where a write to a span that is being meshed would fail (EFAULT), they say which addresses they
// hand to the kernel, and no span with one of these is meshed until they return (WriteBarrier). Where writers wait in the kernel they only pass on.
//
// Retrying after EFAULT would not do: a datagram, a child's status or a signal may be lost by then.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "announcement.h"
#include "forks.h"

using namespace freehold::mesh;

CALL(ssize_t, read, (int f, void* b, size_t n), (f, b, n), b)
CALL(ssize_t, pread, (int f, void* b, size_t n, off_t o), (f, b, n, o), b)
CALL(ssize_t, pread64, (int f, void* b, size_t n, off_t o), (f, b, n, o), b)
CALL(ssize_t, __read_chk, (int f, void* b, size_t n, size_t s), (f, b, n, s), b)
CALL(ssize_t, __pread_chk, (int f, void* b, size_t n, off_t o, size_t s), (f, b, n, o, s), b)
CALL(ssize_t, __pread64_chk, (int f, void* b, size_t n, off_t o, size_t s), (f, b, n, o, s), b)
CALL(size_t, fread, (void* b, size_t s, size_t n, void* f), (b, s, n, f), b)
CALL(size_t, fread_unlocked, (void* b, size_t s, size_t n, void* f), (b, s, n, f), b)
CALL(size_t, __fread_chk, (void* b, size_t z, size_t s, size_t n, void* f), (b, z, s, n, f), b)
CALL(size_t, __fread_unlocked_chk, (void* b, size_t z, size_t s, size_t n, void* f), (b, z, s, n, f), b)
CALL(ssize_t, recv, (int f, void* b, size_t n, int l), (f, b, n, l), b)
CALL(ssize_t, __recv_chk, (int f, void* b, size_t n, size_t s, int l), (f, b, n, s, l), b)
CALL(ssize_t, recvfrom, (int f, void* b, size_t n, int l, void* a, socklen_t* c), (f, b, n, l, a, c), b, a, c)
CALL(ssize_t, __recvfrom_chk, (int f, void* b, size_t n, size_t s, int l, void* a, socklen_t* c), (f, b, n, s, l, a, c), b, a, c)
CALL(ssize_t, getdents64, (int f, void* b, size_t n), (f, b, n), b)
CALL(ssize_t, getrandom, (void* b, size_t n, unsigned l), (b, n, l), b)
CALL(int, getentropy, (void* b, size_t n), (b, n), b)
CALL(ssize_t, readlink, (const char* p, char* b, size_t n), (p, b, n), b)
CALL(ssize_t, readlinkat, (int f, const char* p, char* b, size_t n), (f, p, b, n), b)
CALL(ssize_t, __readlink_chk, (const char* p, char* b, size_t n, size_t s), (p, b, n, s), b)
CALL(ssize_t, __readlinkat_chk, (int f, const char* p, char* b, size_t n, size_t s), (f, p, b, n, s), b)
CALL(char*, getcwd, (char* b, size_t n), (b, n), b)
CALL(int, stat, (const char* p, void* b), (p, b), b)
CALL(int, stat64, (const char* p, void* b), (p, b), b)
CALL(int, lstat, (const char* p, void* b), (p, b), b)
CALL(int, lstat64, (const char* p, void* b), (p, b), b)
CALL(int, fstat, (int f, void* b), (f, b), b)
CALL(int, fstat64, (int f, void* b), (f, b), b)
CALL(int, fstatat, (int d, const char* p, void* b, int l), (d, p, b, l), b)
CALL(int, fstatat64, (int d, const char* p, void* b, int l), (d, p, b, l), b)
CALL(int, __xstat, (int v, const char* p, void* b), (v, p, b), b)
CALL(int, __xstat64, (int v, const char* p, void* b), (v, p, b), b)
CALL(int, __lxstat, (int v, const char* p, void* b), (v, p, b), b)
CALL(int, __lxstat64, (int v, const char* p, void* b), (v, p, b), b)
CALL(int, __fxstat, (int v, int f, void* b), (v, f, b), b)
CALL(int, __fxstat64, (int v, int f, void* b), (v, f, b), b)
CALL(int, __fxstatat, (int v, int d, const char* p, void* b, int l), (v, d, p, b, l), b)
CALL(int, __fxstatat64, (int v, int d, const char* p, void* b, int l), (v, d, p, b, l), b)
CALL(int, statx, (int d, const char* p, int l, unsigned m, void* b), (d, p, l, m, b), b)
CALL(int, statfs, (const char* p, void* b), (p, b), b)
CALL(int, statfs64, (const char* p, void* b), (p, b), b)
CALL(int, fstatfs, (int f, void* b), (f, b), b)
CALL(int, fstatfs64, (int f, void* b), (f, b), b)
CALL(ssize_t, getxattr, (const char* p, const char* k, void* b, size_t n), (p, k, b, n), b)
CALL(ssize_t, lgetxattr, (const char* p, const char* k, void* b, size_t n), (p, k, b, n), b)
CALL(ssize_t, fgetxattr, (int f, const char* k, void* b, size_t n), (f, k, b, n), b)
CALL(ssize_t, listxattr, (const char* p, char* b, size_t n), (p, b, n), b)
CALL(ssize_t, llistxattr, (const char* p, char* b, size_t n), (p, b, n), b)
CALL(ssize_t, flistxattr, (int f, char* b, size_t n), (f, b, n), b)
CALL(int, epoll_wait, (int f, epoll_event* e, int n, int t), (f, e, n, t), e)
CALL(int, poll, (pollfd * p, nfds_t n, int t), (p, n, t), p)
CALL(int, __poll_chk, (pollfd * p, nfds_t n, int t, size_t s), (p, n, t, s), p)
CALL(int, select, (int n, void* r, void* w, void* x, void* t), (n, r, w, x, t), r, w, x, t)
CALL(int, accept, (int f, void* a, socklen_t* n), (f, a, n), a, n)
CALL(int, accept4, (int f, void* a, socklen_t* n, int l), (f, a, n, l), a, n)
CALL(int, getsockname, (int f, void* a, socklen_t* n), (f, a, n), a, n)
CALL(int, getpeername, (int f, void* a, socklen_t* n), (f, a, n), a, n)
CALL(int, getsockopt, (int f, int l, int o, void* v, socklen_t* n), (f, l, o, v, n), v, n)
CALL(int, pipe, (int* p), (p), p)
CALL(int, pipe2, (int* p, int l), (p, l), p)
CALL(int, socketpair, (int d, int t, int p, int* f), (d, t, p, f), f)
CALL(pid_t, waitpid, (pid_t p, int* s, int l), (p, s, l), s)
CALL(pid_t, wait, (int* s), (s), s)
CALL(pid_t, wait3, (int* s, int l, void* u), (s, l, u), s, u)
CALL(pid_t, wait4, (pid_t p, int* s, int l, void* u), (p, s, l, u), s, u)
CALL(int, waitid, (idtype_t t, id_t i, void* s, int l), (t, i, s, l), s)
CALL(int, uname, (void* b), (b), b)
CALL(int, sysinfo, (void* b), (b), b)
CALL(int, getrusage, (int w, void* b), (w, b), b)
CALL(int, getrlimit, (int r, void* b), (r, b), b)
CALL(int, getrlimit64, (int r, void* b), (r, b), b)
CALL(int, prlimit, (pid_t p, int r, const void* n, void* o), (p, r, n, o), o)
CALL(int, prlimit64, (pid_t p, int r, const void* n, void* o), (p, r, n, o), o)
CALL(clock_t, times, (void* b), (b), b)
CALL(int, nanosleep, (const void* t, void* r), (t, r), r)
CALL(int, clock_nanosleep, (clockid_t c, int l, const void* t, void* r), (c, l, t, r), r)
CALL(int, sigaltstack, (const void* n, void* o), (n, o), o)
CALL(int, sigpending, (void* s), (s), s)
CALL(int, sigwait, (const void* s, int* n), (s, n), n)
CALL(int, sigwaitinfo, (const void* s, void* i), (s, i), i)
CALL(int, sigtimedwait, (const void* s, void* i, const void* t), (s, i, t), i)
CALL(int, timer_gettime, (timer_t t, void* v), (t, v), v)
CALL(int, timer_settime, (timer_t t, int l, const void* n, void* o), (t, l, n, o), o)
CALL(int, timerfd_gettime, (int f, void* v), (f, v), v)
CALL(int, timerfd_settime, (int f, int l, const void* n, void* o), (f, l, n, o), o)
CALL(int, getitimer, (int w, void* v), (w, v), v)
CALL(int, setitimer, (int w, const void* n, void* o), (w, n, o), o)
CALL(int, sched_getaffinity, (pid_t p, size_t n, void* m), (p, n, m), m)
CALL(int, sched_getparam, (pid_t p, void* b), (p, b), b)
CALL(int, getgroups, (int n, void* g), (n, g), g)
CALL(int, getresuid, (void* a, void* b, void* c), (a, b, c), a, b, c)
CALL(int, getresgid, (void* a, void* b, void* c), (a, b, c), a, b, c)
CALL(ssize_t, msgrcv, (int q, void* m, size_t n, long t, int l), (q, m, n, t, l), m)
CALL(ssize_t, copy_file_range, (int f, void* a, int t, void* b, size_t n, unsigned l), (f, a, t, b, n, l), a, b)
CALL(ssize_t, sendfile, (int o, int i, void* p, size_t n), (o, i, p, n), p)
CALL(ssize_t, sendfile64, (int o, int i, void* p, size_t n), (o, i, p, n), p)
CALL(ssize_t, splice, (int f, void* a, int t, void* b, size_t n, unsigned l), (f, a, t, b, n, l), a, b)
CALL(int, eventfd_read, (int f, void* v), (f, v), v)
CALL(int, ioctl, (int f, unsigned long r, void* a), (f, r, a), a)
CALL(int, prctl, (int o, void* a, void* b, void* c, void* d), (o, a, b, c, d), a, b, c, d)

NAMED(long, syscall, (long n, void* a, void* b, void* c, void* d, void* e, void* f)) {
  NEXT(long, syscall, (long, void*, void*, void*, void*, void*, void*));
  if (copies_process(n, a)) {
    bool prepared = prepare_bare_fork();
    long result = next(n, a, b, c, d, e, f);
    if (prepared) end_bare_fork(result);
    return result;
  }
  // Shared futexes are known by their frame, which a mesh or a fork changes. Memory of malloc belongs to one process: each object has one address, so the address does as well. std::future of
  // libstdc++ is such a futex.
  if (n == SYS_futex && heap.arena.contains(a)) b = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(b) | FUTEX_PRIVATE_FLAG);
  Announcement announcement({a, b, c, d, e, f});
  announcement.publish();
  return next(n, a, b, c, d, e, f);
}

#define VECTOR_CALL(result, name, parameters, arguments) \
  NAMED(result, name, parameters) {                      \
    NEXT(result, name, parameters);                      \
    Announcement announcement({});                       \
    announcement.add(v, n);                              \
    announcement.publish();                              \
    return next arguments;                               \
  }

VECTOR_CALL(ssize_t, readv, (int f, const iovec* v, int n), (f, v, n))
VECTOR_CALL(ssize_t, preadv, (int f, const iovec* v, int n, off_t o), (f, v, n, o))
VECTOR_CALL(ssize_t, preadv64, (int f, const iovec* v, int n, off_t o), (f, v, n, o))
VECTOR_CALL(ssize_t, preadv2, (int f, const iovec* v, int n, off_t o, int l), (f, v, n, o, l))
VECTOR_CALL(ssize_t, preadv64v2, (int f, const iovec* v, int n, off_t o, int l), (f, v, n, o, l))

NAMED(ssize_t, recvmsg, (int f, msghdr* m, int l)) {
  NEXT(ssize_t, recvmsg, (int, msghdr*, int));
  Announcement announcement({});
  announcement.add(m);
  announcement.publish();
  return next(f, m, l);
}

NAMED(int, recvmmsg, (int f, mmsghdr* m, unsigned n, int l, void* t)) {
  NEXT(int, recvmmsg, (int, mmsghdr*, unsigned, int, void*));
  Announcement announcement({m, t});
  for (unsigned i = 0; i < n; i++) announcement.add(&m[i].msg_hdr);
  announcement.publish();
  return next(f, m, n, l, t);
}

NAMED(ssize_t, process_vm_readv, (pid_t p, const iovec* v, unsigned long n, const iovec* r, unsigned long c, unsigned long l)) {
  NEXT(ssize_t, process_vm_readv, (pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long));
  Announcement announcement({});
  announcement.add(v, static_cast<int>(n));
  announcement.publish();
  return next(p, v, n, r, c, l);
}

// Programs close descriptors that they did not open, up to some number, as they become daemons. Ours stay: to them they are not there.
NAMED(int, close, (int f)) {
  NEXT(int, close, (int));
  if (f >= 0 && (f == heap.arena.file() || f == heap.barrier.descriptor())) {
    errno = EBADF;
    return -1;
  }
  return next(f);
}

NAMED(int, close_range, (unsigned first, unsigned last, int flags)) {
  NEXT(int, close_range, (unsigned, unsigned, int));
  int file = heap.arena.file(), watcher = heap.barrier.descriptor();
  int result = 0;
  for (int kept : {file < watcher ? file : watcher, file < watcher ? watcher : file}) {
    auto number = static_cast<unsigned>(kept);
    if (kept < 0 || number < first || number > last) continue;
    if (number > first) result |= next(first, number - 1, flags);
    if (number == last) return result;
    first = number + 1;
  }
  return result | next(first, last, flags);
}

NAMED(void, closefrom, (int low)) { interposed_close_range(low < 0 ? 0 : static_cast<unsigned>(low), ~0u, 0); }
