#include "os/watching.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "os/failure_injection.h"
#include "os/kernel.h"
#include "os/userfaultfd.h"

namespace freehold::os {

namespace {

bool protection_moves = false;  // written by start_watching(), before there are other threads

bool register_range(void* start, size_t size) noexcept {
  uffdio_register request = {};
  request.range = {reinterpret_cast<uintptr_t>(start), size};
  request.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  return control_userfaultfd(UFFDIO_REGISTER, &request);
}

bool protect_range(void* start, size_t size, bool protect) noexcept {
  uffdio_writeprotect request = {};
  request.range = {reinterpret_cast<uintptr_t>(start), size};
  request.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  return control_userfaultfd(UFFDIO_WRITEPROTECT, &request);
}

// Does to a page what promotion does to a block, and then has the kernel write there, which answers with an error where a thread would fault. True also when
// the trial itself fails.
bool probe_moves() noexcept {
  if (injected_failure(Call::kProbe)) return true;
  void* scratch = mmap(nullptr, 2 * kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (scratch == MAP_FAILED) return true;
  auto* page = static_cast<uint8_t*>(scratch);
  uint8_t* target = page + kPageSize;
  *const_cast<volatile uint8_t*>(page) = 1;
  int ends[2] = {-1, -1};
  bool tried = pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], page, 1) == 1 && register_range(page, kPageSize) && protect_range(page, kPageSize, true) &&
               mremap(page, kPageSize, kPageSize, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, target) != MAP_FAILED && register_range(target, kPageSize);
  bool writable = tried && read(ends[0], target, 1) == 1;
  for (int end : ends) {
    if (end >= 0) close(end);
  }
  munmap(scratch, 2 * kPageSize);
  return !writable;
}

}  // namespace

bool moves_keep_protection() noexcept { return protection_moves; }

bool watch(void* start, size_t size) noexcept { return has_userfaultfd() && !injected_failure(Call::kRegister) && register_range(start, size); }

bool write_protect(void* start, size_t size, bool protect) noexcept {
  // Lifting the protection is not made to fail: there is no way on from there.
  return !(protect && injected_failure(Call::kRegister)) && protect_range(start, size, protect);
}

bool start_watching() noexcept {
  if (injected_failure(Call::kUserfaultfd) || !open_userfaultfd()) return false;
  protection_moves = probe_moves();
  return true;
}

}  // namespace freehold::os
