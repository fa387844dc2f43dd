#include "runtime/suspension.h"

#include <atomic>
#include <cstdio>

#include "Platform/fair_lock.h"
#include "core/module_state.h"
#include "core/stop_counters.h"
#include "core/stop_spacing.h"
#include "diag/verify.h"
#include "heap/forwarding.h"
#include "heap/heap.h"
#include "heap/maintenance.h"
#include "heap/phases.h"
#include "heap/walk.h"
#include "os/kernel.h"
#include "runtime/collections.h"
#include "runtime/frozen_segments.h"
#include "runtime/runtime_imports.h"
#include "runtime/threads_may_run.h"

namespace freehold::runtime {

namespace {

constexpr int32_t kSuspendForCollection = 1;
constexpr uint32_t kOldest = 2;
constexpr int64_t kTick = 100;  // nanoseconds: what System.TimeSpan counts

struct State {
  // Nanoseconds that threads were stopped or about to stop, by this file. Stops exclude each other; relaxed, for statistics.
  std::atomic<uint64_t> stopped_total{0}, stopped_last{0};
  // Whom the runtime last sent a signal, since it neither stood nor ran native code. The runtime calls from one thread at a time, which holds its lock of
  // threads.
  const Thread* last_signalled = nullptr;
  std::atomic<uint64_t> started{0};           // written once, before there is a second thread
  uint64_t last_asked = 0, last_resumed = 0;  // written and read while the threads are stopped
  // Only in the child of a fork, written while it has one thread.
  bool others_never_stop = false, has_no_finalizer_thread = false;
  // Whose stop it is. The runtime's own lock goes to whoever is awake, and lets nobody look between two stops.
  os::FairLock turn;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

struct RootScan : ScanContext {
  void (*fn)(const Root&, void*);
  void* argument;
};

void report_root(void** slot, ScanContext* context, uint32_t flags) noexcept {
  constexpr uint32_t kInterior = 1, kPinned = 2;
  if (slot == nullptr || *slot == nullptr) return;
  auto* scan = static_cast<RootScan*>(context);
  scan->fn({slot, (flags & kInterior) != 0, (flags & kPinned) != 0}, scan->argument);
}

// Who had to be signalled last is who came last, or nearly: the runtime asks again and again, and signals those that still run.
void note_stop(uint64_t nanoseconds) noexcept {
  core::StopCounters& counters = core::stop_counters;
  counters.stops.fetch_add(1, std::memory_order_relaxed);
  if (nanoseconds <= counters.longest.load(std::memory_order_relaxed)) return;
  counters.longest.store(nanoseconds, std::memory_order_relaxed);
  uint64_t place = 0, name[2] = {};
  for (Thread* thread = *runtime_instance()->threads; thread != nullptr; thread = thread->next) {
    if (thread != state.last_signalled) continue;
    // A frame's first word is the address that it returns to.
    void* frame = Thread::is_frame(thread->transition_frame) ? thread->transition_frame : thread->cached_frame;
    if (reinterpret_cast<uintptr_t>(frame) == Thread::kInterrupted)
      place = thread->interrupted == nullptr ? 0 : static_cast<uint64_t>(thread->interrupted->uc_mcontext.gregs[REG_RIP]);
    else if (Thread::is_frame(frame)) place = *static_cast<const uint64_t*>(frame);
    os::thread_name(static_cast<uint32_t>(thread->thread_id), reinterpret_cast<char*>(name), sizeof name);
  }
  counters.place.store(place, std::memory_order_relaxed);
  for (int i = 0; i < 2; i++) counters.name[i].store(name[i], std::memory_order_relaxed);
}

}  // namespace

extern "C" {
#ifdef FREEHOLD_HIJACK_HAS_HANDLE
void freehold_real_hijack(void* handle, Thread* thread) asm("__real_" FREEHOLD_HIJACK);
[[gnu::visibility("default")]] void freehold_hijack(void* handle, Thread* thread) asm("__wrap_" FREEHOLD_HIJACK);
void freehold_hijack(void* handle, Thread* thread) {
  state.last_signalled = thread;
  freehold_real_hijack(handle, thread);
}
#else
void freehold_real_hijack(Thread* thread) asm("__real_" FREEHOLD_HIJACK);
[[gnu::visibility("default")]] void freehold_hijack(Thread* thread) asm("__wrap_" FREEHOLD_HIJACK);
void freehold_hijack(Thread* thread) {
  state.last_signalled = thread;
  freehold_real_hijack(thread);
}
#endif
}

namespace {

// Who has missed an interval between two stops goes on before the next one. Not for ever: it may have no processor.
void let_others_go_on() noexcept {
  constexpr uint64_t kMicrosecondsBetween = 50, kAtMostNanoseconds = 20'000'000;
  if (!standing_threads.missed_interval()) return;
  for (uint64_t start = os::nanoseconds(); standing_threads.missed_interval() && threads_may_run.is_set() && os::nanoseconds() - start < kAtMostNanoseconds;)
    os::pause(kMicrosecondsBetween);
}

}  // namespace

bool can_stop_others() noexcept { return runtime_instance()->code_manager != nullptr && !state.others_never_stop; }

void suspend_all() noexcept {
  core::leave_threads_their_time();
  state.turn.lock();
  let_others_go_on();
  // The runtime walks the stack of the thread that suspends from its deferred frame, which it expects to be set by those who may collect. A thread that
  // comes through a P/Invoke has the same in its transition frame.
  Thread& thread = tls_CurrentThread;
  if ((thread.state & Thread::kAttached) != 0 && thread.transition_frame != nullptr) thread.deferred_frame = thread.transition_frame;
  // Suspensions exclude each other from here on, but others may wait here for their turn: the time before it is another stop's.
  uint64_t start = os::nanoseconds();
  suspend_runtime(kSuspendForCollection);
  uint64_t stopped = os::nanoseconds(), free = state.last_resumed > start ? state.last_resumed : start;
  state.last_asked = free;
  note_stop(stopped - free);
}

void resume_all() noexcept {
  state.last_signalled = nullptr;
  state.last_resumed = os::nanoseconds();
  core::stop_spacing.note(state.last_asked, state.last_resumed);
  restart_runtime(true);
  state.turn.unlock();
}

int64_t total_pause() noexcept { return static_cast<int64_t>(state.stopped_total.load(std::memory_order_relaxed)) / kTick; }
void note_start() noexcept { state.started.store(os::nanoseconds(), std::memory_order_relaxed); }
uint32_t pause_share(uint32_t whole) noexcept {
  double lasted = static_cast<double>(os::nanoseconds() - state.started.load(std::memory_order_relaxed) + 1);
  double share = static_cast<double>(state.stopped_total.load(std::memory_order_relaxed)) / lasted;
  return share >= 1 ? whole : static_cast<uint32_t>(share * whole);
}
int64_t last_pause() noexcept { return static_cast<int64_t>(state.stopped_last.load(std::memory_order_relaxed)) / kTick; }

void for_each_root(void (*fn)(const Root&, void*), void* argument) noexcept {
  RootScan scan = {};
  scan.promotion = true;
  scan.fn = fn;
  scan.argument = argument;
  scan_roots(report_root, 0, 0, &scan);
}

void for_each_handle(void (*fn)(const Root&, void*), void* argument) noexcept {
  RootScan scan = {};
  scan.thread_count = 1;
  scan.fn = fn;
  scan.argument = argument;
  scan_handles(kOldest, kOldest, &scan, report_root);
  scan_dependent_handles(kOldest, kOldest, &scan, report_root);
}

namespace {

// A handle for native code, which counts references: at zero it is a weak one. What was deleted cannot be asked.
bool is_strong(void** handle) noexcept {
  uint32_t type = handle_type(handle);
  if (type != kRefCounted || *handle == nullptr) return !is_weak_handle(type);
  auto* object = reinterpret_cast<void*>(heap::current_address(reinterpret_cast<uintptr_t>(*handle)));
  return !heap::is_deleted(object) && has_native_references(object);
}

struct ValueOfRoot {
  void (*fn)(uintptr_t address, bool interior, void* argument);
  void* argument;
};
void tell_value(const Root& root, void* argument) {
  static_cast<ValueOfRoot*>(argument)->fn(reinterpret_cast<uintptr_t>(*root.slot), root.interior, static_cast<ValueOfRoot*>(argument)->argument);
}

void for_each_stack_root(void (*fn)(uintptr_t address, bool interior, void* argument), void* argument) noexcept {
  ValueOfRoot value = {fn, argument};
  for_each_root(tell_value, &value);
}

// Stacks, thread statics, and the handles that are not weak.
void for_each_strong_root(void (*fn)(uintptr_t address, bool interior, void* argument), void* argument) noexcept {
  ValueOfRoot strong = {fn, argument};
  for_each_root(tell_value, &strong);
  RootScan scan = {};
  scan.thread_count = 1;
  scan.fn = tell_value;
  scan.argument = &strong;
  scan_handles(kOldest, kOldest, &scan, [](void** handle, ScanContext* context, uint32_t flags) {
    if (is_strong(handle)) report_root(handle, context, flags);
  });
  scan_pinning_handles(kOldest, kOldest, &scan, report_root);
}

void for_each_weak(void (*fn)(uint64_t* slot, void* argument), void* argument) noexcept {
  struct Weak {
    void (*fn)(uint64_t*, void*);
    void* argument;
  } weak = {fn, argument};
  RootScan scan = {};
  scan.thread_count = 1;
  scan.fn = [](const Root& root, void* argument) {
    static_cast<Weak*>(argument)->fn(reinterpret_cast<uint64_t*>(root.slot), static_cast<Weak*>(argument)->argument);
  };
  scan.argument = &weak;
  scan_handles(kOldest, kOldest, &scan, [](void** handle, ScanContext* context, uint32_t flags) {
    if (handle_type(handle) == kWeakShort) report_root(handle, context, flags);
  });
}

// What ends when its object does. A handle whose object native code has counted references to keeps it alive.
void clear_handles(bool (*stays)(uintptr_t address, bool resurrection, void* argument), void* argument) noexcept {
  struct ClearScan : ScanContext {
    bool (*stays)(uintptr_t, bool, void*);
    void* argument;
    void** primary;
    bool is_second;

    bool stays_in(void** slot, bool resurrection) const { return *slot == nullptr || stays(reinterpret_cast<uintptr_t>(*slot), resurrection, argument); }
  } scan = {};
  scan.thread_count = 1;
  scan.stays = stays;
  scan.argument = argument;
  scan_handles(kOldest, kOldest, &scan, [](void** handle, ScanContext* context, uint32_t) {
    uint32_t type = handle_type(handle);
    if (type == kDependent || is_strong(handle)) return;
    if (!static_cast<ClearScan*>(context)->stays_in(handle, type != kWeakShort)) *handle = nullptr;
  });
  scan_dependent_handles(kOldest, kOldest, &scan, [](void** slot, ScanContext* context, uint32_t) {
    auto* scan = static_cast<ClearScan*>(context);
    if (scan->is_second && !scan->stays_in(scan->primary, true)) *scan->primary = *slot = nullptr;
    else scan->primary = slot;
    scan->is_second = !scan->is_second;
  });
}

// The runtime tells of both objects of a handle, one after the other.
void for_each_dependent(void (*fn)(uintptr_t primary, uintptr_t secondary, void* argument), void* argument) noexcept {
  struct PairScan : ScanContext {
    void (*fn)(uintptr_t, uintptr_t, void*);
    void* argument;
    uintptr_t primary;
    bool is_second;
  } scan = {};
  scan.thread_count = 1;
  scan.fn = fn;
  scan.argument = argument;
  scan_dependent_handles(kOldest, kOldest, &scan, [](void** slot, ScanContext* context, uint32_t) {
    auto* scan = static_cast<PairScan*>(context);
    auto object = reinterpret_cast<uintptr_t>(*slot);
    if (scan->is_second) scan->fn(scan->primary, object, scan->argument);
    else scan->primary = object;
    scan->is_second = !scan->is_second;
  });
}

void run_finalizers() noexcept {
  // The lock of its event may be held for ever by a thread of the parent.
  if (!state.has_no_finalizer_thread) request_finalizer_thread(true);
}

// Calls work() with the threads stopped. False: it cannot.
template <typename Work>
bool with_threads_stopped(Work work) noexcept {
  if (!can_stop_others()) return false;
  bool attached = (tls_CurrentThread.state & Thread::kAttached) != 0;
  bool cooperative = attached && leave_cooperative_mode();
  suspend_all();
  work();
  uint64_t took = os::nanoseconds() - state.last_asked;
  resume_all();
  state.stopped_last.store(took, std::memory_order_relaxed);
  state.stopped_total.fetch_add(took, std::memory_order_relaxed);
  if (cooperative) enter_cooperative_mode();
  return true;
}

bool stop_for_remap(void (*patch)(uint64_t* slot), void (*stopped)(void*), void* argument) noexcept {
  return with_threads_stopped([&]() noexcept {
    if (patch != nullptr) {
      auto patch_root = [](const Root& root, void* patch) { reinterpret_cast<void (*)(uint64_t*)>(patch)(reinterpret_cast<uint64_t*>(root.slot)); };
      for_each_root(patch_root, reinterpret_cast<void*>(patch));
      for_each_handle(patch_root, reinterpret_cast<void*>(patch));
    }
    stopped(argument);
  });
}

bool stop_for_marking(void (*stopped)(void*), void* argument) noexcept {
  return with_threads_stopped([&]() noexcept { stopped(argument); });
}

// An allocation comes here as a collection would: its frame is the deferred one.
void call_in_preemptive_mode(void (*work)(void* argument), void* argument) noexcept {
  bool cooperative = leave_cooperative_mode();
  work(argument);
  if (cooperative) enter_cooperative_mode();
}

}  // namespace

const heap::RemapSupport remap_support = {stop_for_remap, for_each_frozen_segment, call_in_preemptive_mode};
const heap::RootSupport root_support = {stop_for_marking, for_each_strong_root, for_each_dependent, for_each_frozen_segment, for_each_weak,
                                        run_finalizers,   collection_begins,    collection_ends,    for_each_stack_root,     clear_handles};

void go_on_without_other_threads(bool stand) noexcept {
  state.others_never_stop = !stand;
  // Those who waited for their turn are not here.
  state.turn.forget();
  if (stand) state.turn.lock();
  state.has_no_finalizer_thread = true;
}

bool scan_pins(const heap::PinScan& scan) noexcept {
  return with_threads_stopped([&]() noexcept {
    scan.stopped(scan.argument);
    for_each_root(
        [](const Root& root, void* argument) {
          if (root.pinned) static_cast<const heap::PinScan*>(argument)->pinned(*root.slot, static_cast<const heap::PinScan*>(argument)->argument);
        },
        const_cast<heap::PinScan*>(&scan));
    scan.seen(scan.argument);
  });
}

int64_t verify_now(char* message, size_t capacity) noexcept {
  if (capacity != 0) message[0] = 0;
  diag::Report report = {message, capacity, 0, 0, 0};
  // Nobody else is there in a child whose other threads never stop.
  bool stops = can_stop_others();
  if (stops) suspend_all();
  {
    // Only now: a thread that waits for maintenance can be stopped when it is through.
    heap::MaintenancePause pause;
    heap::set_threads_stopped(true);
    diag::verify_heap(report);
    heap::set_threads_stopped(false);
  }
  if (stops) resume_all();
  return report.violations;
}

void verify_after_phase(const char* phase) noexcept {
  if (!can_stop_others()) return;
  bool attached = (tls_CurrentThread.state & Thread::kAttached) != 0;
  bool cooperative = attached && leave_cooperative_mode();
  char message[1024];
  int64_t violations = verify_now(message, sizeof message);
  if (cooperative) enter_cooperative_mode();
  if (violations == 0) return;
  char text[1280];
  snprintf(text, sizeof text, "The heap is damaged after %s: %lld violations, the first: %s", phase, static_cast<long long>(violations), message);
  os::fail_fast(text, "Report it with this text; FREEHOLD_DEBUG=1 may show an earlier cause.");
}

}  // namespace freehold::runtime
