// The settings of the heap: environment variables FREEHOLD_*, and their counterparts as runtime configuration (System.Heap.*), which the MSBuild
// properties Freehold* set. docs/settings.md is the same table for users; a test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::core {

enum class Protection : uint8_t { kAuto, kUserfaultfd, kMprotect };

// FREEHOLD_STRESS: forces the rare paths of promotion, in any program.
struct Stress {
  uint32_t promote = 0;   // microseconds between rounds that move a random half of all blocks, which are small then; 0 = off
  uint32_t deletion = 0;  // deletions of a thread between such rounds, which the deleting thread itself makes; 0 = off
  uint32_t delay = 0;     // at most so many microseconds pass between two steps (core/stress.h)
  uint32_t reclaim = 0;   // microseconds between deletions of all that no root reaches (heap/reachability.h); 0 = off
  uint32_t preempt =
      0;  // at most so many microseconds a thread is held at a random instruction (runtime/preemption.h); 0 = off. Rounds and sweeps go on meanwhile
  bool fault = false;     // nothing is patched in bulk: every stale reference faults
  bool sites = false;     // fault, and a field keeps its old name until a place in the code uses it that has faulted before (runtime/code_sites.h)
  bool dedangle = false;  // a sweep follows each round
  bool reuse = false;     // the same, and addresses that nothing names are handed out again at once (heap/addresses.h)
  uint64_t seed = 1;

  bool moves() const { return promote != 0 || deletion != 0; }
  bool operator==(const Stress&) const = default;
};

struct Knobs {
  bool statistics = false;                      // FREEHOLD_STATS
  bool verify = false;                          // FREEHOLD_VERIFY
  bool debug = false;                           // FREEHOLD_DEBUG
  bool stacks = false;                          // FREEHOLD_DEBUG=stacks
  Protection protection = Protection::kAuto;    // FREEHOLD_PROTECTION
  uint64_t heap_limit = 0;                      // FREEHOLD_HEAP_LIMIT, bytes; 0 = from the runtime's own settings, else from the machine
  uint64_t address_space = uint64_t{64} << 40;  // FREEHOLD_ADDRESS_SPACE, bytes
  uint64_t map_budget = 0;                      // FREEHOLD_MAP_BUDGET, kernel mappings; 0: heap/mappings.h chooses
  bool promotion = true;                        // FREEHOLD_COMPACTION
  bool reclaim = true;                          // FREEHOLD_RECLAIM: what no root reaches goes before an allocation fails
  uint64_t reclaim_growth = 0;                  // FREEHOLD_RECLAIM_GROWTH, percent; 0 = not by itself before
  Stress stress;                                // FREEHOLD_STRESS
  bool huge_pages = true;                       // FREEHOLD_HUGE_PAGES

  bool operator==(const Knobs&) const = default;
};

inline constinit Knobs knobs;

// Looks a public configuration key up (System.Heap.*); false when it is not set.
using ConfigurationLookup = bool (*)(const char* key, char* value, size_t capacity);

// Reads the environment and the configuration into `knobs`. False after an unknown or malformed setting, with a description in `error`.
bool read_knobs(const char* const* environment, ConfigurationLookup lookup, char* error, size_t capacity) noexcept;

// The rows of the table, for the test of docs/settings.md.
struct KnobName {
  const char* variable;
  const char* key;       // null: environment only
  const char* expected;  // the values, as error messages and docs/settings.md say them
};
size_t knob_count() noexcept;
KnobName knob_name(size_t index) noexcept;

// Bytes with an optional suffix K, M, G or T. False when malformed or zero.
bool parse_size(const char* text, uint64_t* bytes) noexcept;

}  // namespace freehold::core
