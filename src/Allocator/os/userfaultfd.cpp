#include "os/userfaultfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>

#include "Platform/lock.h"
#include "os/kernel.h"

namespace freehold::os {

namespace {

// Above what programs close one by one, below the number to which every process may have descriptors.
constexpr int kLowest = 900;

int descriptor = -1;              // set before there are other threads, and in the child of a fork
std::atomic<bool> closed{false};  // the table that all others share has it no more: never taken back
enum Keeper : uint32_t { kStarting, kKeeps, kWatches };
std::atomic<uint32_t> keeper{kStarting};  // written by that thread

// One request at a time: who asks holds the lock, writes it, and waits until it is done.
Lock asking;
struct {
  unsigned long command;
  void* argument;
  int error;
} request;
enum State : uint32_t { kIdle, kAsked, kDone };
std::atomic<uint32_t> state{kIdle};  // released with the request, and with its answer

void announce(std::atomic<uint32_t>& word, uint32_t value) noexcept {
  word.store(value, std::memory_order_release);
  wake_all(word);
}

// Whether the number is still ours: somebody may have closed it, and opened something else.
bool is_there() noexcept {
  constexpr const char* kName = "anon_inode:[userfaultfd]";
  char path[32], name[64] = {};
  snprintf(path, sizeof path, "/proc/thread-self/fd/%d", descriptor);
  ssize_t length = readlink(path, name, sizeof name - 1);
  // Without /proc only that it is something.
  if (length < 0 && errno == ENOENT && access("/proc/thread-self/fd", F_OK) != 0) return fcntl(descriptor, F_GETFD) >= 0;
  return length > 0 && strcmp(name, kName) == 0;
}

}  // namespace

bool open_userfaultfd() noexcept {
  int opened = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (opened < 0) return false;
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (ioctl(opened, UFFDIO_API, &api) != 0) {
    close(opened);
    return false;
  }
  descriptor = fcntl(opened, F_DUPFD_CLOEXEC, kLowest);
  if (descriptor >= 0) close(opened);
  else descriptor = opened;
  return true;
}

bool has_userfaultfd() noexcept { return descriptor >= 0; }

void forget_userfaultfd() noexcept {
  if (descriptor >= 0 && is_there()) close(descriptor);
  descriptor = -1;
}

void* keep_userfaultfd(void*) noexcept {
  constexpr uint64_t kBetweenLooks = 100'000;
  bool own = unshare(CLONE_FILES) == 0;
  if (own) {
    // Nothing else stays open because of this table.
    auto number = static_cast<unsigned>(descriptor);
    if (syscall(SYS_close_range, 0, number - 1, 0) != 0 || syscall(SYS_close_range, number + 1, UINT_MAX, 0) != 0) {
      for (int i = 0, end = static_cast<int>(sysconf(_SC_OPEN_MAX)); i < end; i++) {
        if (i != descriptor) close(i);
      }
    }
  }
  announce(keeper, own ? kKeeps : kWatches);
  while (!own) {
    pause(kBetweenLooks);
    if (!is_there())
      fail_fast("a descriptor that the heap needs was closed by the program or a library (userfaultfd).",
                "Leave descriptors alone that the closing code has not opened, or set FREEHOLD_PROTECTION=mprotect.");
  }
  while (true) {
    uint32_t now = state.load(std::memory_order_acquire);
    if (now != kAsked) {
      wait_on(state, now);
      continue;
    }
    request.error = ioctl(descriptor, request.command, request.argument) == 0 ? 0 : errno;
    announce(state, kDone);
  }
}

void wait_for_keeper() noexcept {
  while (keeper.load(std::memory_order_acquire) == kStarting) wait_on(keeper, kStarting);
}

bool control_userfaultfd(unsigned long command, void* argument) noexcept {
  if (!closed.load(std::memory_order_acquire)) {
    if (ioctl(descriptor, command, argument) == 0) return true;
    int error = errno;
    bool there = is_there();
    errno = error;
    if (there || keeper.load(std::memory_order_acquire) != kKeeps) return false;
    closed.store(true, std::memory_order_release);
  }
  LockGuard guard(asking);
  request.command = command;
  request.argument = argument;
  announce(state, kAsked);
  for (uint32_t now; (now = state.load(std::memory_order_acquire)) != kDone;) wait_on(state, now);
  state.store(kIdle, std::memory_order_relaxed);
  errno = request.error;
  return request.error == 0;
}

}  // namespace freehold::os
