#include "runtime/runtime_config.h"

#include <strings.h>
#include <algorithm>
#include <cstring>

#include "core/knobs.h"
#include "runtime/runtime_imports.h"

namespace freehold::runtime {

namespace {

// What the .NET settings say; 0 = nothing.
uint64_t configured_heap_limit() noexcept {
  int64_t value = 0;
  // A process-wide limit, or the sum of those by kind of object: this heap does not keep the kinds apart.
  if (int_setting("GCHeapHardLimit", "System.GC.HeapHardLimit", &value) && value > 0) return static_cast<uint64_t>(value);
  static constexpr const char* kByKind[][2] = {{"GCHeapHardLimitSOH", "System.GC.HeapHardLimitSOH"},
                                               {"GCHeapHardLimitLOH", "System.GC.HeapHardLimitLOH"},
                                               {"GCHeapHardLimitPOH", "System.GC.HeapHardLimitPOH"}};
  uint64_t sum = 0;
  for (const auto& keys : kByKind) {
    if (int_setting(keys[0], keys[1], &value) && value > 0) sum += static_cast<uint64_t>(value);
  }
  if (sum != 0) return sum;
  uint64_t memory = physical_memory_limit(nullptr);
  if (int_setting("GCHeapHardLimitPercent", "System.GC.HeapHardLimitPercent", &value) && value > 0 && value < 100) {
    return memory / 100 * static_cast<uint64_t>(value);
  }
  static constexpr const char* kPercentByKind[][2] = {{"GCHeapHardLimitSOHPercent", "System.GC.HeapHardLimitSOHPercent"},
                                                      {"GCHeapHardLimitLOHPercent", "System.GC.HeapHardLimitLOHPercent"},
                                                      {"GCHeapHardLimitPOHPercent", "System.GC.HeapHardLimitPOHPercent"}};
  uint64_t percent = 0;
  for (const auto& keys : kPercentByKind) {
    if (int_setting(keys[0], keys[1], &value) && value > 0) percent += static_cast<uint64_t>(value);
  }
  return percent < 100 ? memory / 100 * percent : 0;
}

}  // namespace

bool public_config(const char* key, char* value, size_t capacity) noexcept {
  const auto& blob = g_compilerEmbeddedKnobsBlob;
  for (uint32_t i = 0; i < blob.count; i++) {
    if (strcasecmp(blob.text[i], key) != 0) continue;
    const char* text = blob.text[blob.count + i];
    size_t length = strlen(text);
    if (length >= capacity) return false;
    memcpy(value, text, length + 1);
    return true;
  }
  return false;
}

uint64_t heap_limit() noexcept {
  constexpr uint64_t kLeastInGroup = 20 << 20;
  if (core::knobs.heap_limit != 0) return core::knobs.heap_limit;
  if (uint64_t configured = configured_heap_limit(); configured != 0) return configured;
  bool in_group = false;
  uint64_t memory = physical_memory_limit(&in_group);
  return in_group ? std::max(memory / 4 * 3, kLeastInGroup) : memory - memory / 20;
}

uint64_t memory_limit() noexcept {
  if (core::knobs.memory_limit == settings::kNoLimit) return 0;
  if (core::knobs.memory_limit != 0) return core::knobs.memory_limit;
  bool in_group = false;
  uint64_t memory = physical_memory_limit(&in_group);
  return in_group ? memory : 0;
}

}  // namespace freehold::runtime
