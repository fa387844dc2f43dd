// Copies of the process that the C library's handlers of fork do not see, and those that they see.
#pragma once

namespace freehold::mesh {

// Functions of the C library that cannot be looked up where they are needed.
void look_up_functions() noexcept;
// The handlers around fork, once.
void watch_forks() noexcept;
// A system call that copies the process. `first`: its first argument.
bool copies_process(long number, const void* first) noexcept;
// Before one, and after it in both processes if that was true. False: not now, the spans stay shared.
bool prepare_bare_fork() noexcept;
void end_bare_fork(long result) noexcept;

}  // namespace freehold::mesh
