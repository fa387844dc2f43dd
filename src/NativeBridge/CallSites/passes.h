// What the plugin does, as passes of LLVM's new pass manager.
#pragma once

#include <llvm/IR/PassManager.h>

namespace freehold::call_sites {

// -fheap-profile, before anything else: calls that may lead to an allocation are noted while they run.
struct FramesPass : llvm::PassInfoMixin<FramesPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// -fheap-profile, after everything else: accesses that may be of the heap are counted, and some are looked at.
struct AccessesPass : llvm::PassInfoMixin<AccessesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// -fheap-groups, before anything else: marked calls have their bit set while they run, allocations say their group.
struct GroupsPass : llvm::PassInfoMixin<GroupsPass> {
  std::string path;
  explicit GroupsPass(std::string path) : path(std::move(path)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace freehold::call_sites
