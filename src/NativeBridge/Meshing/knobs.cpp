#include "knobs.h"

#include "os.h"

namespace freehold::mesh {

Knobs knobs;

namespace {

using settings::parse_count;
using settings::parse_number;
using settings::parse_size;
using settings::parse_switch;

bool parse_barrier(const char* text) noexcept {
  return settings::parse_word<BarrierKind>(
      text, {{"auto", BarrierKind::kAuto}, {"userfaultfd", BarrierKind::kUserfaultfd}, {"user", BarrierKind::kUserMode}, {"mprotect", BarrierKind::kMprotect}},
      &knobs.barrier);
}

#define FREEHOLD_KNOB(variable, key, property, expected, default_value, effect, parser) \
  {variable, key, expected, [](const char* text) noexcept -> bool { return parser; }},
constexpr settings::Setting kRows[] = {
#include "knobs.inc"
};
#undef FREEHOLD_KNOB

}  // namespace

constinit const settings::Table knob_table = {"FREEHOLD_MESH", nullptr, kRows, sizeof kRows / sizeof kRows[0]};

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept { return knob_table.read(environment, nullptr, error, capacity); }

}  // namespace freehold::mesh
