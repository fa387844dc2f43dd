// Calls under way, for the contexts of a heap profile. Each thread has a stack of frames of the runtime's (Profile/sites.h): before a call its site is written
// there and the depth is one more, behind it the depth is what it was. So between calls the depth is always what it was when the function was entered: which is
// what a landing pad and a second return of setjmp restore, whatever has ended without notice.
//
// A call that cannot lead to an allocation has no frame.
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "../Compiler/context.h"
#include "../Profile/sites.h"
#include "call_sites.h"
#include "passes.h"

using namespace llvm;

namespace freehold::call_sites {

namespace {

// Functions of this file that call nothing which could allocate, and that no other file can replace by one that does.
DenseSet<const Function*> find_quiet(Module& module) {
  DenseSet<const Function*> quiet;
  for (Function& function : module) {
    if (!function.isDeclaration() && (!function.isInterposable() || function.hasLocalLinkage())) quiet.insert(&function);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Function& function : module) {
      if (!quiet.contains(&function)) continue;
      for (Instruction& instruction : instructions(function)) {
        auto* call = dyn_cast<CallBase>(&instruction);
        if (call == nullptr || isa<IntrinsicInst>(call) || call->isInlineAsm() || compiler::leaf_of(*call) != nullptr) continue;
        if (quiet.contains(call->getCalledFunction())) continue;
        quiet.erase(&function);
        changed = true;
        break;
      }
    }
  }
  return quiet;
}

class Frames {
 public:
  Frames(Function& function, Module& module) : function_(function), module_(module), context_(module.getContext()) {
    pointer_ = PointerType::getUnqual(context_);
    word_ = Type::getInt64Ty(context_);
    words_type_ = StructType::get(pointer_, word_, word_);
    // It may go on in another thread.
    moves_ = function.isPresplitCoroutine();
  }

  void add(CallBase& call, const std::string& name, uint64_t shape) {
    if (is_allocation(callee_of(call))) forget_what_it_is(call);
    IRBuilder<> builder(&call);
    Value *words = words_, *frames = frames_, *depth = depth_;
    if (moves_) {
      frames = builder.CreateCall(module_.getOrInsertFunction("__freehold_profile_frames", pointer_));
      words = this->words(builder);
      depth = builder.CreateLoad(word_, builder.CreateStructGEP(words_type_, words, 1));
    }
    Value* index = builder.CreateAnd(depth, builder.getInt64(profile::kMostFrames - 1));
    Value* frame = builder.CreateGEP(StructType::get(pointer_, word_), frames, index);
    builder.CreateStore(site(name, shape, is_allocation(callee_of(call))), frame);
    builder.CreateStore(builder.getInt64(0), builder.CreateConstGEP1_64(word_, frame, 1));
    builder.CreateStore(builder.CreateAdd(depth, builder.getInt64(1)), builder.CreateStructGEP(words_type_, words, 1));
    IRBuilder<> after(behind(call));
    after.CreateStore(depth, after.CreateStructGEP(words_type_, moves_ ? this->words(after) : words, 1));
  }

  // What the entry of the function finds.
  void begin() {
    if (moves_) return;
    Instruction* first = &*function_.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
    IRBuilder<> builder(first);
    words_ = words(builder);
    Value* known = builder.CreateLoad(pointer_, words_);
    BasicBlock* before = builder.GetInsertBlock();
    Instruction* then = SplitBlockAndInsertIfThen(builder.CreateIsNull(known), first, false, MDBuilder(context_).createBranchWeights(1, 2000));
    IRBuilder<> cold(then);
    CallInst* found = cold.CreateCall(module_.getOrInsertFunction("__freehold_profile_thread", pointer_));
    found->setDoesNotThrow();
    builder.SetInsertPoint(first);
    PHINode* frames = builder.CreatePHI(pointer_, 2);
    frames->addIncoming(known, before);
    frames->addIncoming(found, then->getParent());
    frames_ = frames;
    depth_ = builder.CreateLoad(word_, builder.CreateStructGEP(words_type_, words_, 1));
  }

  // The depth is again what it was at the entry.
  void restore(Instruction* where) {
    if (moves_) return;
    IRBuilder<> builder(where);
    builder.CreateStore(depth_, builder.CreateStructGEP(words_type_, words_, 1));
  }

 private:
  Value* words(IRBuilderBase& builder) { return thread_variable(builder, "__freehold_profile", words_type_); }

  Constant* site(const std::string& name, uint64_t shape, bool allocates) {
    Type* half = Type::getInt32Ty(context_);
    auto* type = StructType::get(pointer_, word_, half, half);
    Constant* text = ConstantDataArray::getString(context_, name);
    auto* text_of = new GlobalVariable(module_, text->getType(), true, GlobalValue::PrivateLinkage, text, "freehold.site.name");
    text_of->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    Constant* value =
        ConstantStruct::get(type, {text_of, ConstantInt::get(word_, shape), ConstantInt::get(half, allocates ? 1 : 0), ConstantInt::get(half, 0)});
    return new GlobalVariable(module_, type, false, GlobalValue::PrivateLinkage, value, "freehold.site");
  }

  Function& function_;
  Module& module_;
  LLVMContext& context_;
  PointerType* pointer_;
  Type* word_;
  StructType* words_type_;
  Value *words_ = nullptr, *frames_ = nullptr, *depth_ = nullptr;
  bool moves_;
};

}  // namespace

PreservedAnalyses FramesPass::run(Module& module, ModuleAnalysisManager&) {
  DenseSet<const Function*> quiet = find_quiet(module);
  for (Function& function : module) {
    if (is_left_alone(function) || quiet.contains(&function)) continue;
    FunctionSites sites = sites_of(function);
    SmallVector<std::pair<CallBase*, const std::string*>, 16> noted;
    SmallVector<Instruction*, 4> restoring;
    for (Instruction& instruction : instructions(function)) {
      if (auto* pad = dyn_cast<LandingPadInst>(&instruction)) restoring.push_back(pad->getNextNode());
    }
    for (auto& [call, name] : sites.names) {
      if (call->hasFnAttr(Attribute::ReturnsTwice)) restoring.push_back(behind(*call));
      if (call->isMustTailCall() || compiler::leaf_of(*call) != nullptr || quiet.contains(call->getCalledFunction())) continue;
      noted.push_back({call, &name});
    }
    if (noted.empty() && restoring.empty()) continue;
    Frames frames(function, module);
    frames.begin();
    for (auto& [call, name] : noted) frames.add(*call, *name, sites.shape);
    for (Instruction* where : restoring) frames.restore(where);
  }
  return PreservedAnalyses::none();
}

}  // namespace freehold::call_sites
