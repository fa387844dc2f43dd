#include "heap/prefault.h"

#include <time.h>

#include <cstdint>

#include "heap/background_thread.h"
#include "heap/block_pool.h"
#include "heap/prefault_policy.h"

namespace freehold::heap {

namespace {

constexpr timespec kIdle = {0, 400'000'000};

void* prefault_for_ever(void*) {
  while (true) {
    uint32_t seen = growth_seen();
    while (prefault_block(blocks_to_prefault())) {}
    if (wait_for_growth(seen, &kIdle)) continue;
    drop_prefaulted();
    wait_for_growth(seen, nullptr);
  }
  return nullptr;
}

}  // namespace

void start_prefaulting(bool ahead) noexcept {
  if (is_prefaulting() || growth_seen() == 0 || (!ahead && blocks_to_prefault() == 0)) return;
  set_prefaulting(start_background_thread("Freehold memory", prefault_for_ever));
}

}  // namespace freehold::heap
