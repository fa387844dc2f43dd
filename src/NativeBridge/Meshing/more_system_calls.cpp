// The rest of the class of system_calls.cpp: calls that programs seldom make, those whose buffers only the C library knows, and direct I/O.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "Platform/system_call.h"
#include "announcement.h"

using namespace freehold::mesh;

namespace freehold::mesh {

std::atomic<ClockGettime> real_clock_gettime{nullptr};
void look_up_functions() noexcept { real_clock_gettime.store(reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime")), std::memory_order_relaxed); }

}  // namespace freehold::mesh

struct MessageOfKernel {
  msghdr header;
  unsigned length;
};

CALL(int, clock_getres, (clockid_t c, void* t), (c, t), t)
CALL(int, adjtimex, (void* t), (t), t)
CALL(int, ntp_adjtime, (void* t), (t), t)
CALL(int, clock_adjtime, (clockid_t c, void* t), (c, t), t)
CALL(int, getcpu, (unsigned* c, unsigned* n), (c, n), c, n)
CALL(int, sched_rr_get_interval, (pid_t p, void* t), (p, t), t)
CALL(int, pthread_getaffinity_np, (pthread_t t, size_t n, void* m), (t, n, m), m)
CALL(int, pthread_getname_np, (pthread_t t, char* b, size_t n), (t, b, n), b)
CALL(int, ttyname_r, (int f, char* b, size_t n), (f, b, n), b)
CALL(int, __ttyname_r_chk, (int f, char* b, size_t n, size_t s), (f, b, n, s), b)
CALL(char*, getwd, (char* b), (b), b)
CALL(ssize_t, mq_receive, (int q, char* b, size_t n, unsigned* p), (q, b, n, p), b, p)
CALL(ssize_t, mq_timedreceive, (int q, char* b, size_t n, unsigned* p, const void* t), (q, b, n, p, t), b, p)
CALL(int, mq_getattr, (int q, void* a), (q, a), a)
CALL(int, mq_setattr, (int q, const void* n, void* a), (q, n, a), a)
CALL(int, msgctl, (int q, int c, void* b), (q, c, b), b)
CALL(int, shmctl, (int s, int c, void* b), (s, c, b), b)
CALL(int, semctl, (int s, int n, int c, void* a), (s, n, c, a), a)
CALL(int, sendmmsg, (int f, void* m, unsigned n, int l), (f, m, n, l), m, n != 0 ? static_cast<MessageOfKernel*>(m) + (n - 1) : m)
CALL(int, name_to_handle_at, (int d, const char* p, void* h, int* m, int l), (d, p, h, m, l), h, m)
CALL(int, arch_prctl, (int c, void* a), (c, a), a)
CALL(int, modify_ldt, (int f, void* b, unsigned long n), (f, b, n), b)
CALL(int, capget, (void* h, void* d), (h, d), h, d)
CALL(int, klogctl, (int t, char* b, int n), (t, b, n), b)
CALL(int, quotactl, (int c, const char* s, int i, void* a), (c, s, i, a), a)
CALL(int, mincore, (void* a, size_t n, unsigned char* v), (a, n, v), v)
CALL(long, ptrace, (long r, void* p, void* a, void* d), (r, p, a, d), a, d)
CALL(int, posix_spawn, (pid_t * p, const char* f, const void* x, const void* a, char* const* v, char* const* e), (p, f, x, a, v, e), p)
CALL(int, posix_spawnp, (pid_t * p, const char* f, const void* x, const void* a, char* const* v, char* const* e), (p, f, x, a, v, e), p)

NAMED(ssize_t, vmsplice, (int f, const iovec* v, size_t n, unsigned l)) {
  NEXT(ssize_t, vmsplice, (int, const iovec*, size_t, unsigned));
  Announcement announcement({});
  announcement.add(v, static_cast<int>(n));
  announcement.publish();
  return next(f, v, n, l);
}

// The kernel writes to memory that these functions have allocated, or the caller before them.
QUIET_CALL(int, pthread_getattr_np, (pthread_t t, void* a), (t, a))
QUIET_CALL(char*, get_current_dir_name, (), ())
QUIET_CALL(char*, realpath, (const char* p, char* b), (p, b))
QUIET_CALL(char*, __realpath_chk, (const char* p, char* b, size_t n), (p, b, n))
QUIET_CALL(char*, canonicalize_file_name, (const char* p), (p))
QUIET_CALL(void*, fts_read, (void* f), (f))
QUIET_CALL(void*, fts64_read, (void* f), (f))
QUIET_CALL(void*, fts_children, (void* f, int o), (f, o))
QUIET_CALL(void*, fts64_children, (void* f, int o), (f, o))
QUIET_CALL(void*, fts_open, (char* const* p, int o, void* c), (p, o, c))
QUIET_CALL(void*, fts64_open, (char* const* p, int o, void* c), (p, o, c))
QUIET_CALL(int, getifaddrs, (void** i), (i))
QUIET_CALL(void*, if_nameindex, (), ())

// Direct I/O writes to frames, whatever the page tables say: a transfer into a span that is being meshed would be lost. So from the first file on that is opened for it, calls are announced with every barrier.
// Transfers that end after their call (io_uring, aio) stay out: docs/internals/meshing.md.
namespace {

void note_flags(int flags) noexcept {
  if ((flags & O_DIRECT) != 0) announce_from_now_on();
}

}  // namespace

#define OPENING_CALL(name, parameters, ...)                                                        \
  NAMED(int, name, parameters) {                                                                   \
    static auto* next = reinterpret_cast<int (*)(__VA_ARGS__, unsigned)>(dlsym(RTLD_NEXT, #name)); \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    unsigned mode = va_arg(rest, unsigned);                                                        \
    va_end(rest);                                                                                  \
    note_flags(flags);

OPENING_CALL(open, (const char* path, int flags, ...), const char*, int)
return next(path, flags, mode);
}
OPENING_CALL(open64, (const char* path, int flags, ...), const char*, int)
return next(path, flags, mode);
}
OPENING_CALL(openat, (int folder, const char* path, int flags, ...), int, const char*, int)
return next(folder, path, flags, mode);
}
OPENING_CALL(openat64, (int folder, const char* path, int flags, ...), int, const char*, int)
return next(folder, path, flags, mode);
}

// Those of programs that are built with _FORTIFY_SOURCE: without a mode.
#define CHECKED_OPENING_CALL(name, parameters, arguments) \
  NAMED(int, name, parameters) {                          \
    NEXT(int, name, parameters);                          \
    note_flags(flags);                                    \
    return next arguments;                                \
  }
CHECKED_OPENING_CALL(__open_2, (const char* path, int flags), (path, flags))
CHECKED_OPENING_CALL(__open64_2, (const char* path, int flags), (path, flags))
CHECKED_OPENING_CALL(__openat_2, (int folder, const char* path, int flags), (folder, path, flags))
CHECKED_OPENING_CALL(__openat64_2, (int folder, const char* path, int flags), (folder, path, flags))

NAMED(int, fcntl, (int f, int c, void* a)) {
  NEXT(int, fcntl, (int, int, void*));
  if (c == F_SETFL) note_flags(static_cast<int>(reinterpret_cast<intptr_t>(a)));
  Announcement announcement({a});
  announcement.publish();
  return next(f, c, a);
}
NAMED(int, fcntl64, (int f, int c, void* a)) {
  NEXT(int, fcntl64, (int, int, void*));
  if (c == F_SETFL) note_flags(static_cast<int>(reinterpret_cast<intptr_t>(a)));
  Announcement announcement({a});
  announcement.publish();
  return next(f, c, a);
}

// The clocks of the vDSO are stored by the thread itself. The malloc reads them too, and must not look functions up while it has a lock.
NAMED(int, clock_gettime, (clockid_t clock, void* time)) {
  constexpr uint32_t kInVdso =
      1u << CLOCK_REALTIME | 1u << CLOCK_MONOTONIC | 1u << CLOCK_REALTIME_COARSE | 1u << CLOCK_MONOTONIC_COARSE | 1u << CLOCK_BOOTTIME | 1u << CLOCK_TAI;
  auto* next = real_clock_gettime.load(std::memory_order_relaxed);
  if (next != nullptr && clock >= 0 && clock < 32 && (kInVdso >> clock & 1) != 0) return next(clock, time);
  Announcement announcement({time});
  announcement.publish();
  long result = freehold::os::system_call(SYS_clock_gettime, clock, freehold::os::argument(time));
  if (!freehold::os::is_error(result)) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

// Called by jumps.S with the buffer that the kernel will write a mask to, before the C library's function runs in the frame of its caller. The address stays announced until the thread has announced some more so.
extern "C" __attribute__((visibility("hidden"))) void* freehold_mesh_before_jump(const void* buffer, uint32_t which, uint32_t saves) {
  static constexpr const char* kNames[] = {"__sigsetjmp", "setjmp", "getcontext", "swapcontext"};
  static std::atomic<void*> found[4];
  void* next = found[which].load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = dlsym(RTLD_NEXT, kNames[which]);
    found[which].store(next, std::memory_order_relaxed);
  }
  bool is_span = reinterpret_cast<uintptr_t>(buffer) - heap.arena.start() < heap.arena.meshable_size();
  if (saves != 0 && is_span && heap.barrier.needs_announcements()) {
    if (ThreadLocalHeap* own = own_heap()) heap.barrier.announce_lastingly(*own, buffer);
  }
  return next;
}
