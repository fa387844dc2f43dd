// The GC interface as NativeAOT calls it: an object whose first word points to a table of functions, in the order of IGCHeap and IGCHeapInternal.
// A table of typed pointers instead of a C++ class, so that the order is visible and every offset is asserted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/heap.h"

#include <layout.h>

namespace freehold::runtime {

struct GcHeap;
using heap::AllocationContext;

struct FinalizerWorkItem {
  FinalizerWorkItem* next;
  void (*callback)(FinalizerWorkItem*);
};
struct NoGcRegionCallback : FinalizerWorkItem {
  bool scheduled;
  bool abandoned;
};
static_assert(sizeof(NoGcRegionCallback) == 24);

// GC.GetGCMemoryInfo: what the runtime wants filled in.
struct MemoryInfo {
  uint64_t *high_load_threshold, *total_available, *memory_load, *heap_size, *fragmentation, *committed, *promoted, *pinned_objects, *pending_finalizers,
      *index;
  uint32_t *generation, *pause_percentage;
  bool *compacting, *concurrent;
  uint64_t *generations, *pauses;
};

using NotCalled = uint64_t (*)(GcHeap*);  // slots that NativeAOT does not call: they return 0
inline uint64_t not_called(GcHeap*) { return 0; }

// What versions have appended to an interface, and do not call. Without any it takes no room; the name of the interface makes that a type of its own.
template <typename Interface, size_t count>
struct Appended {
  NotCalled slots[count];
  constexpr Appended() {
    for (NotCalled& slot : slots) slot = not_called;
  }
};
template <typename Interface>
struct Appended<Interface, 0> {};

struct GcHeapTable {
  bool (*is_valid_segment_size)(GcHeap*, size_t);     // 00
  bool (*is_valid_gen0_max_size)(GcHeap*, size_t);    // 01
  size_t (*valid_segment_size)(GcHeap*, bool large);  // 02
  void (*set_reserved_limit)(GcHeap*, size_t);        // 03
  NotCalled concurrent[5];                            // 04..08
  int32_t (*wait_concurrent)(GcHeap*, int32_t);       // 09
  size_t (*finalizable_count)(GcHeap*);               // 0a
  void* (*next_finalizable)(GcHeap*);                 // 0b
  void (*memory_info)(GcHeap*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint64_t*, uint32_t*,
                      uint32_t*, bool*, bool*, uint64_t*, uint64_t*, int32_t);                                // 0c
  uint32_t (*memory_load)(GcHeap*);                                                                           // 0d
  int32_t (*latency_mode)(GcHeap*);                                                                           // 0e
  int32_t (*set_latency_mode)(GcHeap*, int32_t);                                                              // 0f
  int32_t (*loh_compaction)(GcHeap*);                                                                         // 10
  void (*set_loh_compaction)(GcHeap*, int32_t);                                                               // 11
  bool (*register_full_gc)(GcHeap*, uint32_t, uint32_t);                                                      // 12
  bool (*cancel_full_gc)(GcHeap*);                                                                            // 13
  int32_t (*wait_full_gc_approach)(GcHeap*, int32_t);                                                         // 14
  int32_t (*wait_full_gc_complete)(GcHeap*, int32_t);                                                         // 15
  uint32_t (*generation)(GcHeap*, void*);                                                                     // 16
  int32_t (*collection_count)(GcHeap*, int32_t, int32_t);                                                     // 17
  int32_t (*start_no_gc)(GcHeap*, uint64_t, bool, uint64_t, bool);                                            // 18
  int32_t (*end_no_gc)(GcHeap*);                                                                              // 19
  size_t (*bytes_in_use)(GcHeap*);                                                                            // 1a
  uint64_t (*allocated_bytes)(GcHeap*);                                                                       // 1b
  int32_t (*collect)(GcHeap*, int32_t, bool, int32_t);                                                        // 1c
  uint32_t (*max_generation)(GcHeap*);                                                                        // 1d
  void (*suppress_finalizer)(GcHeap*, void*);                                                                 // 1e
  bool (*register_finalizer)(GcHeap*, int32_t, void*);                                                        // 1f
  int32_t (*percent_time_in_gc)(GcHeap*);                                                                     // 20
  size_t (*generation_size)(GcHeap*, int32_t);                                                                // 21
  int32_t (*initialize)(GcHeap*);                                                                             // 22
  bool (*is_promoted)(GcHeap*, void*);                                                                        // 23
  bool (*is_heap_pointer)(GcHeap*, void*, bool);                                                              // 24
  uint32_t (*condemned_generation)(GcHeap*);                                                                  // 25
  bool (*in_progress)(GcHeap*, bool);                                                                         // 26
  uint32_t (*count)(GcHeap*);                                                                                 // 27
  bool (*uses_context)(GcHeap*, AllocationContext*, int32_t);                                                 // 28
  bool (*is_ephemeral)(GcHeap*, void*);                                                                       // 29
  uint32_t (*wait_until_complete)(GcHeap*, bool);                                                             // 2a
  void (*fix_context)(GcHeap*, AllocationContext*, void*, void*);                                             // 2b
  size_t (*current_size)(GcHeap*);                                                                            // 2c
  void (*set_in_progress)(GcHeap*, bool);                                                                     // 2d
  bool (*structures_valid)(GcHeap*);                                                                          // 2e
  void (*set_suspension_pending)(GcHeap*, bool);                                                              // 2f
  void (*set_scaling_factor)(GcHeap*, float);                                                                 // 30
  void (*shut_down)(GcHeap*);                                                                                 // 31
  size_t (*last_start)(GcHeap*, int32_t);                                                                     // 32
  size_t (*last_duration)(GcHeap*, int32_t);                                                                  // 33
  size_t (*now)(GcHeap*);                                                                                     // 34
  void* (*allocate)(GcHeap*, AllocationContext*, size_t, uint32_t);                                           // 35
  void (*publish)(GcHeap*, uint8_t*);                                                                         // 36
  void (*set_wait_event)(GcHeap*);                                                                            // 37
  void (*reset_wait_event)(GcHeap*);                                                                          // 38
  bool (*is_large)(GcHeap*, void*);                                                                           // 39
  NotCalled object_walk[3];                                                                                   // 3a..3c
  NotCalled diagnostics[11];                                                                                  // 3d..47
  NotCalled stress;                                                                                           // 48
  void* (*register_frozen)(GcHeap*, const void*);                                                             // 49
  void (*unregister_frozen)(GcHeap*, void*);                                                                  // 4a
  bool (*is_frozen)(GcHeap*, void*);                                                                          // 4b
  NotCalled control_events[2];                                                                                // 4c..4d
  uint32_t (*generation_with_range)(GcHeap*, void*, uint8_t**, uint8_t**, uint8_t**);                         // 4e
  int64_t (*total_pause)(GcHeap*);                                                                            // 4f
  void (*configuration_values)(GcHeap*, void*, void (*)(void*, const char*, const char*, int32_t, int64_t));  // 50
  void (*update_frozen)(GcHeap*, void*, uint8_t*, uint8_t*);                                                  // 51
  int32_t (*refresh_memory_limit)(GcHeap*);                                                                   // 52
  int32_t (*enable_no_gc_callback)(GcHeap*, NoGcRegionCallback*, uint64_t);                                   // 53
  FinalizerWorkItem* (*extra_finalizer_work)(GcHeap*);                                                        // 54
  uint64_t (*generation_budget)(GcHeap*, int32_t);                                                            // 55
  size_t (*loh_threshold)(GcHeap*);                                                                           // 56
  NotCalled heap_walk;                                                                                        // 57
  [[no_unique_address]] Appended<struct IGCHeap, FREEHOLD_GC_HEAP_SLOTS - 0x58> to_heap;
  // IGCHeapInternal
  int32_t (*heap_count)(GcHeap*);              // 00
  int32_t (*home_heap)(GcHeap*);               // 01
  size_t (*promoted_bytes)(GcHeap*, int32_t);  // 02
  [[no_unique_address]] Appended<struct IGCHeapInternal, FREEHOLD_GC_HEAP_INTERNAL_SLOTS - 3> to_internal;
};
#define FREEHOLD_SLOT(member, slot) static_assert(offsetof(GcHeapTable, member) == (slot) * sizeof(void*))
FREEHOLD_SLOT(valid_segment_size, 0x02);
FREEHOLD_SLOT(wait_concurrent, 0x09);
FREEHOLD_SLOT(memory_info, 0x0c);
FREEHOLD_SLOT(latency_mode, 0x0e);
FREEHOLD_SLOT(generation, 0x16);
FREEHOLD_SLOT(bytes_in_use, 0x1a);
FREEHOLD_SLOT(collect, 0x1c);
FREEHOLD_SLOT(suppress_finalizer, 0x1e);
FREEHOLD_SLOT(initialize, 0x22);
FREEHOLD_SLOT(uses_context, 0x28);
FREEHOLD_SLOT(wait_until_complete, 0x2a);
FREEHOLD_SLOT(set_in_progress, 0x2d);
FREEHOLD_SLOT(now, 0x34);
FREEHOLD_SLOT(allocate, 0x35);
FREEHOLD_SLOT(set_wait_event, 0x37);
FREEHOLD_SLOT(reset_wait_event, 0x38);
FREEHOLD_SLOT(stress, 0x48);
FREEHOLD_SLOT(register_frozen, 0x49);
FREEHOLD_SLOT(generation_with_range, 0x4e);
FREEHOLD_SLOT(update_frozen, 0x51);
FREEHOLD_SLOT(extra_finalizer_work, 0x54);
FREEHOLD_SLOT(loh_threshold, 0x56);
FREEHOLD_SLOT(heap_count, FREEHOLD_GC_HEAP_SLOTS);
#undef FREEHOLD_SLOT
static_assert(sizeof(GcHeapTable) == (FREEHOLD_GC_HEAP_SLOTS + FREEHOLD_GC_HEAP_INTERNAL_SLOTS) * sizeof(void*));

struct GcHeap {
  const GcHeapTable* table;
};

// gc_settings.cpp: what the program asks of System.GC and GCSettings.
void fill_memory_info(const MemoryInfo& info, int32_t kind) noexcept;
int32_t latency_mode() noexcept;
int32_t set_latency_mode(int32_t mode) noexcept;
int32_t loh_compaction_mode() noexcept;
void set_loh_compaction_mode(int32_t mode) noexcept;
int32_t start_no_gc_region(uint64_t total) noexcept;
int32_t end_no_gc_region() noexcept;
int32_t enable_no_gc_callback(NoGcRegionCallback* item, uint64_t threshold) noexcept;
FinalizerWorkItem* take_finalizer_work() noexcept;
// Allocation's slow path: runs the callback of a no-GC region whose threshold was passed. One load when there is none.
void note_allocation() noexcept;
// Whether there is one: then every way to more memory leads there.
bool allocations_are_noted() noexcept;
int32_t refresh_memory_limit() noexcept;
// Memory for managed objects, bytes: the heap's limit, which may be set above what there is.
uint64_t available_memory() noexcept;
// Per cent of the machine's memory, or of the control group's, that is in use.
uint32_t memory_load() noexcept;

}  // namespace freehold::runtime
