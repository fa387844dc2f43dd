#include "knobs.h"

namespace freehold::profile {

namespace {

using settings::parse_count;
using settings::parse_number;

constexpr uint64_t kLargestDistance = 4096;

bool parse_path(const char* text) noexcept {
  knobs.path = text;
  return true;
}

bool parse_distance(const char* text) noexcept { return parse_count(text, &knobs.distance) && knobs.distance <= kLargestDistance; }

#define FREEHOLD_KNOB(variable, key, property, expected, default_value, effect, parser) \
  {variable, key, expected, [](const char* text) noexcept -> bool { return parser; }},
constexpr settings::Setting kRows[] = {
#include "knobs.inc"
};
#undef FREEHOLD_KNOB

}  // namespace

constinit const settings::Table knob_table = {"FREEHOLD_PROFILE", nullptr, kRows, sizeof kRows / sizeof kRows[0]};

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept { return knob_table.read(environment, nullptr, error, capacity); }

}  // namespace freehold::profile
