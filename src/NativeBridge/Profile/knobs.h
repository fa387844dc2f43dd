// Settings of heap profiles: the FREEHOLD_PROFILE variables (knobs.inc), read once, when the library is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/settings.h"

namespace freehold::profile {

struct Knobs {
  const char* path = nullptr;  // in the environment, whose text the library copies when it starts
  uint64_t burst = 2000, distance = 128, gap = 100000;
  bool operator==(const Knobs&) const = default;
};
inline constinit Knobs knobs;

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept;
extern const settings::Table knob_table;

}  // namespace freehold::profile
