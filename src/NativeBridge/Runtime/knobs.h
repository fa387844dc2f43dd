// Settings of the handle heap: the FREEHOLD_NATIVE variables (knobs.inc), read once, when the library is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/settings.h"
#include "services.h"

namespace freehold::bridge {

struct Knobs {
  bool defragment = true;
  bool statistics = false;
  bool debug = false, stacks = false;  // reports of freed objects know more (history.h)
  ServiceChoice service = ServiceChoice::kProgram;
  uint64_t stress = 0;        // events between two moves of everything, or stops, at least; 0: none
  bool stress_moves = false;  // it moves; otherwise it only stops the threads

  bool operator==(const Knobs&) const = default;
};
inline constinit Knobs knobs;

// False: a name or a value is not allowed; `error` says which.
bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept;

extern const settings::Table knob_table;

}  // namespace freehold::bridge
