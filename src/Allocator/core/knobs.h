// The settings of the heap: environment variables FREEHOLD_*, and their counterparts as runtime configuration (System.Heap.*), which the MSBuild
// properties Freehold* set. core/knobs.inc is the table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/settings.h"

namespace freehold::core {

enum class Protection : uint8_t { kAuto, kUserfaultfd, kMprotect };

// When what no root reaches goes: never but by Heap.Reclaim; also in GC.Collect and before an allocation fails; also whenever the heap has grown. kReport: as kOff, and it is told of.
enum class Reclaim : uint8_t { kOff, kManual, kAuto, kReport };

// FREEHOLD_STRESS: forces the rare paths of promotion, in any program.
struct Stress {
  uint32_t promote = 0;   // microseconds between rounds that move a random half of all blocks, which are small then; 0 = off
  uint32_t deletion = 0;  // deletions of a thread between such rounds, which the deleting thread itself makes; 0 = off
  uint32_t delay = 0;     // at most so many microseconds pass between two steps (core/stress.h)
  uint32_t reclaim = 0;   // microseconds between deletions of all that no root reaches (heap/reachability.h); 0 = off
  uint32_t preempt =
      0;  // at most so many microseconds a thread is preempted at a random instruction (runtime/preemption.h); 0 = off. Rounds and remaps go on meanwhile
  bool fault = false;     // nothing is patched in bulk: every stale reference faults
  bool sites = false;     // fault, and a field keeps its old name until a place in the code uses it that has faulted before (runtime/code_sites.h)
  bool dedangle = false;  // a remap follows each round
  bool reuse = false;     // the same, and addresses that nothing names are handed out again at once (heap/addresses.h)
  uint64_t seed = 1;
  bool only_seed = false;  // nothing else was given: `promote` is the default

  bool moves() const { return promote != 0 || deletion != 0; }
  bool operator==(const Stress&) const = default;
};

inline constexpr size_t kPathAtMost = 1024;

struct Knobs {
  bool statistics = false;                      // FREEHOLD_STATS
  bool verify = false;                          // FREEHOLD_VERIFY
  bool debug = false;                           // FREEHOLD_DEBUG
  bool stacks = false;                          // FREEHOLD_DEBUG=stacks
  uint64_t sample = 0;                          // FREEHOLD_SAMPLE: of so many small objects one is guarded (heap/guarded_choice.h); 0 = none
  Protection protection = Protection::kAuto;    // FREEHOLD_PROTECTION
  uint64_t heap_limit = 0;                      // FREEHOLD_HEAP_LIMIT, bytes; 0 = from the runtime's own settings, else from the machine
  uint64_t memory_limit = 0;                    // FREEHOLD_MEMORY_LIMIT, bytes; 0 = the container's, or none; settings::kNoLimit: none
  uint64_t address_space = uint64_t{64} << 40;  // FREEHOLD_ADDRESS_SPACE, bytes
  uint64_t map_budget = 0;                      // FREEHOLD_MAP_BUDGET, kernel mappings; 0: heap/mappings.h chooses
  bool promotion = true;                        // FREEHOLD_COMPACTION
  Reclaim reclaim = Reclaim::kAuto;             // FREEHOLD_RECLAIM
  uint64_t reclaim_growth = 100;                // FREEHOLD_RECLAIM_GROWTH, percent
  bool reclaim_concurrent = true;               // FREEHOLD_RECLAIM_CONCURRENT
  bool reclaim_young = true;                    // FREEHOLD_RECLAIM_YOUNG
  uint64_t reclaim_workers = 0;                 // FREEHOLD_RECLAIM_WORKERS; 0: heap/marking_team.h chooses
  Stress stress;                                // FREEHOLD_STRESS
  bool huge_pages = true;                       // FREEHOLD_HUGE_PAGES
  bool diagnostics = false;                     // FREEHOLD_DIAGNOSTICS
  char deaths[kPathAtMost] = {};                // FREEHOLD_DEATHS; empty: none

  bool reclaims() const { return reclaim == Reclaim::kManual || reclaim == Reclaim::kAuto; }
  bool reclaims_by_itself() const { return reclaim == Reclaim::kAuto; }
  // Where a marking beside the threads may be of young objects alone.
  bool reclaims_young() const { return reclaim_young && reclaims_by_itself() && reclaim_concurrent && !debug; }
  bool reports_leaks() const { return reclaim == Reclaim::kReport; }
  bool records_deaths() const { return deaths[0] != 0; }
  bool samples_allocations() const { return (reports_leaks() && !stacks) || records_deaths(); }
  // Debug mode guards all of them.
  bool guards_samples() const { return sample != 0 && !debug; }
  bool operator==(const Knobs&) const = default;
};

inline constinit Knobs knobs;

// Reads the environment and the configuration into `knobs`. False after an unknown or malformed setting, with a description in `error`.
bool read_knobs(const char* const* environment, settings::Lookup lookup, char* error, size_t capacity) noexcept;

extern const settings::Table knob_table;

}  // namespace freehold::core
