// Repairs a thread that used an object under an address that it had before it was promoted.
#pragma once

#include <cstdint>
#include <ucontext.h>

namespace freehold::runtime {

// The instruction at `registers` faulted at `address`, which heap::whereabouts_of() says has moved. Makes current what the thread would fault on next:
//   1. in managed code (`frame`): every reference and byref that the method's map reports at this instruction, in registers and on the stack;
//   2. the register through which the instruction reaches `address`, where the map has not done it;
//   3. fields of the objects that the thread holds in registers and reported slots: one of them had the reference, and others will read it there.
// True: the instruction can run again. False: its operand could not be understood, or was not the cause. Signal-safe.
bool repair(greg_t* registers, uintptr_t address, bool frame) noexcept;

}  // namespace freehold::runtime
