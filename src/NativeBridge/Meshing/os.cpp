#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

namespace freehold::mesh::os {
namespace {

// The kernel's answer, negative for an error; errno stays as it is: free must not change it.
long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

long of(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }
bool is_error(long result) noexcept { return result < 0 && result > -4096; }

constexpr const char* kNames[kCallCount] = {"memfd", "mmap", "mprotect", "mremap", "madvise", "userfaultfd", "register", "writeprotect", "membarrier"};

struct Injection {
  std::atomic<uint64_t> calls{0};  // counted by every thread
  std::atomic<uint64_t> fails{0};  // which one fails, 0 = none; set before threads start, or by a test
  std::atomic<bool> onwards{false};
};
Injection injections[kCallCount];

bool fails(Call call) noexcept {
  Injection& injection = injections[static_cast<size_t>(call)];
  uint64_t number = injection.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  uint64_t failing = injection.fails.load(std::memory_order_relaxed);
  return failing != 0 && (number == failing || (number > failing && injection.onwards.load(std::memory_order_relaxed)));
}

long map(void* start, size_t size, int protection, int flags, int descriptor, size_t offset) noexcept {
  if (fails(Call::kMmap)) return -ENOMEM;
  return call(SYS_mmap, of(start), static_cast<long>(size), protection, flags, descriptor, static_cast<long>(offset));
}

bool advise(void* start, size_t size, int advice) noexcept {
  return !fails(Call::kMadvise) && call(SYS_madvise, of(start), static_cast<long>(size), advice) == 0;
}

// Out of the way of programs that count on low numbers or close all up to some small one.
int move_up(int descriptor) noexcept {
  rlimit limit = {};
  call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, of(&limit));
  long least = limit.rlim_cur > 4096 ? 3000 : static_cast<long>(limit.rlim_cur) * 3 / 4;
  long moved = call(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, least);
  if (is_error(moved)) return descriptor;
  call(SYS_close, descriptor);
  return static_cast<int>(moved);
}

struct Identity {
  dev_t device;
  ino_t inode;
};
Identity memory_identity;  // of the newest file; written with the arena's lock held or before threads start

bool identify(int descriptor, Identity* identity) noexcept {
  struct stat status;
  if (call(SYS_fstat, descriptor, of(&status)) != 0) return false;
  *identity = {status.st_dev, status.st_ino};
  return true;
}

}  // namespace

int create_memory(size_t size) noexcept {
  if (fails(Call::kMemfd)) return -1;
  long descriptor = call(SYS_memfd_create, of("freehold-mesh"), MFD_CLOEXEC);
  if (is_error(descriptor)) return -1;
  descriptor = move_up(static_cast<int>(descriptor));
  if (call(SYS_ftruncate, descriptor, static_cast<long>(size)) != 0 || !identify(static_cast<int>(descriptor), &memory_identity)) {
    call(SYS_close, descriptor);
    return -1;
  }
  return static_cast<int>(descriptor);
}

bool is_memory(int descriptor) noexcept {
  Identity identity;
  return descriptor >= 0 && identify(descriptor, &identity) && identity.device == memory_identity.device && identity.inode == memory_identity.inode;
}

void close(int descriptor) noexcept { call(SYS_close, descriptor); }

