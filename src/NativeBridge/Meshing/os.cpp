#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <atomic>

#include "Platform/membarrier.h"
#include "Platform/system_call.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

namespace freehold::mesh::os {
namespace {

using freehold::os::argument;
using freehold::os::is_error;
using freehold::os::system_call;

constexpr const char* kNames[freehold::os::Failures<Call>::kCalls] = {
#define FREEHOLD_MESH_CALL(enumerator, name, error) name,
#include "kernel_calls.inc"
};
constexpr int kErrors[] = {
#define FREEHOLD_MESH_CALL(enumerator, name, error) error,
#include "kernel_calls.inc"
};

constinit freehold::os::Failures<Call> failures(kNames);

bool fails(Call call) noexcept { return failures.fails(call); }

// A system call, unless a test wants it to fail.
template <typename... Arguments>
long make(Call call, long number, Arguments... arguments) noexcept {
  return fails(call) ? -kErrors[static_cast<size_t>(call)] : system_call(number, arguments...);
}

void* map(void* start, size_t size, int protection, int flags, int descriptor = -1, size_t offset = 0) noexcept {
  return fails(Call::kMmap) ? nullptr : freehold::os::map(start, size, protection, flags, descriptor, offset);
}

bool advise(void* start, size_t size, int advice) noexcept { return !fails(Call::kMadvise) && freehold::os::advise(start, size, advice); }

// Out of the way of programs that count on low numbers or close all up to some small one.
int move_up(int descriptor) noexcept {
  rlimit limit = {};
  if (make(Call::kLimit, SYS_prlimit64, 0, RLIMIT_NOFILE, 0, argument(&limit)) != 0) return descriptor;
  long least = limit.rlim_cur > 4096 ? 3000 : static_cast<long>(limit.rlim_cur) * 3 / 4;
  long moved = make(Call::kFcntl, SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, least);
  if (is_error(moved)) return descriptor;
  system_call(SYS_close, descriptor);
  return static_cast<int>(moved);
}

struct Identity {
  dev_t device;
  ino_t inode;
};
Identity memory_identity;  // of the newest file; written with the arena's lock held or before threads start

bool identify(int descriptor, Identity* identity) noexcept {
  struct stat status;
  if (make(Call::kFstat, SYS_fstat, descriptor, argument(&status)) != 0) return false;
  *identity = {status.st_dev, status.st_ino};
  return true;
}

}  // namespace

int create_memory(size_t size) noexcept {
  // Beyond the limit of files the kernel would end the process (SIGXFSZ).
  rlimit limit{};
  if (make(Call::kLimit, SYS_prlimit64, 0, RLIMIT_FSIZE, 0, argument(&limit)) == 0 && limit.rlim_cur < size) return -1;
  long descriptor = make(Call::kMemfd, SYS_memfd_create, argument("freehold-mesh"), MFD_CLOEXEC);
  if (is_error(descriptor)) return -1;
  descriptor = move_up(static_cast<int>(descriptor));
  if (make(Call::kTruncate, SYS_ftruncate, descriptor, static_cast<long>(size)) != 0 || !identify(static_cast<int>(descriptor), &memory_identity)) {
    system_call(SYS_close, descriptor);
    return -1;
  }
  return static_cast<int>(descriptor);
}

bool is_memory(int descriptor) noexcept {
  Identity identity;
  return descriptor >= 0 && identify(descriptor, &identity) && identity.device == memory_identity.device && identity.inode == memory_identity.inode;
}

void close(int descriptor) noexcept { system_call(SYS_close, descriptor); }

namespace {

// Written by whoever reserves; the start last.
struct Range {
  std::atomic<uintptr_t> start;
  std::atomic<size_t> size;
};
Range reserved[32];

}  // namespace

void* reserve(size_t size) noexcept {
  void* made = map(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  for (Range& range : reserved) {
    size_t none = 0;
    if (made == nullptr || !range.size.compare_exchange_strong(none, size, std::memory_order_relaxed)) continue;
    range.start.store(reinterpret_cast<uintptr_t>(made), std::memory_order_release);
    break;
  }
  return made;
}

void unreserve(void* start, size_t size) noexcept {
  for (Range& range : reserved) {
    if (range.start.load(std::memory_order_relaxed) != reinterpret_cast<uintptr_t>(start)) continue;
    range.start.store(0, std::memory_order_relaxed);
    range.size.store(0, std::memory_order_release);
    break;
  }
  if (!fails(Call::kMunmap)) freehold::os::unmap(start, size);
}

bool is_reserved(uintptr_t address) noexcept {
  for (const Range& range : reserved) {
    uintptr_t start = range.start.load(std::memory_order_acquire);
    if (start != 0 && address - start < range.size.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

bool map_file(void* start, size_t size, int descriptor, size_t offset, bool shared) noexcept {
  int flags = MAP_FIXED | MAP_NORESERVE | (shared ? MAP_SHARED : MAP_PRIVATE);
  return map(start, size, PROT_READ | PROT_WRITE, flags, descriptor, offset) != nullptr;
}

bool commit(void* start, size_t size) noexcept {
  return map(start, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) != nullptr;
}

bool open_pipe(int (&ends)[2]) noexcept {
  if (!is_error(make(Call::kPipe, SYS_pipe2, argument(ends), O_CLOEXEC))) return true;
  ends[0] = ends[1] = -1;
  return false;
}
void write_to_pipe(int descriptor) noexcept {
  char byte = 1;
  make(Call::kPipeWrite, SYS_write, descriptor, argument(&byte), 1);
}
void wait_for_pipe(int descriptor) noexcept {
  char byte;
  while (make(Call::kPipeRead, SYS_read, descriptor, argument(&byte), 1) == -EINTR) {}
}

void* share_page() noexcept { return map(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS); }

bool alias(void* from, void* to, size_t size) noexcept { return !fails(Call::kMremap) && freehold::os::map_again(from, to, size); }

bool move_frames(void* from, void* to, size_t size) noexcept { return !fails(Call::kMremap) && freehold::os::remap_frames(from, to, size); }

bool discard(void* start, size_t size) noexcept { return advise(start, size, MADV_DONTNEED); }
bool remove(void* start, size_t size) noexcept { return advise(start, size, MADV_REMOVE); }

void populate(void* start, size_t size) noexcept { advise(start, size, MADV_POPULATE_WRITE); }

void exclude_from_dumps(void* start, size_t size, bool exclude) noexcept { advise(start, size, exclude ? MADV_DONTDUMP : MADV_DODUMP); }
void use_huge_pages(void* start, size_t size) noexcept { advise(start, size, MADV_HUGEPAGE); }

bool protect(void* start, size_t size, bool writable) noexcept {
  // Lifting a protection is never made to fail: there is no way on without it.
  if (!writable && fails(Call::kMprotect)) return false;
  return freehold::os::protect(start, size, PROT_READ | (writable ? PROT_WRITE : 0));
}

bool is_mapped(void* start, size_t size) noexcept {
  unsigned char resident[16];
  return make(Call::kMincore, SYS_mincore, argument(start), static_cast<long>(size), argument(resident)) == 0;
}

int open_userfaultfd(bool user_mode_only) noexcept {
  long descriptor = make(Call::kUserfaultfd, SYS_userfaultfd, O_CLOEXEC | (user_mode_only ? UFFD_USER_MODE_ONLY : 0));
  if (is_error(descriptor)) return -1;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (make(Call::kHandshake, SYS_ioctl, descriptor, UFFDIO_API, argument(&api)) != 0) {
    system_call(SYS_close, descriptor);
    return -1;
  }
  return move_up(static_cast<int>(descriptor));
}

bool is_userfaultfd(int descriptor) noexcept {
  char path[32] = "/proc/self/fd/", target[32] = {};
  size_t length = strlen(path);
  char digits[12];
  int count = 0;
  for (int rest = descriptor; count == 0 || rest != 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) path[length++] = digits[--count];
  path[length] = 0;
  long read = make(Call::kReadLink, SYS_readlinkat, AT_FDCWD, argument(path), argument(target), sizeof target - 1);
  return read > 0 && strcmp(target, "anon_inode:[userfaultfd]") == 0;
}

bool watch(int descriptor, void* start, size_t size) noexcept {
  uffdio_register range = {};
  range.range = {reinterpret_cast<uintptr_t>(start), size};
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return make(Call::kRegister, SYS_ioctl, descriptor, UFFDIO_REGISTER, argument(&range)) == 0;
}

void unwatch(int descriptor, void* start, size_t size) noexcept {
  uffdio_range range = {reinterpret_cast<uintptr_t>(start), size};
  make(Call::kUnregister, SYS_ioctl, descriptor, UFFDIO_UNREGISTER, argument(&range));
}

bool write_protect(int descriptor, void* start, size_t size, bool protect) noexcept {
  if (protect && fails(Call::kWriteProtect)) return false;
  uffdio_writeprotect range = {};
  range.range = {reinterpret_cast<uintptr_t>(start), size};
  range.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  long result;
  do result = system_call(SYS_ioctl, descriptor, UFFDIO_WRITEPROTECT, argument(&range));
  while (result == -EAGAIN);
  return result == 0;
}

void wake(int descriptor, void* start, size_t size) noexcept {
  uffdio_range range = {reinterpret_cast<uintptr_t>(start), size};
  system_call(SYS_ioctl, descriptor, UFFDIO_WAKE, argument(&range));
}

void unblock_faults() noexcept {
  uint64_t mask = uint64_t{1} << (SIGSEGV - 1);
  make(Call::kSignalMask, SYS_rt_sigprocmask, SIG_UNBLOCK, argument(&mask), 0, sizeof mask);
}

bool may_be_on_alternate_stack() noexcept {
  stack_t stack = {};
  return make(Call::kAlternateStack, SYS_sigaltstack, 0, argument(&stack)) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

long lock_memory(uintptr_t start, uintptr_t end, unsigned flags) noexcept {
  return make(Call::kMlock, SYS_mlock2, static_cast<long>(start), static_cast<long>(end - start), static_cast<long>(flags));
}

long read_file(const char* path, char* text, size_t capacity) noexcept { return fails(Call::kOpen) ? -1 : freehold::os::read_file(path, text, capacity); }

size_t maximal_mappings() noexcept {
  constexpr size_t kDefault = 65'530;  // the kernel's own
  return fails(Call::kOpen) ? kDefault : freehold::os::maximal_mappings();
}

int open_file(const char* path) noexcept { return static_cast<int>(make(Call::kOpen, SYS_openat, AT_FDCWD, argument(path), O_RDONLY | O_CLOEXEC)); }
long read_some(int file, char* text, size_t capacity) noexcept { return system_call(SYS_read, file, argument(text), static_cast<long>(capacity)); }

bool register_barrier() noexcept { return !fails(Call::kMembarrier) && freehold::os::request_membarrier(); }
bool barrier_on_all_threads() noexcept { return !fails(Call::kMembarrier) && freehold::os::membarrier(); }

uint64_t milliseconds() noexcept { return freehold::os::read_clock(CLOCK_MONOTONIC_COARSE) / 1'000'000; }
uint64_t processor_time() noexcept { return freehold::os::read_clock(CLOCK_THREAD_CPUTIME_ID); }

uint64_t random() noexcept {
  uint64_t value = 0;
  if (make(Call::kRandom, SYS_getrandom, argument(&value), sizeof value, 1 /* GRND_NONBLOCK */) != sizeof value)
    value = nanoseconds() * 0x9e3779b97f4a7c15 ^ reinterpret_cast<uintptr_t>(&value);
  return value;
}

uint64_t physical_memory() noexcept {
  struct sysinfo information = {};
  if (make(Call::kMachineMemory, SYS_sysinfo, argument(&information)) != 0) return 0;
  return information.totalram * information.mem_unit;
}

bool inject_failures(const char* specification) noexcept {
  failures.clear();
  return failures.inject(specification);
}

uint64_t call_count(Call call) noexcept { return failures.count(call); }
const char* call_name(Call call) noexcept { return failures.name(call); }

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

}  // namespace freehold::mesh::os
