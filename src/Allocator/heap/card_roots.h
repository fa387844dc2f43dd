// The fields that a young reclaim takes for roots: those of objects outside the young blocks, on pages that barriers have marked since the last reclaim began.
#pragma once

#include <cstdint>

namespace freehold::heap {

// With the threads stopped, in which none is in a barrier: the marks so far become those of the reclaim that begins, and those of the last one go.
void take_marked_pages() noexcept;
// Beside the threads: calls reference(value, argument) for each reference that lies on such a page of a block that is not covered (heap/shading.h), of deleted objects too, as long as they can
// be read, and page_done(argument) after each page, without a lock. What is stored or allocated meanwhile may be left out. The caller holds no MaintenancePause. Returns the number of pages.
struct Remembered {
  void (*reference)(uint64_t value, void* argument) noexcept;
  void (*page_done)(void* argument) noexcept;
};
uint64_t for_each_remembered(const Remembered& remembered, void* argument) noexcept;

}  // namespace freehold::heap
