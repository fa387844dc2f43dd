#include "knobs.h"

#include <string.h>

namespace freehold::bridge {

namespace {

using settings::parse_switch;

bool parse_stress(const char* text) noexcept {
  constexpr size_t kLength = 4;
  constexpr uint64_t kEvents = 64;
  knobs.stress_moves = strncmp(text, "move", kLength) == 0;
  if (!knobs.stress_moves && strncmp(text, "stop", kLength) != 0) return false;
  if (text[kLength] == ':') return settings::parse_count(text + kLength + 1, &knobs.stress);
  knobs.stress = kEvents;
  return text[kLength] == 0;
}

bool parse_service(const char* text) noexcept {
  constexpr settings::Word<ServiceChoice> kWords[] = {
      {"program", ServiceChoice::kProgram}, {"defragmenter", ServiceChoice::kDefragmenter}, {"plain", ServiceChoice::kPlain}};
  return settings::parse_word(text, kWords, &knobs.service);
}

#define FREEHOLD_KNOB(variable, key, property, expected, default_value, effect, parser) \
  {variable, key, expected, [](const char* text) noexcept -> bool { return parser; }},
constexpr settings::Setting kRows[] = {
#include "knobs.inc"
};
#undef FREEHOLD_KNOB

}  // namespace

constinit const settings::Table knob_table = {"FREEHOLD_NATIVE_", nullptr, kRows, sizeof kRows / sizeof kRows[0]};

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept { return knob_table.read(environment, nullptr, error, capacity); }

}  // namespace freehold::bridge
