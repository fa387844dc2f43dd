#include "knobs.h"

#include <stdlib.h>
#include <string.h>

#include "os.h"

namespace freehold::mesh {

Knobs knobs;

namespace {

bool parse_switch(const char* text, bool* value) noexcept {
  if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0) return *value = true;
  *value = false;
  return strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

bool parse_number(const char* text, uint64_t* value) noexcept {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  *value = strtoull(text, &end, 10);
  return *end == 0;
}

bool parse_count(const char* text, uint64_t* value) noexcept { return parse_number(text, value) && *value != 0; }

bool parse_size(const char* text, uint64_t* bytes) noexcept {
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  uint64_t number = strtoull(text, &end, 10);
  int shift = 0;
  if (*end != 0) {
    const char* letter = strchr("KkMmGgTt", *end);
    if (letter == nullptr || end[1] != 0) return false;
    shift = 10 * (1 + static_cast<int>(letter - "KkMmGgTt") / 2);
  }
  if (number == 0 || number > (UINT64_MAX >> shift)) return false;
  *bytes = number << shift;
  return true;
}

bool parse_barrier(const char* text) noexcept {
  if (strcmp(text, "auto") == 0) knobs.barrier = BarrierKind::kAuto;
  else if (strcmp(text, "userfaultfd") == 0) knobs.barrier = BarrierKind::kUserfaultfd;
  else if (strcmp(text, "user") == 0) knobs.barrier = BarrierKind::kUserMode;
  else if (strcmp(text, "mprotect") == 0) knobs.barrier = BarrierKind::kMprotect;
  else return false;
  return true;
}

struct Knob : KnobName {
  bool (*parse)(const char* text) noexcept;
};

constexpr Knob kTable[] = {
    {{"FREEHOLD_MESH", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.meshing); }},
    {{"FREEHOLD_MESH_BARRIER", "auto, userfaultfd, user or mprotect"}, [](const char* t) noexcept { return parse_barrier(t); }},
    {{"FREEHOLD_MESH_PERIOD", "a number of milliseconds"}, [](const char* t) noexcept { return parse_count(t, &knobs.period); }},
    {{"FREEHOLD_MESH_DECAY", "a number of milliseconds, or 0"}, [](const char* t) noexcept { return parse_number(t, &knobs.decay); }},
    {{"FREEHOLD_MESH_MAP_BUDGET", "a number of kernel mappings"}, [](const char* t) noexcept { return parse_count(t, &knobs.map_budget); }},
    {{"FREEHOLD_MESH_ADDRESS_SPACE", "a size such as 64G"}, [](const char* t) noexcept { return parse_size(t, &knobs.address_space); }},
    {{"FREEHOLD_MESH_LIMIT", "a size such as 512M or 4G"}, [](const char* t) noexcept { return parse_size(t, &knobs.limit); }},
    {{"FREEHOLD_MESH_STATS", "0 or 1"}, [](const char* t) noexcept { return parse_switch(t, &knobs.statistics); }},
    {{"FREEHOLD_MESH_STRESS", "a number"}, [](const char* t) noexcept { return parse_count(t, &knobs.stress); }},
    {{"FREEHOLD_MESH_SEED", "a number"}, [](const char* t) noexcept { return parse_count(t, &knobs.seed); }},
    {{"FREEHOLD_MESH_FAIL", "CALL:N[+],… with memfd, mmap, mprotect, mremap, madvise, userfaultfd, register, writeprotect or membarrier"},
     [](const char* t) noexcept { return os::inject_failures(t); }},
};

constexpr const char* kPrefix = "FREEHOLD_MESH";

// As much as fits; snprintf may allocate.
void join(char* text, size_t capacity, std::initializer_list<const char*> parts) noexcept {
  size_t length = 0;
  for (const char* part : parts) {
    while (*part != 0 && length + 1 < capacity) text[length++] = *part++;
  }
  text[length] = 0;
}

}  // namespace

size_t knob_count() noexcept { return sizeof kTable / sizeof kTable[0]; }
KnobName knob_name(size_t index) noexcept { return kTable[index]; }

bool read_knobs(const char* const* environment, char* error, size_t capacity) noexcept {
  for (; environment != nullptr && *environment != nullptr; environment++) {
    if (strncmp(*environment, kPrefix, strlen(kPrefix)) != 0) continue;
    size_t length = strcspn(*environment, "=");
    if ((*environment)[length] == 0) continue;
    const Knob* found = nullptr;
    for (const Knob& knob : kTable) {
      if (strlen(knob.variable) == length && strncmp(knob.variable, *environment, length) == 0) found = &knob;
    }
    if (found == nullptr) {
      join(error, capacity,
           {"The environment variable of ", *environment,
            " is not known. Known are FREEHOLD_MESH, _BARRIER, _PERIOD, _DECAY, _MAP_BUDGET, _ADDRESS_SPACE, _LIMIT, _STATS, _STRESS, _SEED and _FAIL."});
      return false;
    }
    const char* value = *environment + length + 1;
    if (*value != 0 && !found->parse(value)) {
      join(error, capacity, {"The environment variable ", found->variable, " has the value '", value, "'; expected is ", found->expected, "."});
      return false;
    }
  }
  return true;
}

}  // namespace freehold::mesh
