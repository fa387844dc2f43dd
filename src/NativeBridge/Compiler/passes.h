// The steps as passes of LLVM's new pass manager.
#pragma once

#include <llvm/IR/PassManager.h>

namespace freehold::compiler {

// Before the vectoriser: allocation functions, attributes.
struct PreparePass : llvm::PassInfoMixin<PreparePass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// Gives every access an address. With `hoist`, outside of loops.
struct TranslatePass : llvm::PassInfoMixin<TranslatePass> {
  bool hoist;
  explicit TranslatePass(bool hoist) : hoist(hoist) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// After everything else.
struct ReusePass : llvm::PassInfoMixin<ReusePass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};
struct CallsPass : llvm::PassInfoMixin<CallsPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};
struct EntriesPass : llvm::PassInfoMixin<EntriesPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};
struct PollsPass : llvm::PassInfoMixin<PollsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};
struct VerifyPass : llvm::PassInfoMixin<VerifyPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};
struct LowerPass : llvm::PassInfoMixin<LowerPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace freehold::compiler
