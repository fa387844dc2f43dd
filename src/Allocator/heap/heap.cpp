#include "heap/heap.h"

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/background_thread.h"
#include "heap/block_protection.h"
#include "heap/deletion.h"
#include "heap/maintenance.h"
#include "heap/pins.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"
#include "os/userfaultfd.h"

namespace freehold::heap {

bool initialize(size_t limit) noexcept {
  if (!core::create_arena(core::knobs.address_space)) {
    os::write_error(
        "Freehold: the heap needs 64 GB of addresses at least, which take no memory, and the process may not have them. Raise the limit of virtual memory\n"
        "(ulimit -v) or lift it; FREEHOLD_HEAP_LIMIT or a control group limits memory.\n");
    return false;
  }
  if (!initialize_protection()) {
    os::write_error("Freehold: the kernel refuses userfaultfd, which FREEHOLD_PROTECTION=userfaultfd demands. Set it to auto or mprotect.\n");
    return false;
  }
  if (os::has_userfaultfd() && start_background_thread("Freehold keeper", os::keep_userfaultfd)) os::wait_for_keeper();
  initialize_pins();
  set_limit(limit);
  start_maintenance();
  return true;
}

size_t total_bytes_in_use() noexcept { return thread_totals().live_bytes(); }

uint64_t total_allocated_bytes() noexcept { return thread_totals().allocated_bytes; }
size_t heap_limit() noexcept { return limit(); }
size_t resident_bytes() noexcept { return resident_memory(); }
uint64_t released_bytes() noexcept { return block_counters.gone_bytes.load(std::memory_order_relaxed); }

void collect() noexcept { maintain_together(); }

void reset_heap() noexcept {
  take_history();
  core::renew_states();
}

}  // namespace freehold::heap
