// A translation as instructions: an address stays as it is; for a handle, the table's entry and the offset are added.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

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
    Value* pointer = call->getArgOperand(0);
    Value* value = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
    Value* is_handle = builder.CreateICmpSLT(value, builder.getInt64(0));
    BasicBlock* before = call->getParent();
    Instruction* branch = SplitBlockAndInsertIfThen(is_handle, call, false, likely(function.getContext()));
    builder.SetInsertPoint(branch);
    builder.SetCurrentDebugLocation(call->getDebugLoc());
    // Bit 63 of the handle is what makes this the address of the entry: kTableAddress is 8 << 31.
    static_assert(bridge::kTableAddress == uint64_t{8} << bridge::kIdBits);
    Value* at = builder.CreateIntToPtr(builder.CreateShl(builder.CreateLShr(value, 32), 3), builder.getPtrTy());
    LoadInst* entry = builder.CreateAlignedLoad(builder.getInt64Ty(), at, Align(8));
    Value* address = builder.CreateIntToPtr(builder.CreateAdd(entry, builder.CreateAnd(value, 0xffffffff)), builder.getPtrTy());
    builder.SetInsertPoint(call);
    PHINode* either = builder.CreatePHI(builder.getPtrTy(), 2);
    either->addIncoming(pointer, before);
    either->addIncoming(address, branch->getParent());
    call->replaceAllUsesWith(either);
    call->eraseFromParent();
  }
  return translations.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace freehold::compiler
