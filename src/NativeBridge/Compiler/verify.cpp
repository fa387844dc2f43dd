// No access through a handle is left, and no address lives across a call that may end it. Runs in every compilation.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include "accesses.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

PreservedAnalyses VerifyPass::run(Module& module, ModuleAnalysisManager&) {
  size_t accesses = 0, translations = 0;
  for (Function& function : module) {
    if (is_left_alone(function) || function.hasFnAttribute("freehold-bridge")) continue;
    for (Instruction& instruction : instructions(function)) {
      if (is_translate(&instruction)) translations++;
      if (auto* call = dyn_cast<CallBase>(&instruction)) {
        const Leaf* leaf = leaf_of(*call);
        if (leaf != nullptr && leaf->result == Leaf::kNone && call->getType()->isPointerTy()) {
          error(instruction, Twine("where the pointer that '") + call->getCalledFunction()->getName() + "' returns comes from is not known");
        }
      }
      for_each_address(instruction, [&](Use& use) {
        accesses++;
        if (!is_raw(use)) error(instruction, Twine("an access was not translated: '") + instruction.getOpcodeName() + "'");
      });
    }
  }
  if (const char* where = getenv("FREEHOLD_COMPILER_VERIFY")) {
    std::string text;
    raw_string_ostream(text) << "freehold: " << module.getSourceFileName() << ": " << accesses << " accesses verified, " << translations << " translations\n";
    // Into a file, when it is one's path: build systems look at what a compiler prints.
    std::error_code failed;
    if (where[0] == '/') {
      raw_fd_ostream(where, failed, sys::fs::OF_Append) << text;
    } else {
      errs() << text;
    }
  }
  return PreservedAnalyses::all();
}

}  // namespace freehold::compiler
