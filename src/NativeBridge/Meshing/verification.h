// What Heap.Verify finds in the meshing malloc: every record that it keeps is checked against the others. Nothing here allocates or writes to a record.
#pragma once

#include <cstdint>

#include "Platform/violation.h"

namespace freehold::mesh {

using freehold::os::Violation;

// What the MiniHeaps describe, in pages.
struct SpanSums {
  uint64_t addresses = 0;  // of spans that mesh
  uint64_t memory = 0;     // of those that have pages of their own
  uint64_t saved = 0;      // of members
  uint64_t large = 0;      // of spans that do not mesh
};

// What the lists of free spans describe, in pages, and the kernel's mappings of all spans.
struct FreeSpans {
  uint64_t addresses = 0, dirty = 0, mappings = 1;
};

// What the runs of LargeObjects describe, in pages.
struct Runs {
  uint64_t used = 0, spans = 0, dirty = 0;  // spans: those used ones that are no large objects
};

// Stops no thread, but holds all locks: who needs one waits. Null, or what is wrong in words, in memory of the calling thread.
const char* verify() noexcept;

}  // namespace freehold::mesh
