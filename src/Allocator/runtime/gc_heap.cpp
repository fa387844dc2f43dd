// The functions behind the GC interface, and GC_Initialize, the one symbol that makes the runtime take this heap for its garbage collector.
// There are no generations that matter; no finalizer runs but from Heap.Delete, or for what marking (GC.Collect, Heap.Reclaim) has found.
#include <strings.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/knobs.h"
#include "core/object.h"
#include "core/stop_request.h"
#include "diag/death_file.h"
#include "diag/statistics.h"
#include "heap/allocation_samples.h"
#include "heap/death_look.h"
#include "heap/finalization_queue.h"
#include "heap/giving_back.h"
#include "heap/kept_marks.h"
#include "heap/maintenance.h"
#include "heap/marking_team.h"
#include "heap/notices.h"
#include "heap/phases.h"
#include "heap/pins.h"
#include "os/kernel.h"
#include "runtime/collections.h"
#include "runtime/event.h"
#include "runtime/fault_handler.h"
#include "runtime/fork.h"
#include "runtime/frozen_segments.h"
#include "runtime/gc_heap.h"
#include "runtime/holders.h"
#include "runtime/memory_moves.h"
#include "runtime/preemption.h"
#include "runtime/runtime_config.h"
#include "runtime/runtime_imports.h"
#include "runtime/signal_masks.h"
#include "runtime/stack_trace.h"
#include "runtime/suspension.h"
#include "runtime/threads_may_run.h"

