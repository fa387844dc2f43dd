// Finalizers that deletions of this thread run at the moment, innermost first. One may delete its own object, or another whose finalizer deletes the first:
// the deletion that runs the finalizer is the one that counts, and it is not over.
#pragma once

namespace freehold::heap {

// On the stack of the thread that deletes.
struct RunningFinalizer {
  void* const* object;  // a reference that the runtime keeps current
  RunningFinalizer* outer;
};

// Each thread has a list of its own. What begins ends in the reverse order, also when an exception leaves the finalizer.
void begin_finalizer(RunningFinalizer* running) noexcept;
void end_finalizer(const RunningFinalizer* running) noexcept;
// Whether a deletion of this thread runs the finalizer of `object`.
bool is_finalizing(const void* object) noexcept;

}  // namespace freehold::heap
