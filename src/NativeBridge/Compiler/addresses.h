// Which values of a function are addresses of objects, where they live, and which handles they come from.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace freehold::compiler {

class Addresses {
 public:
  // Finds all values that are computed from a translation, and may add phis and selects of handles beside those of addresses (prepare_bases).
  Addresses(llvm::Function& function, llvm::DominatorTree& dominators);

  bool empty() const { return values_.empty(); }
  // The addresses that are used after the last instruction of a block.
  llvm::SmallVector<llvm::Instruction*, 8> live_out(llvm::BasicBlock* block) const;
  // The addresses that are used behind an instruction, itself excluded.
  llvm::SmallVector<llvm::Instruction*, 8> live_after(llvm::Instruction* instruction) const;
  // The handles that an address comes from; each is available wherever the address is. Adds instructions, never blocks.
  llvm::ArrayRef<llvm::Value*> bases(llvm::Value* address);

 private:
  using Live = llvm::SmallPtrSet<llvm::Instruction*, 8>;
  static bool counts(const llvm::Instruction* user);
  void compute_liveness(llvm::Function& function);
  void live_at_end(llvm::BasicBlock* block, Live& live) const;

  using Pair = std::pair<llvm::Value*, llvm::Value*>;
  // The one handle that a phi of addresses comes from on every path, or null.
  llvm::Value* single_base(llvm::PHINode* phi);
  bool is_address_of(llvm::Value* address, llvm::Value* handle, llvm::SmallSet<Pair, 16>& assumed);

  llvm::DominatorTree& dominators_;
  llvm::SetVector<llvm::Instruction*> values_;
  llvm::DenseMap<llvm::BasicBlock*, Live> live_in_;
  llvm::DenseMap<llvm::Value*, llvm::SmallVector<llvm::Value*, 1>> bases_;
  llvm::SmallPtrSet<llvm::PHINode*, 16> added_;  // some of them not complete yet
};

}  // namespace freehold::compiler
