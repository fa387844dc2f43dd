// fork(): the child goes on in managed code, if the program wants, with a heap that is whole.
#pragma once

#include <sys/types.h>

namespace freehold::runtime {

// Registers what is to be done around each fork; once. Not for vfork, posix_spawn and clone, whose children only run exec. False when there is no memory.
bool watch_forks() noexcept;

// fork() for a child that only reads the heap (heap/fork.h).
pid_t fork_to_read() noexcept;

}  // namespace freehold::runtime