void* reserve(size_t size) noexcept {
  long start = map(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return is_error(start) ? nullptr : reinterpret_cast<void*>(start);
}

void unreserve(void* start, size_t size) noexcept { call(SYS_munmap, of(start), static_cast<long>(size)); }

bool map_file(void* start, size_t size, int descriptor, size_t offset, bool shared) noexcept {
  return !is_error(map(start, size, PROT_READ | PROT_WRITE, MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE, descriptor, offset));
}

bool commit(void* start, size_t size) noexcept {
  return !is_error(map(start, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

void* share_page() noexcept {
  long start = map(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return is_error(start) ? nullptr : reinterpret_cast<void*>(start);
}

bool alias(void* from, void* to, size_t size) noexcept {
  if (fails(Call::kMremap)) return false;
  return !is_error(call(SYS_mremap, of(from), 0, static_cast<long>(size), MREMAP_MAYMOVE | MREMAP_FIXED, of(to)));
}

bool move_frames(void* from, void* to, size_t size) noexcept {
  if (fails(Call::kMremap)) return false;
#ifndef MREMAP_DONTUNMAP
  constexpr int MREMAP_DONTUNMAP = 4;
#endif
  long bytes = static_cast<long>(size);
  return !is_error(call(SYS_mremap, of(from), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, of(to)));
}

bool discard(void* start, size_t size) noexcept { return advise(start, size, MADV_DONTNEED); }
bool remove(void* start, size_t size) noexcept { return advise(start, size, MADV_REMOVE); }

void populate(void* start, size_t size) noexcept {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  advise(start, size, MADV_POPULATE_WRITE);
}

void exclude_from_dumps(void* start, size_t size, bool exclude) noexcept { advise(start, size, exclude ? MADV_DONTDUMP : MADV_DODUMP); }
void use_huge_pages(void* start, size_t size) noexcept { advise(start, size, MADV_HUGEPAGE); }

bool protect(void* start, size_t size, bool writable) noexcept {
  // Lifting a protection is never made to fail: there is no way on without it.
  if (!writable && fails(Call::kMprotect)) return false;
  return call(SYS_mprotect, of(start), static_cast<long>(size), PROT_READ | (writable ? PROT_WRITE : 0)) == 0;
}

bool is_mapped(void* start, size_t size) noexcept {
  unsigned char resident[16];
  return call(SYS_mincore, of(start), static_cast<long>(size), of(resident)) == 0;
}

int open_userfaultfd(bool user_mode_only) noexcept {
  if (fails(Call::kUserfaultfd)) return -1;
  long descriptor = call(SYS_userfaultfd, O_CLOEXEC | (user_mode_only ? UFFD_USER_MODE_ONLY : 0));
  if (is_error(descriptor)) return -1;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (call(SYS_ioctl, descriptor, UFFDIO_API, of(&api)) != 0) {
    call(SYS_close, descriptor);
    return -1;
  }
  return move_up(static_cast<int>(descriptor));
}

bool watch(int descriptor, void* start, size_t size) noexcept {
  if (fails(Call::kRegister)) return false;
  uffdio_register range = {};
  range.range = {reinterpret_cast<uintptr_t>(start), size};
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return call(SYS_ioctl, descriptor, UFFDIO_REGISTER, of(&range)) == 0;
}

void unwatch(int descriptor, void* start, size_t size) noexcept {
  uffdio_range range = {reinterpret_cast<uintptr_t>(start), size};
  call(SYS_ioctl, descriptor, UFFDIO_UNREGISTER, of(&range));
}

bool write_protect(int descriptor, void* start, size_t size, bool protect) noexcept {
  if (protect && fails(Call::kWriteProtect)) return false;
  uffdio_writeprotect range = {};
  range.range = {reinterpret_cast<uintptr_t>(start), size};
  range.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  long result;
  do result = call(SYS_ioctl, descriptor, UFFDIO_WRITEPROTECT, of(&range));
  while (result == -EAGAIN);
  return result == 0;
}

void wake(int descriptor, void* start, size_t size) noexcept {
  uffdio_range range = {reinterpret_cast<uintptr_t>(start), size};
  call(SYS_ioctl, descriptor, UFFDIO_WAKE, of(&range));
}

bool register_barrier() noexcept { return !fails(Call::kMembarrier) && call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }
bool barrier_on_all_threads() noexcept { return !fails(Call::kMembarrier) && call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }

uint64_t milliseconds() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

uint64_t nanoseconds() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t processor_time() noexcept {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void sleep(uint64_t microseconds) noexcept {
  timespec time = {static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  call(SYS_nanosleep, of(&time), 0);
}

uint64_t random() noexcept {
  uint64_t value = 0;
  if (call(SYS_getrandom, of(&value), sizeof value, 1 /* GRND_NONBLOCK */) != sizeof value)
    value = nanoseconds() * 0x9e3779b97f4a7c15 ^ reinterpret_cast<uintptr_t>(&value);
  return value;
}

uint64_t physical_memory() noexcept {
  struct sysinfo information = {};
  call(SYS_sysinfo, of(&information));
  return information.totalram * information.mem_unit;
}

long read_file(const char* path, char* text, size_t capacity) noexcept {
  long descriptor = call(SYS_openat, AT_FDCWD, of(path), O_RDONLY | O_CLOEXEC);
  if (is_error(descriptor)) return -1;
  size_t length = 0;
  while (length + 1 < capacity) {
    long count = call(SYS_read, descriptor, of(text + length), static_cast<long>(capacity - 1 - length));
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  call(SYS_close, descriptor);
  text[length] = 0;
  return static_cast<long>(length);
}

uint64_t maximal_mappings() noexcept {
  char text[32];
  return read_file("/proc/sys/vm/max_map_count", text, sizeof text) > 0 ? strtoull(text, nullptr, 10) : 65'530;
}

void wait(std::atomic<uint32_t>* word, uint32_t value) noexcept { call(SYS_futex, of(word), FUTEX_WAIT_PRIVATE, value, 0); }
void wake_all(std::atomic<uint32_t>* word) noexcept { call(SYS_futex, of(word), FUTEX_WAKE_PRIVATE, 0x7fffffff); }

bool inject_failures(const char* specification) noexcept {
  for (Injection& injection : injections) {
    injection.fails = 0;
    injection.onwards = false;
    injection.calls = 0;
  }
  while (*specification != 0) {
    size_t length = strcspn(specification, ":");
    size_t which = 0;
    while (which < kCallCount && (strlen(kNames[which]) != length || strncmp(kNames[which], specification, length) != 0)) which++;
    if (which == kCallCount || specification[length] != ':') return false;
    char* end = nullptr;
    uint64_t number = strtoull(specification + length + 1, &end, 10);
    if (number == 0 || end == specification + length + 1) return false;
    injections[which].fails = number;
    if (*end == '+') {
      injections[which].onwards = true;
      end++;
    }
    if (*end != 0 && *end++ != ',') return false;
    specification = end;
  }
  return true;
}

uint64_t call_count(Call call) noexcept { return injections[static_cast<size_t>(call)].calls.load(std::memory_order_relaxed); }
const char* call_name(Call call) noexcept { return kNames[static_cast<size_t>(call)]; }

void write_error(const char* text) noexcept { call(SYS_write, 2, of(text), static_cast<long>(strlen(text))); }

void fail_fast(const char* what, const void* address) noexcept {
  char number[20] = "0x";
  for (int i = 0; i < 16; i++) number[2 + i] = "0123456789abcdef"[reinterpret_cast<uintptr_t>(address) >> (60 - 4 * i) & 15];
  number[18] = '\n';
  number[19] = 0;
  write_error("freehold-mesh: ");
  write_error(what);
  write_error(": ");
  write_error(number);
  abort();
}

void Lock::wait_for_it() noexcept {
  for (int spin = 0; spin < 64; spin++) {
    if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
    __builtin_ia32_pause();
  }
  while (state_.exchange(2, std::memory_order_acquire) != 0) wait(&state_, 2);
}

void Lock::wake_one() noexcept { call(SYS_futex, of(&state_), FUTEX_WAKE_PRIVATE, 1); }

}  // namespace freehold::mesh::os
