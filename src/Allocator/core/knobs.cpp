#include "core/knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/failure_injection.h"

namespace freehold::core {
namespace {

using settings::parse_count;
using settings::parse_limit;
using settings::parse_size;
using settings::parse_switch;

bool parse_debug(const char* text) noexcept {
  knobs.stacks = strcmp(text, "stacks") == 0;
  if (knobs.stacks) return knobs.debug = true;
  return parse_switch(text, &knobs.debug);
}

bool parse_sample(const char* text) noexcept {
  constexpr uint64_t kRarest = 1'000'000'000;
  uint64_t objects = 0;
  if (strcmp(text, "0") != 0 && (!parse_count(text, &objects) || objects > kRarest)) return false;
  knobs.sample = objects;
  return true;
}

bool parse_protection(const char* text) noexcept {
  return settings::parse_word<Protection>(text, {{"auto", Protection::kAuto}, {"userfaultfd", Protection::kUserfaultfd}, {"mprotect", Protection::kMprotect}},
                                          &knobs.protection);
}

bool parse_reclaim(const char* text) noexcept {
  return settings::parse_word<Reclaim>(text, {{"auto", Reclaim::kAuto}, {"report", Reclaim::kReport}, {"manual", Reclaim::kManual}, {"off", Reclaim::kOff}},
                                       &knobs.reclaim);
}

// promote[:MICROSECONDS],deletion:N,reclaim[:MICROSECONDS],preempt[:MICROSECONDS],fault,sites,dedangle,reuse,delay[:MICROSECONDS],seed:N in any order.
bool parse_stress(const char* text) noexcept {
  Stress stress;
  stress.only_seed = true;
  while (true) {
    size_t length = strcspn(text, ":,");
    auto is = [&](const char* name) noexcept { return strlen(name) == length && strncmp(text, name, length) == 0; };
    bool promote = is("promote"), deletion = is("deletion"), delay = is("delay"), seed = is("seed"), fault = is("fault"), sites = is("sites"),
         dedangle = is("dedangle"), reuse = is("reuse"), reclaim = is("reclaim"), preempt = is("preempt");
    if (!promote && !deletion && !reclaim && !preempt && !delay && !seed && !fault && !sites && !dedangle && !reuse) return false;
    text += length;
    uint64_t number = 0;
    if (*text == ':') {
      char* end = nullptr;
      if (text[1] < '0' || text[1] > '9' || fault || sites || dedangle || reuse) return false;
      number = strtoull(text + 1, &end, 10);
      if (number == 0 || (number > 10'000'000 && !seed)) return false;
      text = end;
    } else if (seed || deletion) {
      return false;
    }
    if (!seed) stress.only_seed = false;
    if (promote) stress.promote = number != 0 ? static_cast<uint32_t>(number) : 10'000;
    if (deletion) stress.deletion = static_cast<uint32_t>(number);
    if (reclaim) stress.reclaim = number != 0 ? static_cast<uint32_t>(number) : 10'000;
    if (preempt) stress.preempt = number != 0 ? static_cast<uint32_t>(number) : 2'000;
    if (fault || sites) stress.fault = true;
    if (sites) stress.sites = true;
    if (dedangle || reuse || preempt) stress.dedangle = true;
    if (reuse) stress.reuse = true;
    if (delay) stress.delay = number != 0 ? static_cast<uint32_t>(number) : 100;
    if (seed) stress.seed = number;
    if (*text == 0) break;
    if (*text++ != ',') return false;
  }
  if (!stress.moves() && stress.reclaim == 0) stress.promote = 10'000;
  knobs.stress = stress;
  return true;
}

bool parse_path(const char* text) noexcept {
  size_t length = strlen(text);
  if (length == 0 || length >= kPathAtMost) return false;
  memcpy(knobs.deaths, text, length + 1);
  return true;
}

#define FREEHOLD_KNOB(variable, key, property, expected, default_value, effect, parser) \
  {variable, key, expected, [](const char* text) noexcept -> bool { return parser; }},
constexpr settings::Setting kRows[] = {
#include "core/knobs.inc"
};
#undef FREEHOLD_KNOB

// The native half's, which may be in the process as well and checks them itself; and those of compilers, which a shell may have exported.
constexpr const char* kOthers[] = {"FREEHOLD_MESH",  "FREEHOLD_NATIVE",  "FREEHOLD_PROFILE",  "FREEHOLD_JIT",
                                   "FREEHOLD_CLANG", "FREEHOLD_CLANGXX", "FREEHOLD_COMPILER", nullptr};

// What a profile of deaths sets otherwise than somebody has asked for.
struct Conflict {
  const char* variable;
  bool (*is_set)() noexcept;
  const char *why, *instead;
};
constexpr Conflict kConflicts[] = {
    {"FREEHOLD_DEBUG", []() noexcept { return knobs.debug; }, "each object would have pages of its own", "0"},
    {"FREEHOLD_SAMPLE", []() noexcept { return knobs.sample != 0; }, "some objects would have pages of their own", "0"},
    {"FREEHOLD_RECLAIM", []() noexcept { return !knobs.reclaims(); }, "each of its looks deletes what nothing reaches", "manual"},
    {"FREEHOLD_RECLAIM_CONCURRENT", []() noexcept { return knobs.reclaim_concurrent; }, "its looks stop the threads", "0"},
    {"FREEHOLD_COMPACTION", []() noexcept { return knobs.promotion; }, "objects keep their places", "0"},
};

// Who gives a setting its value, and which: the environment has the last word. False: nobody, it has its default.
bool find_given(const char* variable, const char* const* environment, settings::Lookup lookup, char* text, size_t capacity) noexcept {
  size_t length = strlen(variable);
  for (; environment != nullptr && *environment != nullptr; environment++) {
    const char* name = *environment;
    if (strncmp(name, variable, length) != 0 || name[length] != '=' || name[length + 1] == 0) continue;
    snprintf(text, capacity, "%s", name);
    return true;
  }
  for (const settings::Setting& row : kRows) {
    char value[256];
    if (strcmp(row.variable, variable) != 0 || lookup == nullptr || *row.key == 0 || !lookup(row.key, value, sizeof value)) continue;
    snprintf(text, capacity, "the configuration setting %s=%s", row.key, value);
    return true;
  }
  return false;
}

}  // namespace

constinit const settings::Table knob_table = {"FREEHOLD_", kOthers, kRows, sizeof kRows / sizeof kRows[0]};

bool read_knobs(const char* const* environment, settings::Lookup lookup, char* error, size_t capacity) noexcept {
  if (!knob_table.read(environment, lookup, error, capacity)) return false;
  if (!knobs.records_deaths()) return true;
  for (const Conflict& conflict : kConflicts) {
    char given[300];
    if (!conflict.is_set() || !find_given(conflict.variable, environment, lookup, given, sizeof given)) continue;
    snprintf(error, capacity, "FREEHOLD_DEATHS does not go with %s: %s. Set %s=%s for the profile.", given, conflict.why, conflict.variable, conflict.instead);
    return false;
  }
  // Each look deletes what nothing reaches, with the threads stopped, also where `auto` was asked for; objects keep their places.
  knobs.reclaim = Reclaim::kManual;
  knobs.reclaim_concurrent = false;
  // It is that of the samples then.
  if (knobs.stress.only_seed) knobs.stress.promote = 0;
  // For tests they do move.
  if (!knobs.stress.moves()) knobs.promotion = false;
  return true;
}

}  // namespace freehold::core
