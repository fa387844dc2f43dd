// What the fault handler did for references to objects that were promoted. Relaxed atomics, written in the handler, read by the statistics.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehold::core {

struct FaultCounters {
  std::atomic<uint64_t> repairs;          // faults that were repaired
  std::atomic<uint64_t> slots;            // references and byrefs of frames that were made current
  std::atomic<uint64_t> parents;          // fields of objects that were made current
  std::atomic<uint64_t> operand_repairs;  // repairs by the instruction's operand alone: no map, or not in it
  std::atomic<uint64_t> parentless;       // repairs that found no field to mend
  std::atomic<uint64_t> sites;            // places in the code where that happened; counted with FREEHOLD_STRESS=sites only
  std::atomic<uint64_t> waits;            // faults that waited for a block being promoted, or found its promotion over
};
inline constinit FaultCounters fault_counters = {};

}  // namespace freehold::core
