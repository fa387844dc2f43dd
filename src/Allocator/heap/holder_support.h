// What a look at deaths (heap/death_look.h) needs of the layer above: who holds an object, where a marking only needs to know that somebody does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// A frame of a managed method on the stack of a thread. The same method, called again from the same place, has an equal one.
struct FrameSeen {
  uint64_t thread;         // the kernel's number
  uint64_t stack_pointer;  // as it is in calls that the method makes
  uint64_t method;         // where its code begins
  uint64_t ip;             // where it goes on
};

enum class HolderRoot : uint8_t { kStack, kHandle, kWeak };  // kStack: or a thread static; kWeak: a handle that keeps nothing alive, dependent ones left out

struct HolderSupport {
  // With the threads stopped. Each frame of each thread, the innermost first, and after a frame slot(place, argument) for each of its references.
  void (*for_each_frame)(void (*frame)(const FrameSeen& frame, void* argument), void (*slot)(const void* place, void* argument), void* argument);
  // With the threads stopped: what leads to an object from outside of the heap, except for frozen objects. `interior`: the address may lie within it.
  void (*for_each_root)(void (*fn)(HolderRoot kind, const void* place, uintptr_t address, bool interior, void* argument), void* argument);
  // Of the calling thread, which allocates: its innermost frames. Returns how many.
  size_t (*own_frames)(FrameSeen* frames, size_t capacity);
};

// Null: nothing is recorded. Set before there is a second thread.
void set_holder_support(const HolderSupport* support) noexcept;
const HolderSupport* holder_support() noexcept;

}  // namespace freehold::heap
