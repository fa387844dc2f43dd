// The entry points that managed code calls. Cooperative mode without a frame: none may fault, so memory of objects is only read through
// recoverable accesses; none blocks (the ordinary P/Invokes excepted).
#include "runtime/abi.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/object.h"
#include "diag/death_file.h"
#include "diag/diagnostic_socket.h"
#include "diag/statistics.h"
#include "heap/dead_locks.h"
#include "heap/death_look.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/graph_deletion.h"
#include "heap/heap.h"
#include "heap/huge_ends.h"
#include "heap/leaks.h"
#include "heap/maintenance.h"
#include "heap/notices.h"
#include "heap/outgrown_arrays.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap/running_finalizers.h"
#include "heap/scopes.h"
#include "heap/stack_store.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "os/kernel.h"
#include "os/meshing.h"
#include "runtime/finalizer.h"
#include "runtime/heap_dump.h"
#include "runtime/native_handles.h"
#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"

using freehold::core::MethodTable;

extern "C" {

int32_t freehold_delete_finalized(void* object) noexcept { return static_cast<int32_t>(freehold::heap::delete_finalized(object)); }
int32_t freehold_delete_itself(void* object) noexcept { return static_cast<int32_t>(freehold::heap::delete_itself(object)); }
int32_t freehold_delete_part(void* object) noexcept { return static_cast<int32_t>(freehold::heap::delete_part(object)); }

int32_t freehold_take_dead_lock() noexcept { return static_cast<int32_t>(freehold::heap::take_dead_lock()); }

int32_t freehold_claim_finalizer(void* object) noexcept {
  uint64_t type;
  if (!freehold::core::arena.contains(reinterpret_cast<uintptr_t>(object))) return 0;
  while (!freehold::core::try_load(static_cast<const uint64_t*>(object), &type)) {
    object = freehold::heap::find_again(object);
    if (object == nullptr) return 0;
  }
  if (!reinterpret_cast<const MethodTable*>(type)->has_finalizer() || freehold::heap::is_shared(object)) return 0;
  return freehold::heap::claim_finalizer(reinterpret_cast<uintptr_t>(object)) ? 1 : 0;
}

void freehold_begin_finalizer(void* running) noexcept { freehold::heap::begin_finalizer(static_cast<freehold::heap::RunningFinalizer*>(running)); }

void freehold_end_finalizer(const void* running) noexcept { freehold::heap::end_finalizer(static_cast<const freehold::heap::RunningFinalizer*>(running)); }

int32_t freehold_delete_postponed(void* object) noexcept { return static_cast<int32_t>(freehold::heap::delete_postponed(object)); }

void* freehold_finalizer(void* object) noexcept {
  uint64_t type;
  // Deletion has just set a bit of its header; it may have moved since.
  while (!freehold::core::try_load(static_cast<const uint64_t*>(object), &type)) {
    auto current = reinterpret_cast<void*>(freehold::heap::current_address(reinterpret_cast<uintptr_t>(object)));
    if (current == object) return nullptr;
    object = current;
  }
  return freehold::runtime::finalizer_of(reinterpret_cast<const MethodTable*>(type));
}

void freehold_take_history(void* history) noexcept { *static_cast<freehold::heap::History*>(history) = freehold::heap::take_history(); }

int32_t freehold_read_stack(uint32_t stack, uintptr_t* addresses, int32_t capacity) noexcept {
  return static_cast<int32_t>(freehold::heap::read_stack(stack, addresses, static_cast<size_t>(capacity)));
}

void freehold_share(void* object) noexcept { freehold::heap::share(object); }
int32_t freehold_is_deletable(void* object) noexcept {
  return freehold::core::arena.contains(reinterpret_cast<uintptr_t>(object)) && !freehold::heap::is_shared(object) ? 1 : 0;
}
int32_t freehold_is_deleted(void* object) noexcept { return freehold::heap::is_deleted(object) || freehold::heap::is_postponed(object) ? 1 : 0; }

void* freehold_pin(void* address) noexcept { return freehold::heap::pin(address); }

uintptr_t freehold_current_address(uintptr_t address) noexcept { return freehold::heap::current_address(address); }

uint64_t freehold_is_same(uintptr_t a, uintptr_t b) noexcept { return freehold::heap::is_same(a, b) ? 1 : 0; }

intptr_t freehold_difference(uintptr_t a, uintptr_t b) noexcept { return freehold::heap::difference(a, b); }

void freehold_get_statistics(uint64_t* values, int32_t count) noexcept { freehold::diag::collect_statistics(values, count); }

void freehold_release_unpinned() noexcept { freehold::heap::release_what_no_thread_pins(); }

void freehold_end_huge() noexcept { freehold::heap::end_listed_huge(); }

void freehold_let_stop() noexcept {}

int64_t freehold_promote() noexcept { return static_cast<int64_t>(freehold::heap::promote(freehold::heap::PromotionScope::kSparse)); }

void freehold_refuse_remaps(int32_t refuse) noexcept { freehold::heap::refuse_remaps(refuse != 0); }

int32_t freehold_find_unreachable(void* entries, int32_t capacity) noexcept {
  return static_cast<int32_t>(freehold::heap::find_unreachable_types(static_cast<freehold::heap::UnreachableType*>(entries), static_cast<size_t>(capacity)));
}

int32_t freehold_find_leaks(void* entries, int32_t capacity) noexcept {
  return static_cast<int32_t>(freehold::heap::find_leaks(static_cast<freehold::heap::LeakEntry*>(entries), static_cast<size_t>(capacity)));
}

int32_t freehold_find_live(void* entries, int32_t capacity) noexcept {
  return static_cast<int32_t>(freehold::heap::find_live_by_place(static_cast<freehold::heap::LeakEntry*>(entries), static_cast<size_t>(capacity)));
}

int32_t freehold_reports_leaks() noexcept { return freehold::core::knobs.reports_leaks() ? 1 : 0; }

int32_t freehold_records_deaths() noexcept { return freehold::heap::records_deaths() ? 1 : 0; }

int32_t freehold_leave_out_of_deaths(int32_t leave) noexcept { return std::exchange(freehold::heap::thread_heap.is_not_sampled, leave != 0) ? 1 : 0; }

// The sizes of the tables are those of heap/death_table.h.
void freehold_take_deaths(void* rows, void* fields, void* totals) noexcept {
  using namespace freehold::heap;
  take_deaths(static_cast<DeathRow*>(rows), static_cast<DeathFieldRow*>(fields), static_cast<DeathTotals*>(totals));
}

void freehold_add_to_deaths(const char* json, int64_t length) noexcept { freehold::diag::add_to_death_file(json, static_cast<size_t>(length)); }

void freehold_end_deaths(int32_t keep) noexcept {
  static char told[512];
  char reason[512], text[1024];
  // A full disk is the same each time.
  if (freehold::diag::end_death_file(keep != 0, reason, sizeof reason) || strcmp(reason, told) == 0) return;
  memcpy(told, reason, sizeof told);
  snprintf(text, sizeof text, "Freehold: FREEHOLD_DEATHS: %s.\n", reason);
  freehold::os::write_error(text);
}

void freehold_call_at_exit(void* function) noexcept {
  static void (*called)();
  static pid_t process;
  called = reinterpret_cast<void (*)()>(function);
  process = getpid();
  // Managed code in the child of a fork may wait for a thread that is not there.
  atexit([] {
    if (getpid() == process) called();
  });
}

void freehold_write_error(const char* text) noexcept { freehold::os::write_error(text); }

void freehold_listen(uint32_t notices) noexcept { freehold::heap::listen(notices); }

void freehold_wait_for_notice(void* given) noexcept { freehold::heap::wait_for_notice(static_cast<freehold::heap::NoticeGiven*>(given)); }

void freehold_trace(int32_t on) noexcept { freehold::heap::set_tracing(on != 0); }

int32_t freehold_take_traces(void* events, int32_t capacity, uint64_t* lost) noexcept {
  return static_cast<int32_t>(freehold::heap::take_traces(static_cast<freehold::heap::TraceEvent*>(events), static_cast<size_t>(capacity), lost));
}

int32_t freehold_delete_graph(const uint64_t* root, const uint64_t* finalizable, void* result) noexcept {
  return static_cast<int32_t>(freehold::heap::delete_graph(root, finalizable, static_cast<freehold::heap::GraphDeletion*>(result)));
}

void freehold_delete_outgrown(const uint64_t* list, int32_t count, int32_t at_any_price, void* result) noexcept {
  freehold::heap::delete_outgrown(list, static_cast<size_t>(count), at_any_price != 0, static_cast<freehold::heap::OutgrownArrays*>(result));
}

int64_t freehold_begin_scope() noexcept { return freehold::heap::begin_scope(); }

void freehold_leave_scope(int64_t scope) noexcept { freehold::heap::leave_scope(scope); }

int32_t freehold_has_scope() noexcept { return freehold::heap::has_scope() ? 1 : 0; }

int32_t freehold_end_scope(int64_t scope, const uint64_t* finalizable, void* result) noexcept {
  return static_cast<int32_t>(freehold::heap::end_scope(scope, finalizable, static_cast<freehold::heap::ScopeDeletion*>(result)));
}

int32_t freehold_open_diagnostics() noexcept {
  if (!freehold::core::knobs.diagnostics) return 0;
  char reason[512], text[1024];
  if (freehold::diag::open_diagnostics(reason, sizeof reason)) return 1;
  // Whoever looks into the program does without; that is no reason to end it.
  snprintf(text, sizeof text,
           "Freehold: there is no socket for FREEHOLD_DIAGNOSTICS: %s. Set XDG_RUNTIME_DIR or TMPDIR to a folder that this user can write to.\n", reason);
  freehold::os::write_error(text);
  return 0;
}

void freehold_close_diagnostics() noexcept { freehold::diag::close_diagnostics(); }

int32_t freehold_dump_heap(int32_t anyway, const void* const** types, char* reason, int32_t capacity) noexcept {
  return freehold::runtime::dump_heap(anyway != 0, types, reason, static_cast<size_t>(capacity));
}
int32_t freehold_is_type(const void* type) noexcept { return static_cast<const MethodTable*>(type)->is_type() ? 1 : 0; }
void freehold_end_dump(const char* names, int64_t length) noexcept { freehold::runtime::end_dump(names, static_cast<size_t>(length)); }

int32_t freehold_next_request() noexcept { return static_cast<int32_t>(freehold::diag::next_request()); }

void freehold_answer_request(int32_t status, const char* text, int64_t length) noexcept {
  freehold::diag::answer(static_cast<freehold::diag::Status>(status), text, static_cast<size_t>(length));
}

int64_t freehold_reclaim() noexcept { return freehold::heap::reclaim(); }

// A blocking call, because of the loader's lock.
void freehold_get_handle_statistics(uint64_t* values, int32_t count) noexcept { freehold::runtime::read_handle_figures(values, static_cast<size_t>(count)); }

// The managed heap, then the heap of handles, then the meshing malloc: each by its own stop, one after the other.
int64_t freehold_verify(char* message, int64_t capacity) noexcept {
  int64_t violations = freehold::runtime::verify_now(message, static_cast<size_t>(capacity));
  const char* handles = freehold::runtime::verify_handles();
  const char* mesh = freehold_mesh_verify != nullptr ? freehold_mesh_verify() : nullptr;
  for (auto [heap, wrong] : {std::pair{"heap of handles", handles}, std::pair{"meshing malloc", mesh}}) {
    if (wrong == nullptr) continue;
    if (violations == 0) snprintf(message, static_cast<size_t>(capacity), "%s: %s", heap, wrong);
    violations++;
  }
  return violations;
}

// The type of the handle matters only when the object is gone: a strong handle still names it, and its use throws.
void* freehold_handle_get(void* handle) noexcept {
  void* object = *static_cast<void* const volatile*>(handle);
  // A handle keeps up with its object when it is read, or each reader would have to fault.
  auto current = reinterpret_cast<void*>(freehold::heap::current_address(reinterpret_cast<uintptr_t>(object)));
  if (current != object) [[unlikely]] {
    void* expected = object;
    __atomic_compare_exchange_n(static_cast<void**>(handle), &expected, current, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    object = current;
  }
  if (object == nullptr || !freehold::heap::is_deleted(object)) [[likely]]
    return object;
  uint32_t type = freehold::runtime::handle_type(handle);
  return freehold::runtime::is_weak_handle(type) || type == freehold::runtime::kRefCounted ? nullptr : object;
}
}
