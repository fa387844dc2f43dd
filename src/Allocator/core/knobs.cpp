#include "core/knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/os.h"

namespace freehold::core {
namespace {

bool parse_switch(const char* text, bool* value) noexcept {
  if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0) return *value = true;
  *value = false;
  return strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

bool parse_count(const char* text, uint64_t* value) noexcept {
  char* end = nullptr;
  *value = strtoull(text, &end, 10);
  return end != text && *end == 0 && *text != '-' && *value != 0;
}

bool parse_debug(const char* text) noexcept {
  knobs.stacks = strcmp(text, "stacks") == 0;
  if (knobs.stacks) return knobs.debug = true;
  return parse_switch(text, &knobs.debug);
}

bool parse_protection(const char* text) noexcept {
  if (strcmp(text, "auto") == 0) knobs.protection = Protection::kAuto;
  else if (strcmp(text, "userfaultfd") == 0) knobs.protection = Protection::kUserfaultfd;
  else if (strcmp(text, "mprotect") == 0) knobs.protection = Protection::kMprotect;
  else return false;
  return true;
}

// promote[:MICROSECONDS],deletion:N,reclaim[:MICROSECONDS],preempt[:MICROSECONDS],fault,sites,dedangle,reuse,delay[:MICROSECONDS],seed:N in any order.
bool parse_stress(const char* text) noexcept {
  Stress stress;
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

struct Knob : KnobName {
  bool (*parse)(const char* text) noexcept;
};

constexpr Knob kTable[] = {
    {{"FREEHOLD_STATS", "System.Heap.Statistics", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.statistics); }},
    {{"FREEHOLD_VERIFY", "System.Heap.Verify", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.verify); }},
    {{"FREEHOLD_DEBUG", "System.Heap.Debug", "0, 1 or stacks"}, [](const char* t) noexcept { return parse_debug(t); }},
    {{"FREEHOLD_PROTECTION", "System.Heap.Protection", "auto, userfaultfd or mprotect"}, [](const char* t) noexcept { return parse_protection(t); }},
    {{"FREEHOLD_HEAP_LIMIT", "System.Heap.Limit", "a size such as 512M or 4G"}, [](const char* t) noexcept { return parse_size(t, &knobs.heap_limit); }},
    {{"FREEHOLD_ADDRESS_SPACE", "System.Heap.AddressSpace", "a size such as 1T"}, [](const char* t) noexcept { return parse_size(t, &knobs.address_space); }},
    {{"FREEHOLD_MAP_BUDGET", "System.Heap.MapBudget", "a number of kernel mappings"}, [](const char* t) noexcept { return parse_count(t, &knobs.map_budget); }},
    {{"FREEHOLD_COMPACTION", "System.Heap.Compaction", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.promotion); }},
    {{"FREEHOLD_RECLAIM", "System.Heap.Reclaim", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.reclaim); }},
    {{"FREEHOLD_RECLAIM_GROWTH", "System.Heap.ReclaimGrowth", "a number of percent"},
     [](const char* t) noexcept { return parse_count(t, &knobs.reclaim_growth); }},
    {{"FREEHOLD_HUGE_PAGES", "System.Heap.HugePages", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.huge_pages); }},
    {{"FREEHOLD_STRESS", nullptr,
      "promote[:MICROSECONDS], deletion:N, reclaim[:MICROSECONDS], preempt[:MICROSECONDS], fault, sites, dedangle, reuse, delay[:MICROSECONDS] and seed:N, "
      "separated by commas"},
     [](const char* t) noexcept { return parse_stress(t); }},
    {{"FREEHOLD_FAIL", nullptr, "CALL:N[+],… with mmap, mprotect, mremap, madvise, userfaultfd, register, membarrier or probe"},
     [](const char* t) noexcept { return os::inject_failures(t); }},
};

constexpr const char* kPrefix = "FREEHOLD_";

// The meshing malloc's, which may be in the process as well and checks them itself.
bool is_of_mesh(const char* name, size_t length) noexcept {
  constexpr const char* kMesh = "FREEHOLD_MESH";
  size_t prefix = strlen(kMesh);
  return length >= prefix && strncmp(name, kMesh, prefix) == 0 && (length == prefix || name[prefix] == '_');
}

}  // namespace

size_t knob_count() noexcept { return sizeof kTable / sizeof kTable[0]; }
KnobName knob_name(size_t index) noexcept { return kTable[index]; }

bool parse_size(const char* text, uint64_t* bytes) noexcept {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  uint64_t number = strtoull(text, &end, 10);
  int shift = 0;
  switch (*end) {
    case 'K':
    case 'k': shift = 10; break;
    case 'M':
    case 'm': shift = 20; break;
    case 'G':
    case 'g': shift = 30; break;
    case 'T':
    case 't': shift = 40; break;
    case 0: break;
    default: return false;
  }
  if (shift != 0 && end[1] != 0) return false;
  if (number == 0 || number > (UINT64_MAX >> shift)) return false;
  *bytes = number << shift;
  return true;
}

bool read_knobs(const char* const* environment, ConfigurationLookup lookup, char* error, size_t capacity) noexcept {
  // The configuration first: the environment has the last word.
  for (const Knob& knob : kTable) {
    char value[256];
    if (knob.key == nullptr || lookup == nullptr || !lookup(knob.key, value, sizeof value)) continue;
    if (!knob.parse(value)) {
      snprintf(error, capacity, "The configuration setting %s has the value '%s'; expected is %s.", knob.key, value, knob.expected);
      return false;
    }
  }
  for (; *environment != nullptr; environment++) {
    if (strncmp(*environment, kPrefix, strlen(kPrefix)) != 0) continue;
    const char* equals = strchr(*environment, '=');
    if (equals == nullptr) continue;
    size_t length = static_cast<size_t>(equals - *environment);
    if (is_of_mesh(*environment, length)) continue;
    const Knob* found = nullptr;
    for (const Knob& knob : kTable) {
      if (strlen(knob.variable) == length && strncmp(knob.variable, *environment, length) == 0) found = &knob;
    }
    if (found == nullptr) {
      snprintf(error, capacity,
               "The environment variable %.*s is not known. Known are FREEHOLD_STATS, _VERIFY, _DEBUG, _PROTECTION, _HEAP_LIMIT, _ADDRESS_SPACE, _MAP_BUDGET, "
               "_COMPACTION, _RECLAIM, _RECLAIM_GROWTH, _HUGE_PAGES, _STRESS and _FAIL.",
               static_cast<int>(length), *environment);
      return false;
    }
    if (equals[1] != 0 && !found->parse(equals + 1)) {
      snprintf(error, capacity, "The environment variable %s has the value '%s'; expected is %s.", found->variable, equals + 1, found->expected);
      return false;
    }
  }
  return true;
}

}  // namespace freehold::core
