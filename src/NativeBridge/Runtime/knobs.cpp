#include "knobs.h"

#include <string.h>

#include <string_view>

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

// As the managed heap takes it.
bool parse_debug(const char* text) noexcept {
  knobs.stacks = settings::is_word(text, "stacks");
  if (knobs.stacks) return knobs.debug = true;
  return parse_switch(text, &knobs.debug);
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

// The first row's variable is the managed heap's too, and has not the others' prefix.
static_assert(std::string_view(kRows[0].variable) == "FREEHOLD_DEBUG");
constinit const settings::Table knob_table = {"FREEHOLD_NATIVE_", nullptr, kRows + 1, sizeof kRows / sizeof kRows[0] - 1};
static constinit const settings::Table shared_table = {"FREEHOLD_DEBUG", nullptr, kRows, 1};

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept {
  return shared_table.read(environment, nullptr, error, capacity) && knob_table.read(environment, nullptr, error, capacity);
}

}  // namespace freehold::bridge
