// Settings of the meshing malloc: the FREEHOLD_MESH variables (knobs.inc), read once, before the first allocation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/settings.h"

namespace freehold::mesh {

enum class BarrierKind : uint8_t { kAuto, kUserfaultfd, kUserMode, kMprotect, kNone };

struct Knobs {
  bool meshing = true;
  BarrierKind barrier = BarrierKind::kAuto;
  uint64_t period = 100;        // milliseconds
  uint64_t decay = 500;         // milliseconds
  uint64_t map_budget = 0;      // 0: from vm.max_map_count
  uint64_t address_space = 0;   // bytes; 0: from the machine's memory
  uint64_t limit = UINT64_MAX;  // bytes
  bool statistics = false;
  uint64_t stress = 0;  // a pass of meshing at every so manyth slow path; 0: none
  uint64_t seed = 0;    // 0: random

  bool beside_managed_heap = false;  // in a .NET program; no setting

  bool operator==(const Knobs&) const = default;
};
extern Knobs knobs;

// False: a name or a value is not allowed; `error` says which. Does not allocate.
bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept;

extern const settings::Table knob_table;

}  // namespace freehold::mesh
