// A translation as instructions: a load from the table by the high half of the pointer, and a sum. The table says zero for what is no handle, so
// there is no branch.
#include <llvm/IR/InstIterator.h>

#include "abi.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

PreservedAnalyses LowerPass::run(Function& function, FunctionAnalysisManager&) {
  SmallVector<CallInst*, 32> translations;
  for (Instruction& instruction : instructions(function)) {
    if (is_translate(&instruction)) translations.push_back(cast<CallInst>(&instruction));
  }
  for (CallInst* call : translations) {
    if (call->use_empty()) {
      call->eraseFromParent();
      continue;
    }
    IRBuilder<> builder(call);
    builder.SetCurrentDebugLocation(call->getDebugLoc());
    Value* value = builder.CreatePtrToInt(call->getArgOperand(0), builder.getInt64Ty());
    // A constant address, so that it becomes the displacement of the load. No provenance: the result is not computed from the pointer in LLVM's eyes.
    Value* entries = ConstantExpr::getIntToPtr(builder.getInt64(bridge::kTableBase), builder.getPtrTy());
    LoadInst* entry =
        builder.CreateAlignedLoad(builder.getInt64Ty(), builder.CreateGEP(builder.getInt64Ty(), entries, builder.CreateLShr(value, 32)), Align(8));
    call->replaceAllUsesWith(builder.CreateIntToPtr(builder.CreateAdd(value, entry), builder.getPtrTy()));
    call->eraseFromParent();
  }
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return translations.empty() ? PreservedAnalyses::all() : preserved;
}

}  // namespace freehold::compiler
