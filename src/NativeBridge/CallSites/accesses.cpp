// Accesses to the heap, for the affinities of a heap profile. The thread has a countdown (Profile/sites.h): each run of accesses without a call between them takes their
// number off, and below zero the runtime looks at each. What LLVM keeps in registers, on the stack or in global variables is none.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "call_sites.h"
#include "passes.h"

using namespace llvm;

namespace freehold::call_sites {

namespace {

constexpr size_t kMostInRun = 8;

struct Access {
  Value* pointer;
  Value* bytes;
};

struct Run {
  SmallVector<Access, kMostInRun> accesses;
  Instruction* last;
};

// The runtime's own words.
bool is_frame(const Value* object) {
  auto* phi = dyn_cast<PHINode>(object);
  return phi != nullptr && any_of(phi->incoming_values(), [](const Value* value) {
           auto* call = dyn_cast<CallInst>(value);
           return call != nullptr && callee_of(*call).starts_with("__freehold_profile");
         });
}

bool may_be_heap(const Value* pointer) {
  if (pointer->getType()->isVectorTy() || cast<PointerType>(pointer->getType())->getAddressSpace() != 0) return false;
  const Value* object = getUnderlyingObject(pointer);
  if (isa<AllocaInst>(object) || isa<GlobalValue>(object) || isa<ConstantPointerNull>(object)) return false;
  if (auto* intrinsic = dyn_cast<IntrinsicInst>(object); intrinsic != nullptr && intrinsic->getIntrinsicID() == Intrinsic::threadlocal_address) return false;
  return !is_frame(object);
}

void find_accesses(Instruction& instruction, SmallVectorImpl<Access>& found) {
  const DataLayout& layout = instruction.getModule()->getDataLayout();
  Type* word = Type::getInt64Ty(instruction.getContext());
  auto add = [&](Value* pointer, Type* type) {
    TypeSize size = layout.getTypeStoreSize(type);
    if (!size.isScalable() && may_be_heap(pointer)) found.push_back({pointer, ConstantInt::get(word, size.getFixedValue())});
  };
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    add(load->getPointerOperand(), load->getType());
  } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    add(store->getPointerOperand(), store->getValueOperand()->getType());
  } else if (auto* change = dyn_cast<AtomicRMWInst>(&instruction)) {
    add(change->getPointerOperand(), change->getType());
  } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    add(exchange->getPointerOperand(), exchange->getNewValOperand()->getType());
  } else if (auto* memory = dyn_cast<AnyMemIntrinsic>(&instruction)) {
    if (may_be_heap(memory->getRawDest())) found.push_back({memory->getRawDest(), memory->getLength()});
    auto* transfer = dyn_cast<AnyMemTransferInst>(&instruction);
    if (transfer != nullptr && may_be_heap(transfer->getRawSource())) found.push_back({transfer->getRawSource(), memory->getLength()});
  }
}

void look_at(Function& function, const Run& run) {
  Module& module = *function.getParent();
  LLVMContext& context = module.getContext();
  Type *word = Type::getInt64Ty(context), *pointer = PointerType::getUnqual(context), *none = Type::getVoidTy(context);
  Instruction* where = run.last->getNextNode();
  IRBuilder<> builder(where);
  auto* type = StructType::get(pointer, word, word);
  Value* countdown = builder.CreateStructGEP(type, thread_variable(builder, "__freehold_profile", type), 2);
  Value* left = builder.CreateSub(builder.CreateLoad(word, countdown), builder.getInt64(run.accesses.size()));
  builder.CreateStore(left, countdown);
  Value* is_over = builder.CreateICmpSLT(left, builder.getInt64(0));
  IRBuilder<> cold(SplitBlockAndInsertIfThen(is_over, where, false, MDBuilder(context).createBranchWeights(1, 2000)));
  FunctionCallee look = module.getOrInsertFunction("__freehold_profile_access", FunctionType::get(none, {pointer, word}, false));
  if (auto* callee = dyn_cast<Function>(look.getCallee())) {
    callee->setCallingConv(CallingConv::PreserveMost);
    callee->setDoesNotThrow();
    // What binds it at its first call would change r10.
    callee->addFnAttr(Attribute::NonLazyBind);
  }
  for (const Access& access : run.accesses) {
    CallInst* call = cold.CreateCall(look, {access.pointer, cold.CreateZExtOrTrunc(access.bytes, word)});
    call->setCallingConv(CallingConv::PreserveMost);
    call->setDoesNotThrow();
  }
}

}  // namespace

PreservedAnalyses AccessesPass::run(Function& function, FunctionAnalysisManager&) {
  if (is_left_alone(function)) return PreservedAnalyses::all();
  SmallVector<Run, 16> runs;
  for (BasicBlock& block : function) {
    bool is_open = false;
    for (Instruction& instruction : block) {
      // Behind it an object may be freed.
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call != nullptr && !isa<IntrinsicInst>(call)) {
        is_open = false;
        continue;
      }
      SmallVector<Access, 2> found;
      find_accesses(instruction, found);
      if (found.empty() || instruction.isTerminator()) continue;
      if (!is_open || runs.back().accesses.size() + found.size() > kMostInRun) runs.emplace_back();
      is_open = true;
      runs.back().accesses.append(found);
      runs.back().last = &instruction;
    }
  }
  for (const Run& run : runs) look_at(function, run);
  return runs.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace freehold::call_sites
