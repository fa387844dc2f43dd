// Handles that reach code which does not know them. An access through one faults, because bit 63 makes it no address; this dispatcher finds the
// operand, pins the object for ever, puts its address into the register and lets the instruction run again. A handle of a freed object is
// reported. Everything else goes to the handler that was there before.
#pragma once

#include <cstdint>

namespace freehold::bridge::faults {
// Once. Installs the handler of SIGSEGV.
void initialize() noexcept;
uint64_t repaired() noexcept;
}  // namespace freehold::bridge::faults