namespace freehold::runtime {

namespace {

constexpr uint32_t kOldestGeneration = 2;          // what programs expect GC.MaxGeneration to be
constexpr uint32_t kFrozenGeneration = INT32_MAX;  // as the stock collector says of objects that live for ever
constexpr size_t kLargeObjectThreshold = 85000;    // only tells which allocations arrive with the flag

std::atomic<bool> suspended{false};

int32_t collect(GcHeap*, int32_t generation, bool, int32_t mode) {
  bool cooperative = leave_cooperative_mode();
  collect_garbage(generation, mode);
  if (cooperative) enter_cooperative_mode();
  return 0;
}

void* allocate(GcHeap*, AllocationContext* context, size_t size, uint32_t flags) {
  note_allocation();
  // A thread that does little but allocate is hardly ever in managed code, where it could be stopped.
  if (core::is_stop_wanted()) {
    bool cooperative = leave_cooperative_mode();
    if (cooperative) enter_cooperative_mode();
  }
  if (heap::is_look_due(context)) [[unlikely]] {
    bool cooperative = leave_cooperative_mode();
    heap::look_at_deaths();
    if (cooperative) enter_cooperative_mode();
  }
  return heap::allocate(context, core::align_up(size, core::kObjectAlignment), flags);
}

uint32_t generation(GcHeap*, void* object) { return is_in_frozen_segment(object) ? kFrozenGeneration : 0; }

// The runtime subtracts what dead threads left unused in their chunks, and, when it has suspended the threads, what the live ones have not used yet.
uint64_t allocated_bytes(GcHeap*) {
  uint64_t total = heap::total_allocated_bytes() + dead_threads_unused_bytes();
  if (suspended.load(std::memory_order_relaxed)) {
    enumerate_contexts(
        [](AllocationContext* context, void* sum) { *static_cast<uint64_t*>(sum) += static_cast<uint64_t>(context->alloc_limit - context->alloc_ptr); },
        &total);
  }
  return total;
}

void set_sync_bit(void* object, bool value) noexcept {
  uint32_t* word = static_cast<core::Object*>(object)->sync_word();
  if (value) {
    __atomic_fetch_or(word, core::kSyncFinalizerRun, __ATOMIC_ACQ_REL);
  } else {
    __atomic_store_n(&freehold_registered_again, uint8_t{1}, __ATOMIC_RELAXED);
    __atomic_fetch_and(word, ~core::kSyncFinalizerRun, __ATOMIC_ACQ_REL);
  }
}

void configuration_values(GcHeap*, void* context, void (*report)(void*, const char*, const char*, int32_t type, int64_t)) {
  constexpr int32_t kInt64 = 0, kBoolean = 2;
  report(context, "ServerGC", "System.GC.Server", kBoolean, 0);
  report(context, "ConcurrentGC", "System.GC.Concurrent", kBoolean, 0);
  report(context, "GCHeapHardLimit", "System.GC.HeapHardLimit", kInt64, static_cast<int64_t>(heap::heap_limit()));
}

constinit const GcHeapTable kTable = {
    .is_valid_segment_size = [](GcHeap*, size_t) { return true; },
    .is_valid_gen0_max_size = [](GcHeap*, size_t) { return true; },
    .valid_segment_size = [](GcHeap*, bool) { return core::kMinimumObjectSize << 20; },
    .set_reserved_limit = [](GcHeap*, size_t) {},
    .concurrent = {not_called, not_called, not_called, not_called, not_called},
    .wait_concurrent = [](GcHeap*, int32_t) { return int32_t{0}; },
    .finalizable_count = [](GcHeap*) { return heap::finalizable_count(); },
    .next_finalizable = [](GcHeap*) -> void* { return nullptr; },  // never called: finalizer_thread.cpp wraps its one caller
    .memory_info = [](GcHeap*, uint64_t* a, uint64_t* b, uint64_t* c, uint64_t* d, uint64_t* e, uint64_t* f, uint64_t* g, uint64_t* h, uint64_t* i, uint64_t* j,
                      uint32_t* k, uint32_t* l, bool* m, bool* n, uint64_t* o, uint64_t* p,
                      int32_t kind) { fill_memory_info({a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p}, kind); },
    .memory_load = [](GcHeap*) { return memory_load(); },
    .latency_mode = [](GcHeap*) { return latency_mode(); },
    .set_latency_mode = [](GcHeap*, int32_t mode) { return set_latency_mode(mode); },
    .loh_compaction = [](GcHeap*) { return loh_compaction_mode(); },
    .set_loh_compaction = [](GcHeap*, int32_t mode) { set_loh_compaction_mode(mode); },
    .register_full_gc = [](GcHeap*, uint32_t, uint32_t) { return register_full_gc_notification(); },
    .cancel_full_gc = [](GcHeap*) { return cancel_full_gc_notification(); },
    .wait_full_gc_approach = [](GcHeap*, int32_t milliseconds) { return wait_for_full_gc_approach(milliseconds); },
    .wait_full_gc_complete = [](GcHeap*, int32_t milliseconds) { return wait_for_full_gc_complete(milliseconds); },
    .generation = generation,
    .collection_count = [](GcHeap*, int32_t generation, int32_t background) { return background != 0 ? 0 : collection_count(generation); },
    .start_no_gc = [](GcHeap*, uint64_t total, bool, uint64_t, bool) { return start_no_gc_region(total); },
    .end_no_gc = [](GcHeap*) { return end_no_gc_region(); },
    .bytes_in_use = [](GcHeap*) { return heap::total_bytes_in_use(); },
    .allocated_bytes = allocated_bytes,
    .collect = collect,
    .max_generation = [](GcHeap*) { return kOldestGeneration; },
    .suppress_finalizer = [](GcHeap*, void* object) { set_sync_bit(object, true); },
    .register_finalizer =
        [](GcHeap*, int32_t, void* object) {
          set_sync_bit(object, false);
          return true;
        },
    .percent_time_in_gc = [](GcHeap*) { return static_cast<int32_t>(pause_share(100)); },
    .generation_size = [](GcHeap*, int32_t generation) { return generation == 0 ? heap::total_bytes_in_use() : size_t{0}; },
    .initialize = [](GcHeap*) { return int32_t{0}; },
    .is_promoted = [](GcHeap*, void*) { return true; },
    .is_heap_pointer = [](GcHeap*, void* object, bool) { return heap::in_arena(reinterpret_cast<uintptr_t>(object)) || is_in_frozen_segment(object); },
    .condemned_generation = [](GcHeap*) { return uint32_t{0}; },
    .in_progress = [](GcHeap*, bool) { return suspended.load(std::memory_order_relaxed); },
    .count = [](GcHeap*) { return static_cast<uint32_t>(last_collection(CollectionKind::kAny).index); },
    .uses_context = [](GcHeap*, AllocationContext*, int32_t) { return true; },
    .is_ephemeral = [](GcHeap*, void*) { return false; },
    .wait_until_complete =
        [](GcHeap*, bool) {
          standing_threads.wait();
          preempt_after_stop();
          return uint32_t{0};
        },
    // A thread ends: its chunk is given back. The runtime calls this for nothing else.
    .fix_context = [](GcHeap*, AllocationContext* context, void*, void*) { heap::retire(context); },
    .current_size = [](GcHeap*) { return heap::total_bytes_in_use(); },
    .set_in_progress = [](GcHeap*, bool value) { suspended.store(value, std::memory_order_relaxed); },
    .structures_valid = [](GcHeap*) { return true; },
    .set_suspension_pending = [](GcHeap*, bool) {},
    .set_scaling_factor = [](GcHeap*, float) {},
    .shut_down = [](GcHeap*) {},
    .last_start = [](GcHeap*, int32_t) { return size_t{0}; },
    .last_duration = [](GcHeap*, int32_t) { return size_t{0}; },
    .now = [](GcHeap*) { return static_cast<size_t>(Event::now()); },
    .allocate = allocate,
    .publish = [](GcHeap*, uint8_t*) {},
    .set_wait_event = [](GcHeap*) { threads_may_run.set(); },
    .reset_wait_event =
        [](GcHeap*) {
          standing_threads.begin_stop();
          threads_may_run.reset();
        },
    .is_large = [](GcHeap*, void* object) { return static_cast<core::Object*>(object)->size() >= kLargeObjectThreshold; },
    .object_walk = {not_called, not_called, not_called},
    .diagnostics = {not_called, not_called, not_called, not_called, not_called, not_called, not_called, not_called, not_called, not_called, not_called},
    .stress = not_called,
    .register_frozen = [](GcHeap*, const void* segment) { return register_frozen_segment(*static_cast<const SegmentDescription*>(segment)); },
    .unregister_frozen = [](GcHeap*, void* handle) { unregister_frozen_segment(handle); },
    .is_frozen = [](GcHeap*, void* object) { return is_in_frozen_segment(object); },
    .control_events = {not_called, not_called},
    .generation_with_range =
        [](GcHeap*, void* object, uint8_t** start, uint8_t** allocated, uint8_t** reserved) {
          *start = *allocated = *reserved = nullptr;
          return generation(nullptr, object);
        },
    .total_pause = [](GcHeap*) { return total_pause(); },
    .configuration_values = configuration_values,
    .update_frozen = [](GcHeap*, void* handle, uint8_t* allocated, uint8_t* committed) { update_frozen_segment(handle, allocated, committed); },
    .refresh_memory_limit = [](GcHeap*) { return refresh_memory_limit(); },
    .enable_no_gc_callback = [](GcHeap*, NoGcRegionCallback* item, uint64_t threshold) { return enable_no_gc_callback(item, threshold); },
    .extra_finalizer_work = [](GcHeap*) { return take_finalizer_work(); },
    .generation_budget = [](GcHeap*, int32_t) { return available_memory(); },
    .loh_threshold = [](GcHeap*) { return kLargeObjectThreshold; },
    .heap_walk = not_called,
    .to_heap = {},
    .heap_count = [](GcHeap*) { return int32_t{1}; },
    .home_heap = [](GcHeap*) { return int32_t{0}; },
    .promoted_bytes = [](GcHeap*, int32_t) { return size_t{0}; },
    .to_internal = {},
};

GcHeap the_heap = {&kTable};

void print_statistics() noexcept {
  char text[8192];
  diag::format_statistics(text, sizeof text);
  os::write_error(text);
}

// Whether slots on the stack that may be anything are told of as references.
bool is_conservative() noexcept {
  char value[8] = {};
  bool wanted = public_config("System.GC.Conservative", value, sizeof value) && (strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0);
  return runtime_instance()->conservative || wanted;
}

// A stop waits for threads in cooperative mode.
bool may_wait() noexcept { return (tls_CurrentThread.state & Thread::kAttached) == 0 || tls_CurrentThread.transition_frame != nullptr; }

// FREEHOLD_DEATHS. What fails says so.
bool start_recording_deaths() noexcept {
  char reason[512], text[1024];
  heap::set_holder_support(&holder_support);
  bool has_file = diag::prepare_death_file(core::knobs.deaths, reason, sizeof reason);
  if (has_file && heap::begin_deaths()) return true;
  snprintf(text, sizeof text, "Freehold: FREEHOLD_DEATHS: %s.\n", has_file ? "there is no memory for its tables, 16 MB" : reason);
  os::write_error(text);
  return false;
}

// Settings, address space, faults. What fails says so on standard error.
bool start() noexcept {
  if (!is_known_runtime()) {
    os::write_error("Freehold: this program was linked with another NativeAOT runtime than " FREEHOLD_RUNTIME_VERSION
                    ", whose data structures are not known. Publish with the ILCompiler version that the package Freehold brings.\n");
    return false;
  }
  if (is_conservative()) {
    os::write_error(
        "Freehold: conservative scanning of stacks (DOTNET_gcConservative, System.GC.Conservative) does not go with objects that move. Leave the setting "
        "out.\n");
    return false;
  }
  char error[512];
  if (!core::read_knobs(environ, public_config, error, sizeof error)) {
    os::write_error("Freehold: ");
    os::write_error(error);
    os::write_error("\n");
    return false;
  }
  note_start();
  unblock_faults();  // the first thread has the mask of whoever started the program
  configure_memory_moves();
  // Before the heap: its probes of pages that may be gone are answered by the handler.
  if (!install_fault_handlers()) {
    os::write_error("Freehold: the handlers of SIGSEGV and SIGBUS cannot be installed.\n");
    return false;
  }
  core::trapped = &RhpTrapThreads;
  if (!heap::initialize(heap_limit()) || !own_faults_of_arena()) return false;
  if (!watch_forks()) return false;
  heap::set_pin_scanner(scan_pins);
  heap::set_remap_support(&remap_support);
  heap::set_root_support(&root_support);
  heap::set_stack_walker(walk_stack);
  uint64_t memory = memory_limit();
  heap::set_process_memory(memory != 0 ? memory : physical_memory_limit(nullptr));
  heap::join_budget(memory, core::knobs.memory_limit == 0, may_wait);
  heap::set_process_processors(process_processors());
  if (core::knobs.records_deaths() && !start_recording_deaths()) return false;
  if (core::knobs.stress.preempt != 0 && !start_preemption()) return false;
  if (core::knobs.verify) heap::set_phase_hook(verify_after_phase);
  if (core::knobs.statistics) atexit(print_statistics);
  return true;
}

}  // namespace

}  // namespace freehold::runtime

