// Frozen segments: objects outside the arena that live for ever (literals and preinitialised objects in the image, Type objects).
// Invariant: segments are registered rarely and looked up without a lock; a slot is published last and never reused for another segment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

// What the runtime passes for a new segment.
struct SegmentDescription {
  uint8_t* memory;
  size_t first_object;
  size_t allocated;
  size_t committed;
  size_t reserved;
};
static_assert(sizeof(SegmentDescription) == 40);

// Null when there is no room for another segment.
void* register_frozen_segment(const SegmentDescription& description) noexcept;
void update_frozen_segment(void* handle, uint8_t* allocated, uint8_t* committed) noexcept;
void unregister_frozen_segment(void* handle) noexcept;
bool is_in_frozen_segment(const void* object) noexcept;

// Calls fn(first object, end) for each segment; the objects in between follow each other without gaps.
void for_each_frozen_segment(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument) noexcept;

}  // namespace freehold::runtime
