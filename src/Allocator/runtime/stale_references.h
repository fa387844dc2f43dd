// Repairs a thread that used an object under an address that it had before it was promoted.
#pragma once

#include <ucontext.h>
#include <cstdint>

namespace freehold::runtime {

enum class CodeKind : uint8_t {
  kMapped,     // managed code
  kFrameless,  // helpers and stubs that managed code calls: what is not their own operand is their caller's
  kNative,     // compiled C and C++: registers that a callee may destroy are its own
};

// The instruction at `registers` faulted at `address`, which heap::whereabouts_of() says has moved. Makes current what the thread would fault on next:
//   1. in managed code: every reference and byref that the method's map reports at this instruction, in registers and on the stack;
//      in native code: the scratch registers that lead into the same object, since loops there compare a cursor with an end;
//   2. the register through which the instruction reaches `address`, where that has not done it;
//   3. fields of the objects that the thread holds in registers and reported slots: one of them had the reference, and others will read it there
//      (with FREEHOLD_STRESS=sites, only where an instruction is not here for the first time).
// True: the instruction can run again. False: its operand could not be understood, or was not the cause. Signal-safe.
bool repair(greg_t* registers, uintptr_t address, CodeKind kind) noexcept;

}  // namespace freehold::runtime
