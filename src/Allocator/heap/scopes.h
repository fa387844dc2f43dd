// Scopes: what a thread allocates between the beginning and the end of one, and nobody outside can name at the end, is deleted there. A region by reachability: after Ruggieri and Murtagh,
// Lifetime Analysis of Dynamically Allocated Objects (POPL 1988), with the remembered set of a generational collector (Ungar, SDE 1984) instead of an analysis.
//
// Each thread with an open scope has a list of the memory that it has taken its objects from: their *ranges*. At the end the threads are stopped. Roots, and the fields on the pages
// of scope_notes.h which are not within the scope's ranges, lead to the objects that stay, these to others; the rest is deleted. The work follows the ranges, the notes, the
// stacks and the handles, not the heap. What promotion has moved meanwhile lies outside the ranges: it stays, and its new pages are noted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/scope_deletion.h"

namespace freehold::heap {

// Begins a scope of the calling thread, within the one that it has, if any. Returns its number, or 0: there is no memory, or there are too many in each other. In cooperative mode.
int64_t begin_scope() noexcept;

// Ends a scope of the calling thread, and those in it that are not ended, and deletes what nothing outside leads to, unless some of that has a finalizer still to run. Then nothing ends, and
// these objects are stored in the array at *finalizable, as many as there is room for; it may be null. kKept: nothing could be decided; leave_scope() is to follow. kGone: it has ended before.
// In preemptive mode, without a lock.
ScopeResult end_scope(int64_t scope, const uint64_t* finalizable, ScopeDeletion* result) noexcept;
// The same without deletion: what it has stays, or is the enclosing scope's. In cooperative mode.
void leave_scope(int64_t scope) noexcept;

// The calling thread allocates from [start, end) from now on, or has allocated one object there. Its context has a new chunk: the first.
void note_chunk_of_scope(uint8_t* start, const uint8_t* end) noexcept;
void note_object_of_scope(uint8_t* start, size_t size) noexcept;

// Whether the calling thread has one.
bool has_scope() noexcept;

// The thread ends.
void close_scopes() noexcept;
// In the child of a fork: those of other threads are not here.
void forget_scopes_of_other_threads() noexcept;

}  // namespace freehold::heap
