// What code compiled with -fheap-profile and the runtime of profiles share. The compiler (CallSites/profile.cpp) makes the same layouts by hand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::profile {

// A call site, in the data of the code that has it. Several may have one name: copies of a function in several files.
struct Site {
  const char* name;
  uint64_t shape;            // a hash of the function that it is in
  uint32_t allocates;        // 1: the callee is an allocation function
  std::atomic<uint32_t> id;  // written by the runtime, under its lock, once; 0: not known yet
};
static_assert(sizeof(Site) == 24);

// A call that is under way. In a stack of each thread, apart from the program's own: it stays readable when frames end without notice.
struct Frame {
  const Site* site;
  uint64_t context;  // that the chain up to here is; 0: nobody has asked yet
};
static_assert(sizeof(Frame) == 16);
inline constexpr uint64_t kMostFrames = 1 << 16;  // deeper calls overwrite the outermost ones

// Of each thread: __freehold_profile, thread-local. Written by compiled code of the thread.
struct ThreadWords {
  Frame* frames;      // null: the runtime does not know the thread yet
  uint64_t depth;     // calls under way
  int64_t countdown;  // accesses until the next one that is looked at; negative: look now
};
static_assert(offsetof(ThreadWords, depth) == 8 && offsetof(ThreadWords, countdown) == 16);

}  // namespace freehold::profile

extern "C" thread_local freehold::profile::ThreadWords __freehold_profile __attribute__((tls_model("initial-exec")));
