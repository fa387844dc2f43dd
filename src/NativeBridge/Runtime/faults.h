// Handles that reach code which does not know them. An access through one faults, because bit 63 makes it no address; this dispatcher finds the
// operand, puts the object's address into the register, lets that one instruction run (the processor's single step), and puts the handle back.
// So the code goes on with handles as if they were addresses: a cursor and its end stay comparable, and nothing has to stay in place afterwards.
// It costs two signals for each such instruction. One that only moves bytes is done by the handler itself (moves.h), and costs one. A handle of a
// freed object is reported. Everything else goes to the handler that was there before.
#pragma once

#include <signal.h>

#include <cstdint>

namespace freehold::bridge::faults {
// Once. Installs the handler of SIGSEGV.
void initialize() noexcept;
uint64_t repaired() noexcept;
uint64_t emulated() noexcept;  // those of them that needed no step
// All signals but those of faults.
void fill_but_faults(sigset_t& signals) noexcept;
// What the program's sigaction of SIGSEGV or SIGTRAP means: its handler gets what is not ours; the dispatcher stays in front. Either may be null.
void set_program_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept;
}  // namespace freehold::bridge::faults
