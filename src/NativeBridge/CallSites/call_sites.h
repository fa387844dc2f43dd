// Names of call sites, which are the same in a profiled build and in one with groups: FUNCTION>CALLEE#N, the Nth call of CALLEE in FUNCTION (* for a pointer). They are
// counted before LLVM changes anything. A function that no other file can name has its file in front.
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include <string>

namespace freehold::call_sites {

struct FunctionSites {
  std::string name;
  uint64_t shape;  // a hash of all its callees, in order: when it is another one, sites of one name may be different calls
  llvm::MapVector<llvm::CallBase*, std::string> names;
};

FunctionSites sites_of(llvm::Function& function);

// The callee's name; empty: a pointer, or assembly.
llvm::StringRef callee_of(const llvm::CallBase& call);
// malloc and its family, and C++'s operators new.
bool is_allocation(llvm::StringRef callee);
// LLVM knows that malloc and its family look at no memory of the program, and would leave out what is written for them. From now on it does not, of this call.
void forget_what_it_is(llvm::CallBase& call);
// Not to be touched: it runs before there are variables of a thread, or has no frame.
bool is_left_alone(const llvm::Function& function);
// Where a statement behind the call goes. A block is made for it if others lead there too.
llvm::Instruction* behind(llvm::CallBase& call);

// A word of the thread, of one of the runtimes.
llvm::Value* thread_variable(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::Type* type);

}  // namespace freehold::call_sites
