// fork(): the child goes on in managed code, if the program wants, with a heap that is whole.
#pragma once

namespace freehold::runtime {

// Registers what is to be done around each fork; once. Not for vfork, posix_spawn and clone, whose children only run exec. False when there is no memory.
bool watch_forks() noexcept;

}  // namespace freehold::runtime