extern "C" {

// For runtime/allocation.S. Whether an object of `size` bytes fits now; cooperative mode without a frame.
bool freehold_extend(freehold::heap::AllocationContext* context, size_t size) noexcept {
  return !freehold::runtime::allocations_are_noted() && freehold::heap::extend(context, size);
}

struct GcVersion {
  uint32_t major, minor, build;
  const char* name;
};
static_assert(offsetof(GcVersion, name) == 16);

[[gnu::visibility("default")]] void GC_VersionInfo(GcVersion* version) {
  version->major = 5;
  version->minor = FREEHOLD_GC_INTERFACE_MINOR;
  version->build = 0;
  version->name = "Freehold";
}

// Returns an HRESULT. The heap's table is also published where the runtime's handle table looks for it.
[[gnu::visibility("default")]] int32_t GC_Initialize(void*, void** heap, void** handle_manager, void*) {
  using namespace freehold::runtime;
  constexpr auto kFailed = static_cast<int32_t>(0x80004005), kOutOfMemory = static_cast<int32_t>(0x8007000e);
  constexpr int32_t kWorkstation = 1;
  if (!start()) return kFailed;
  g_theGCHeap = &the_heap;
  g_gc_heap_type = kWorkstation;
  // No address is ephemeral: a barrier of the runtime's own that is still in the program marks none of its cards, which do not exist.
  g_ephemeral_low = reinterpret_cast<uint8_t*>(UINTPTR_MAX);
  void* manager = create_handle_manager();
  if (manager == nullptr) return kOutOfMemory;
  *heap = &the_heap;
  *handle_manager = manager;
  return 0;
}
}
