#include "heap/marking_bounds.h"

#include "core/module_state.h"
#include "core/stress.h"

namespace freehold::heap {

MarkingBounds marking_bounds;
FREEHOLD_MODULE_STATE(marking_bounds);

void stress_bounds() noexcept {
  if (core::knobs.stress.reclaim == 0) return;
  marking_bounds = {};
  auto choose = [](size_t* bound, size_t least) noexcept {
    if (core::next_random() % 2 == 0) *bound = least + core::next_random() % (core::next_random() % 2 == 0 ? 4 : 100);
  };
  choose(&marking_bounds.stack, 1);
  choose(&marking_bounds.rests, 0);
  choose(&marking_bounds.packets, 0);
  choose(&marking_bounds.queue, 0);
  choose(&marking_bounds.kept, 1);
}

}  // namespace freehold::heap
