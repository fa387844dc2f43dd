// Objects that marking found unreachable (heap/reachability.h) while their finalizers were still to run: they wait for the runtime's finalizer thread, and
// are roots as long as they wait. What Heap.Delete deletes never comes here: it runs the finalizer itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// While the threads are stopped; one at a time. False: no memory.
bool enqueue_finalizable(uintptr_t object) noexcept;

// The next one whose finalizer has not run meanwhile and was not suppressed. It counts as run from now on, so that the caller must call it. 0: none left. One
// thread at a time, which others can stop only when it is back. Waits while promotion copies the object, as a store to it does.
uintptr_t next_finalizable() noexcept;

// Takes the right to run the finalizer of an object; who gets it must call it. False: somebody has it, it was suppressed, or the object is deleted. Any thread
// that others can stop only when it is back.
bool claim_finalizer(uintptr_t object) noexcept;

size_t finalizable_count() noexcept;  // any thread; a moment ago

// While the threads are stopped: each place in the queue that holds a name.
void for_each_finalizable(void (*fn)(uint64_t* slot, void* argument), void* argument) noexcept;

}  // namespace freehold::heap
