// Allocation's slow path, deletion, and what the layers above ask of the heap.
#include "heap/heap.h"

#include <algorithm>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/object.h"
#include "core/stress.h"
#include "heap/addresses.h"
#include "heap/blocks.h"
#include "heap/chunks.h"
#include "heap/dead_locks.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/history.h"
#include "heap/large.h"
#include "heap/maintenance.h"
#include "heap/pins.h"
#include "heap/promotion.h"
#include "heap/reachability.h"
#include "heap/running_finalizers.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "platform/lock.h"
#include "platform/userfaultfd.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::MethodTable;
using core::Object;

namespace {

std::atomic<uint64_t> dangling_faults{0};
// From where a thread meets a deleted object to the exception that it makes next. Debug mode.
[[gnu::tls_model("initial-exec")]] thread_local constinit History met_history = {};

// More bytes than this, and an object shares no page. 0 in debug mode.
size_t shared_at_most = core::kLargeObject;

os::Lock pinned_lock;
AllocationContext pinned_context;  // all threads allocate pinned objects from one chunk: there are few

// Room for an object of `size` in the context's chunk, or in another. More than one may be needed: maintenance may take one that is new for idle.
bool make_room(AllocationContext* context, size_t size, BlockKind kind) noexcept {
  while (!extend_window(context, size)) {
    if (!next_chunk(context, size, kind)) return false;
  }
  return true;
}

uint8_t* allocate_pinned(size_t size) noexcept {
  os::LockGuard guard(pinned_lock);
  if (!make_room(&pinned_context, size, BlockKind::kPinned)) return nullptr;
  uint8_t* object = pinned_context.alloc_ptr;
  pinned_context.alloc_ptr += size;
  return object - core::kHeaderSize;
}

// One try. Memory for the object, header included, or null.
uint8_t* try_allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept {
  if (size > shared_at_most) {
    uint8_t* start = allocate_large(size, (flags & kAllocZeroingOptional) != 0);
    if (start != nullptr) add_allocated(context, size);
    if (start != nullptr && core::knobs.stacks) note_allocated(start);
    return start;
  }
  if ((flags & kAllocPinned) != 0) {
    uint8_t* start = allocate_pinned(size);
    if (start != nullptr) add_allocated(context, size);
    return start;
  }
  if (!make_room(context, size, BlockKind::kSmall)) return nullptr;
  uint8_t* object = context->alloc_ptr;
  context->alloc_ptr += size;
  return object - core::kHeaderSize;
}

// What is left to be done: all; all but the finalizer; or not the entry of the table of locks either.
enum class Deletion : uint8_t { kWhole, kFinalized, kKeepingLock };

// The part of deletion behind the deleted bit: pages of its own die at once. `type` is needed in debug mode.
[[gnu::noinline]] DeleteResult finish_large(uint8_t* start, const MethodTable* type, size_t size) noexcept {
  if (core::knobs.debug) note_deleted(start, size, type);
  release_large(start, size);
  return core::knobs.debug && waits_for_stack_pins(start) ? DeleteResult::kMayBePinned : DeleteResult::kDeleted;
}

[[gnu::noinline]] DeleteResult finish_across_pages(uint8_t* start, size_t size) noexcept {
  if (size > core::kLargeObject) return finish_large(start, nullptr, size);
  count_deleted(reinterpret_cast<uintptr_t>(start), size);
  return DeleteResult::kDeleted;
}

[[gnu::noinline]] DeleteResult finish_dead_page(size_t page) noexcept {
  recount_page(page);
  return DeleteResult::kDeleted;
}

[[gnu::noinline]] DeleteResult already_deleted(uintptr_t address) noexcept {
  register_thread();
  thread_heap.double_deletes++;
  met_history = history_of(address);
  return DeleteResult::kAlreadyDeleted;
}

// The object's memory is gone. Debug mode knows it all the same.
[[gnu::noinline]] DeleteResult dangling(uintptr_t address) noexcept {
  return history_of(address).type != nullptr ? already_deleted(address) : DeleteResult::kDangling;
}

// Where to try again after an access to an object has failed: null when its memory is gone for good.
[[gnu::noinline]] void* find_again(void* object) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  Whereabouts whereabouts = whereabouts_of(address);
  switch (whereabouts) {
    case Whereabouts::kFrozen: wait_while_frozen(address); return object;
    case Whereabouts::kMoved: return reinterpret_cast<void*>(current_address(address));
    case Whereabouts::kDead: return nullptr;
    case Whereabouts::kHere: break;
  }
  core::stress_step();
  // Whole: its block was frozen a moment ago, and is not any more. What was promoted between the questions is not, but lives.
  return is_whole(object) || whereabouts_of(address) != whereabouts ? object : nullptr;
}

