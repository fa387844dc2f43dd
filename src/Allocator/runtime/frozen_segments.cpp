#include "runtime/frozen_segments.h"

#include <sys/mman.h>
#include <atomic>

namespace freehold::runtime {

namespace {

struct Segment {
  std::atomic<uint8_t*> start;      // first object; null = unregistered
  std::atomic<uint8_t*> allocated;  // end of the objects; only grows
};

// One per module, and one per 4 MB of objects that the runtime freezes later: 256 GB of Type objects.
constexpr size_t kChunkSegments = 255;
struct Chunk {
  Segment segments[kChunkSegments];
  std::atomic<Chunk*> next;
};
Chunk first_chunk;
std::atomic<size_t> segment_count{0};  // slots taken, in all chunks

Segment* segment_at(size_t index, bool grow) noexcept {
  Chunk* chunk = &first_chunk;
  for (; index >= kChunkSegments; index -= kChunkSegments) {
    Chunk* next = chunk->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      if (!grow) return nullptr;
      void* memory = mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      auto* fresh = static_cast<Chunk*>(memory);
      if (chunk->next.compare_exchange_strong(next, fresh)) {
        next = fresh;
      } else {
        munmap(memory, sizeof(Chunk));
      }
    }
    chunk = next;
  }
  return &chunk->segments[index];
}

}  // namespace

void* register_frozen_segment(const SegmentDescription& description) noexcept {
  Segment* segment = segment_at(segment_count.fetch_add(1, std::memory_order_relaxed), true);
  if (segment == nullptr) return nullptr;
  segment->allocated.store(description.memory + description.allocated, std::memory_order_relaxed);
  segment->start.store(description.memory + description.first_object, std::memory_order_release);
  return segment;
}

void update_frozen_segment(void* handle, uint8_t* allocated, uint8_t*) noexcept {
  static_cast<Segment*>(handle)->allocated.store(allocated, std::memory_order_release);
}

void unregister_frozen_segment(void* handle) noexcept { static_cast<Segment*>(handle)->start.store(nullptr, std::memory_order_release); }

bool is_in_frozen_segment(const void* object) noexcept {
  const auto* address = static_cast<const uint8_t*>(object);
  size_t count = segment_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; i++) {
    const Segment* segment = segment_at(i, false);
    if (segment == nullptr) break;
    const uint8_t* start = segment->start.load(std::memory_order_acquire);
    if (start != nullptr && address >= start && address < segment->allocated.load(std::memory_order_acquire)) return true;
  }
  return false;
}

void for_each_frozen_segment(void (*fn)(uint8_t*, uint8_t*, void*), void* argument) noexcept {
  size_t count = segment_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; i++) {
    Segment* segment = segment_at(i, false);
    if (segment == nullptr) break;
    uint8_t* start = segment->start.load(std::memory_order_acquire);
    if (start != nullptr) fn(start, segment->allocated.load(std::memory_order_acquire), argument);
  }
}

}  // namespace freehold::runtime
