#include "Platform/process_page.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "Platform/memory.h"
#include "Platform/one_for_all.h"
#include "Platform/system_call.h"
#include "Platform/time.h"

namespace freehold::os {

// Another layout is another mark.
constexpr uint64_t kMark = 0x3430'6469'6f68'6572;
static_assert(sizeof(ProcessPage) <= kPageSize);

extern ProcessPage page_of_this_module;
FREEHOLD_ONE_FOR_ALL constinit ProcessPage page_of_this_module = {};
extern std::atomic<ProcessPage*> found_page;
FREEHOLD_ONE_FOR_ALL constinit std::atomic<ProcessPage*> found_page{nullptr};

namespace {

// Between the managed arena, which ends at 80 TB if it gets what it wants, and executables; outside of the shadows of sanitizers. Where in there, the random bytes say that the kernel gives each
// process: what the page leads to are functions, and nobody shall know beforehand where they are named.
#ifdef __SANITIZE_THREAD__
// It keeps that range too. What it leaves below executables is smaller.
constexpr uintptr_t kFirst = 0x5500'0000'0000;
constexpr int kPageBits = 26;
#else
constexpr uintptr_t kFirst = 0x5080'0000'0000;
constexpr int kPageBits = 28;
#endif
uintptr_t address() noexcept {
  uint64_t random[2] = {};
  if (auto* given = reinterpret_cast<const void*>(getauxval(AT_RANDOM))) memcpy(random, given, sizeof random);
  uint64_t mixed = random[0] ^ (random[1] << 23 | random[1] >> 41);
  for (int i = 0; i < 3; i++) mixed = (mixed ^ mixed >> 29) * 0xbf58'476d'1ce4'e5b9;
  return kFirst + ((mixed >> (64 - kPageBits)) << kPageShift);
}

// What is there may be unreadable: the kernel reads it for us.
bool read_mark(uintptr_t at, uint64_t* mark) noexcept {
  iovec to = {mark, sizeof *mark}, from = {reinterpret_cast<void*>(at), sizeof *mark};
  long process = system_call(SYS_getpid);
  if (system_call(SYS_process_vm_readv, process, argument(&to), 1, argument(&from), 1, 0) == sizeof *mark) return true;
  // Some containers forbid that call.
  long file = system_call(SYS_openat, AT_FDCWD, argument("/proc/self/mem"), O_RDONLY | O_CLOEXEC);
  if (is_error(file)) return false;
  long count = system_call(SYS_pread64, file, argument(mark), sizeof *mark, static_cast<long>(at));
  system_call(SYS_close, file);
  return count == sizeof *mark;
}

ProcessPage* find() noexcept {
  int reason = 0;
  uintptr_t at = address();
  if (void* made = map_private_at(at, kPageSize, PROT_READ | PROT_WRITE, &reason)) {
    auto* page = static_cast<ProcessPage*>(made);  // zeroes are a whole page but for the mark
    page->mark.store(kMark, std::memory_order_release);
    return page;
  }
  if (reason != EEXIST) return nullptr;
  // Somebody else maps it at this moment, and marks it right afterwards.
  uint64_t mark = 0;
  for (int i = 0; i < 1000 && read_mark(at, &mark) && mark == 0; i++) pause(100);
  return mark == kMark ? reinterpret_cast<ProcessPage*>(at) : nullptr;
}

}  // namespace

FREEHOLD_ONE_FOR_ALL ProcessPage& process_page() noexcept {
  ProcessPage* page = found_page.load(std::memory_order_acquire);
  if (page != nullptr) return *page;
  page = find();
  if (page == nullptr) page = &page_of_this_module;
  // Two threads may come at once: the first decides.
  ProcessPage* none = nullptr;
  if (!found_page.compare_exchange_strong(none, page, std::memory_order_acq_rel)) page = none;
  return *page;
}

FREEHOLD_ONE_FOR_ALL void note_fixed_range(uintptr_t start, size_t size, const char* owner) noexcept {
  ProcessPage& page = process_page();
  LockGuard guard(page.lock);
  for (FixedRange& range : page.ranges) {
    if (range.start.load(std::memory_order_relaxed) != 0) continue;
    range.size = size;
    range.owner = owner;
    range.start.store(start, std::memory_order_release);
    return;
  }
}

FREEHOLD_ONE_FOR_ALL const char* owner_of_fixed_range(uintptr_t start, size_t size) noexcept {
  for (FixedRange& range : process_page().ranges) {
    uintptr_t other = range.start.load(std::memory_order_acquire);
    if (other != 0 && start < other + range.size && other < start + size) return range.owner;
  }
  return nullptr;
}

}  // namespace freehold::os