// Deletion failed to read or write the object.
[[gnu::noinline]] DeleteResult delete_elsewhere(void* object, Deletion deletion) noexcept {
  void* again = find_again(object);
  if (again == nullptr) return dangling(reinterpret_cast<uintptr_t>(object));
  switch (deletion) {
    case Deletion::kKeepingLock: return delete_keeping_lock(again);
    case Deletion::kFinalized: return delete_finalized(again);
    case Deletion::kWhole: break;
  }
  return delete_object(again);
}

// Deleted bit and accounts of any object; it needs nothing else.
DeleteResult finish(uint8_t* start, uint32_t header, const MethodTable* type, size_t size, Deletion deletion) noexcept {
  ThreadHeap& heap = thread_heap;
  register_thread();
  if (!core::try_store(reinterpret_cast<uint32_t*>(start), header | core::kDeletedBit)) return delete_elsewhere(start + core::kHeaderSize, deletion);
  heap.deleted_bytes += size;
  heap.deleted_objects++;
  DeleteResult result = DeleteResult::kDeleted;
  if (size > shared_at_most) result = finish_large(start, type, size);
  else count_deleted(reinterpret_cast<uintptr_t>(start), size);
  // The caller is managed code without a frame: it cannot be stopped here, so it must not stop others.
  if (uint32_t every = core::knobs.stress.deletion; every != 0 && heap.deleted_objects % every == 0) [[unlikely]] promote(PromotionScope::kRandom, false);
  return result;
}

// All that the fast path leaves: objects with a finalizer, a hash code, a lock or a deleted bit.
// `head` is what was read of the header.
[[gnu::noinline]] DeleteResult delete_unusual(void* object, uint64_t head, const MethodTable* type, Deletion deletion) noexcept {
  auto* start = static_cast<uint8_t*>(object) - core::kHeaderSize;
  auto header = static_cast<uint32_t>(head), sync = static_cast<uint32_t>(head >> 32);
  size_t size = type->base_size;
  if (type->has_component_size()) {
    uint32_t length;
    if (!core::try_load(static_cast<const uint32_t*>(object) + 2, &length)) return delete_elsewhere(object, deletion);
    size = core::align_up(size + static_cast<size_t>(type->component_size()) * length, core::kObjectAlignment);
  }
  if ((header & core::kDeletedBit) != 0) return already_deleted(reinterpret_cast<uintptr_t>(object));
  if (type->has_finalizer() && deletion == Deletion::kWhole) {
    if (is_finalizing(object)) return DeleteResult::kDeleted;
    while ((sync & core::kSyncFinalizerRun) == 0) {
      bool claimed;
      auto* word = reinterpret_cast<uint32_t*>(object) - 1;
      if (!core::try_compare_and_swap(word, sync, sync | core::kSyncFinalizerRun, &claimed)) return delete_elsewhere(object, deletion);
      if (claimed) return DeleteResult::kNeedsFinalizer;
      if (!core::try_load(word, &sync)) return delete_elsewhere(object, deletion);
    }
  }
  if ((sync & (core::kSyncIsHashOrIndex | core::kSyncIsHash)) == core::kSyncIsHashOrIndex && deletion != Deletion::kKeepingLock) return DeleteResult::kHasSyncEntry;
  return finish(start, header, type, size, deletion);
}

// The first deletion of a thread, debug mode, and what is not in the arena.
[[gnu::noinline]] DeleteResult delete_indirectly(void* object, Deletion deletion) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return DeleteResult::kNotDeletable;
  auto* start = static_cast<uint8_t*>(object) - core::kHeaderSize;
  uint64_t head, type;
  if (!core::try_load(reinterpret_cast<const uint64_t*>(start), &head)) return delete_elsewhere(object, deletion);
  if (!core::try_load(static_cast<const uint64_t*>(object), &type)) return delete_elsewhere(object, deletion);
  return delete_unusual(object, head, reinterpret_cast<const MethodTable*>(type), deletion);
}

