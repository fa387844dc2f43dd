// SIGSEGV and SIGBUS inside the arena: a use of memory that is gone becomes a DanglingReferenceException at that instruction.
#pragma once

namespace freehold::runtime {

// Puts Freehold's handlers in front of those that are there (the runtime's, the program's). Once, at start, after the runtime installed its own.
bool install_fault_handlers() noexcept;
// Once, when there is an arena: its faults come to us before other owners of faults at any address are asked.
bool own_faults_of_arena() noexcept;

}  // namespace freehold::runtime
