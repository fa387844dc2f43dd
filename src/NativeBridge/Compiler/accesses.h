// Which operands of an instruction are addresses that it uses itself: the one list that the translate step and the verifier share.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instruction.h>

namespace freehold::compiler {

// Visits the operands; the type of one is a pointer or a vector of pointers. Reports an instruction that it does not know as a compile error.
void for_each_address(llvm::Instruction& instruction, llvm::function_ref<void(llvm::Use&)> visit);

}  // namespace freehold::compiler