// Deleted bit and accounts of an object with an empty header that shares pages. Every way out is a tail call, so that no frame is needed.
[[gnu::always_inline]] inline DeleteResult delete_plain(void* object, uintptr_t offset, size_t size, Deletion deletion) noexcept {
  auto* start = static_cast<uint8_t*>(object) - core::kHeaderSize;
  ThreadHeap& heap = thread_heap;
  if (!core::try_store(reinterpret_cast<uint32_t*>(start), core::kDeletedBit)) [[unlikely]] return delete_elsewhere(object, deletion);
  heap.deleted_bytes += size;
  asm("" : "+m"(heap.deleted_objects));  // two words, not a vector: it would wait for the words that another copy of this code stores
  heap.deleted_objects++;
  if (offset % core::kPageSize + size > core::kPageSize) [[unlikely]] return finish_across_pages(start, size);
  size_t page = offset / core::kPageSize;
  uint16_t* deleted = &arena.pages[page].deleted;
  uint32_t sum = __atomic_load_n(deleted, __ATOMIC_RELAXED) + static_cast<uint32_t>(size / core::kUnit);
  *const_cast<volatile uint16_t*>(deleted) = static_cast<uint16_t>(sum);  // an atomic store would cost a register more
  if (sum >= core::kUnitsPerPage) [[unlikely]] return finish_dead_page(page);
  return DeleteResult::kDeleted;
}

// Arrays and strings with an empty header, on the threads and heaps that take the short way.
[[gnu::noinline]] DeleteResult delete_array(void* object, const MethodTable* type, Deletion deletion) noexcept {
  uint32_t length;
  if (!core::try_load(static_cast<const uint32_t*>(object) + 2, &length)) [[unlikely]] return delete_elsewhere(object, deletion);
  size_t size = core::align_up(type->base_size + static_cast<size_t>(type->component_size()) * length, core::kObjectAlignment);
  return delete_plain(object, reinterpret_cast<uintptr_t>(object) - core::kHeaderSize - arena.start, size, deletion);
}

// An object of fixed size with an empty header takes the short way; so does an array, by a jump.
[[gnu::always_inline]] inline DeleteResult delete_any(void* object, Deletion deletion) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  uintptr_t place = address - arena.start;
  ThreadHeap& heap = thread_heap;
  if (place >= heap.direct) [[unlikely]] return delete_indirectly(object, deletion);
  auto* start = static_cast<uint8_t*>(object) - core::kHeaderSize;
  uint64_t head, table;
  if (!core::try_load(reinterpret_cast<const uint64_t*>(start), &head)) [[unlikely]] return delete_elsewhere(object, deletion);
  if (!core::try_load(static_cast<const uint64_t*>(object), &table)) [[unlikely]] return delete_elsewhere(object, deletion);
  const auto* type = reinterpret_cast<const MethodTable*>(table);
  uint32_t unusual = type->flags & (MethodTable::kHasComponentSize | MethodTable::kHasFinalizer);
  if ((head | unusual) != 0) [[unlikely]] {
    return (head | (unusual ^ MethodTable::kHasComponentSize)) == 0 ? delete_array(object, type, deletion) : delete_unusual(object, head, type, deletion);
  }
  return delete_plain(object, place - core::kHeaderSize, type->base_size, deletion);
}

constexpr uint32_t kEmergencyBytes = 256 << 10;

// Everything that can be given back, where others may stop this thread. Promotion needs a block before it frees some.
void give_back(void*) noexcept {
  thread_heap.emergency = kEmergencyBytes;
  maintain(true, false);
  if (are_addresses_exhausted()) dedangle(true);
  thread_heap.emergency = 0;
}

// A thread's tries to find room by deleting what no root reaches.
struct Reclaiming {
  uint64_t seen;  // searches of all threads whose memory was given back
  bool searched;
  uint64_t allocated;  // by all threads, when this one had searched

  // Others may have used up what the last search gave, and forgotten it.
  bool can_give_more() const noexcept { return !searched || reclaims() != seen || thread_totals().allocated_bytes >= allocated + limit() / 16; }
};

