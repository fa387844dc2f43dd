// What EventSource Freehold-Heap tells of: each stop of the threads with its cause, each phase of the background work. A thread of the managed half takes the events
// (System.HeapEventSource). While nobody listens, an event costs a comparison; if nobody takes them in time, the newest are lost and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// System.HeapEventSource has the same numbers. Stops come first.
enum class TraceKind : uint64_t {
  kPinStop = 0,
  kRemapStop = 1,
  kReclaimStop = 2,
  kOutgrownStop = 3,
  kScopeStop = 4,
  kCompaction = 5,
  kRemap = 6,
  kReclaim = 7,
  kYoungReclaim = 8,
};

// System.TraceEvent has the same layout.
struct TraceEvent {
  TraceKind kind;
  uint64_t nanoseconds;  // how long it took
  uint64_t objects;      // of a phase: moved, or deleted; of a remap, fields
  uint64_t bytes;        // of these objects
};
static_assert(sizeof(TraceEvent) == 32);

namespace trace_detail {
// Any thread sets it, relaxed: an event that begins meanwhile is told of or not.
inline constinit std::atomic<bool> wanted{false};
void put(const TraceEvent& event) noexcept;
}  // namespace trace_detail

// From now on, or no more.
void set_tracing(bool on) noexcept;
inline bool is_tracing() noexcept { return trace_detail::wanted.load(std::memory_order_relaxed); }

// Any thread in any mode, not in the fault handler. Never waits.
inline void trace(TraceKind kind, uint64_t nanoseconds, uint64_t objects = 0, uint64_t bytes = 0) noexcept {
  if (is_tracing()) [[unlikely]]
    trace_detail::put({kind, nanoseconds, objects, bytes});
}

// How many there are, at most `capacity`, oldest first. `lost`: how many more had no room since the last call. One thread.
size_t take_traces(TraceEvent* events, size_t capacity, uint64_t* lost) noexcept;

}  // namespace freehold::heap