// One of them, where others may stop this thread. Threads that reach the limit together make one search: the others give back what it deleted.
void reclaim_once(void* reclaiming) noexcept {
  static os::Lock lock;
  auto& state = *static_cast<Reclaiming*>(reclaiming);
  uint64_t live, finalizable;
  {
    os::LockGuard guard(lock);
    uint64_t made = reclaims();
    if (made != state.seen) {
      state.seen = made;
      give_back(nullptr);
      return;
    }
    state.searched = true;
    live = thread_totals().live_bytes();
    finalizable = reachability_counters.finalizable.load(std::memory_order_relaxed);
    reclaim();
    state.allocated = thread_totals().allocated_bytes;
  }
  // Little went, and finalizers may hold the rest.
  bool none_found = finalizable == reachability_counters.finalizable.load(std::memory_order_relaxed) && dead_locks() == 0;
  if (live >= thread_totals().live_bytes() + limit() / 16 || none_found) return;
  wait_for_finalizers();
  reclaim();
}

// An allocation failed that what throws an OutOfMemoryException may have made: the runtime throws again, deeper in the stack, by the frames of a dispatch
// at least. Where this does not end, the stack would overflow.
void refuse_endless_throwing() noexcept {
  constexpr uint32_t kDeepest = 32;
  constexpr uintptr_t kDispatch = 512;  // some 900 bytes were seen
  auto depth = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  thread_heap.nested_failures = depth + kDispatch < thread_heap.last_failure ? thread_heap.nested_failures + 1 : 0;
  thread_heap.last_failure = depth;
  if (thread_heap.nested_failures == kDeepest) os::fail_fast("out of memory, and nothing is left to throw an OutOfMemoryException with.", "Raise FREEHOLD_HEAP_LIMIT, or the limit of the process, or delete more.");
}

}  // namespace

bool initialize(size_t limit) noexcept {
  if (!core::create_arena(core::knobs.address_space)) {
    os::write_error("Freehold: no address space for the heap (64 GB at least). Raise the limit of virtual memory (ulimit -v), or set FREEHOLD_ADDRESS_SPACE.\n");
    return false;
  }
  if (!initialize_protection()) {
    os::write_error("Freehold: the kernel refuses userfaultfd, which FREEHOLD_PROTECTION=userfaultfd demands. Set it to auto or mprotect.\n");
    return false;
  }
  if (os::has_userfaultfd() && start_background_thread("Freehold keeper", os::keep_userfaultfd)) os::wait_for_keeper();
  initialize_pins();
  if (core::knobs.debug) shared_at_most = 0;
  set_limit(limit);
  start_maintenance();
  return true;
}

void* allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept {
  if (size >= arena.size / 4) return nullptr;
  if (thread_heap.context == nullptr) {
    register_thread();
    thread_heap.context = context;
  }
  uint32_t emergency = thread_heap.emergency;
  thread_heap.emergency = 0;
  Reclaiming reclaiming = {reclaims(), false, 0};
  uint8_t* start = try_allocate(context, size, flags);
  if (start == nullptr) {
    // Before the program sees an OutOfMemoryException: give back everything that can be. Promotion needs a block before it frees some.
    thread_heap.emergency = kEmergencyBytes;
    thread_heap.missed_round = false;
    maintain(true, true);
    thread_heap.emergency = 0;
    start = try_allocate(context, size, flags);
  }
  // What could not be done where others wait for this thread to stop: another thread's round or sweep was under way, or only a stop tells what is pinned. Not
  // for what the emergency's memory has room for: each of these would do it again while an exception is thrown.
  if (start == nullptr && size > emergency && (thread_heap.missed_round || wait_for_threads() || are_addresses_exhausted())) {
    call_where_threads_stop(give_back, nullptr);
    start = try_allocate(context, size, flags);
  }
  // What the program has forgotten, at last, unless it would not fit into an empty heap: the threads stop for it. Others may use up what it gave before this
  // one comes to its turn.
  if (core::knobs.reclaim && size > emergency && size <= limit()) {
    for (int tries = 16; start == nullptr && tries > 0 && reclaiming.can_give_more(); tries--) {
      call_where_threads_stop(reclaim_once, &reclaiming);
      start = try_allocate(context, size, flags);
    }
  }
  if (start == nullptr && size <= emergency) {
    // The runtime allocates while it throws, and would throw again, without end.
    thread_heap.emergency = emergency;
    start = try_allocate(context, size, flags);
    // A chunk serves many allocations that are not seen here.
    thread_heap.emergency = emergency - static_cast<uint32_t>(std::min<size_t>(emergency, core::align_up(size, core::kWindowSize)));
    if (start == nullptr) refuse_endless_throwing();
  } else if (start == nullptr) {
    thread_heap.emergency = kEmergencyBytes;
  }
  return start == nullptr ? nullptr : start + core::kHeaderSize;
}

bool extend(AllocationContext* context, size_t size) noexcept { return size <= shared_at_most && extend_window(context, size); }

void retire(AllocationContext* context) noexcept {
  {
    MaintenancePause pause;  // a thread that ends is not stopped by the verifier
    close_chunk(context);
  }
  // A thread that only deleted has no context here.
  if (thread_heap.context == context || thread_heap.context == nullptr) unregister_thread();
}

DeleteResult delete_object(void* object) noexcept { return delete_any(object, Deletion::kWhole); }
DeleteResult delete_finalized(void* object) noexcept { return delete_indirectly(object, Deletion::kFinalized); }
DeleteResult delete_keeping_lock(void* object) noexcept { return delete_any(object, Deletion::kKeepingLock); }

AddressState classify(const void* pointer) noexcept {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!arena.contains(address)) return AddressState::kOutside;
  size_t block = arena.block_index(address);
  if (!was_handed_out(block)) return is_refused_pin(address) ? AddressState::kDead : AddressState::kNeverUsed;
  uint32_t probe;
  // The tables of segments that were never used have no memory: probe before reading.
  if (!core::try_load(reinterpret_cast<const uint32_t*>(&arena.blocks[block]), &probe)) return AddressState::kNeverUsed;
  switch (arena.blocks[block].state.load(std::memory_order_acquire)) {
    case BlockState::kGone: return AddressState::kDead;
    case BlockState::kMoved: return AddressState::kDead;
    case BlockState::kPooled: return AddressState::kDeletedMapped;
    case BlockState::kForwarded: return AddressState::kDead;
    case BlockState::kFrozen:
    case BlockState::kLive: break;
  }
  if (!arena.in_lower_half(address)) return AddressState::kLive;
  size_t page = arena.page_index(address);
  if (!is_page_dead(page)) return AddressState::kLive;
  const auto& released = arena.blocks[block].released[page % core::kPagesPerBlock / 64];
  return (released.load(std::memory_order_acquire) >> (page % 64) & 1) != 0 ? AddressState::kDead : AddressState::kDeletedMapped;
}

bool is_whole(const void* object) noexcept {
  const auto* type = static_cast<const uint64_t*>(object);
  return classify(type - 1) == AddressState::kLive && classify(type) == AddressState::kLive && classify(type + 1) == AddressState::kLive;
}

bool is_deleted(const void* object) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return false;
  uint32_t header;
  while (!core::try_load(static_cast<const uint32_t*>(object) - 2, &header)) {
    object = find_again(const_cast<void*>(object));
    if (object == nullptr) return true;
  }
  return (header & core::kDeletedBit) != 0;
}

bool in_arena(uintptr_t address) noexcept { return arena.contains(address); }

void note_dangling_fault(uintptr_t address) noexcept {
  dangling_faults.fetch_add(1, std::memory_order_relaxed);
  met_history = history_of(address);
}

History take_history() noexcept {
  History history = met_history;
  met_history = {};
  return history;
}

uint64_t dangling_fault_count() noexcept { return dangling_faults.load(std::memory_order_relaxed); }

size_t total_bytes_in_use() noexcept { return thread_totals().live_bytes(); }

uint64_t total_allocated_bytes() noexcept { return thread_totals().allocated_bytes; }
size_t heap_limit() noexcept { return limit(); }
size_t resident_bytes() noexcept { return resident_memory(); }
uint64_t released_bytes() noexcept { return block_counters.gone_bytes.load(std::memory_order_relaxed); }

void collect() noexcept { maintain(true, false); }

void reset_heap() noexcept {
  shared_at_most = core::knobs.debug ? 0 : core::kLargeObject;
  pinned_context = {};
  dangling_faults.store(0);
  met_history = {};
  reset_thread_totals();
  reset_maintenance();
  reset_chunks();
  reset_large();
  reset_history();
  reset_blocks();
  reset_forwardings();
  reset_promotion();
  reset_dedangling();
  reset_pins();
  reset_reachability();
  reset_finalization_queue();
  reset_dead_locks();
}

}  // namespace freehold::heap
