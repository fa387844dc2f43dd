// Gives every access an address.
//
// The address of an access is a chain of pointer arithmetic on a root: an argument, a loaded pointer, a result. The root is translated, and the
// chain computed again on what comes out, so that one translation serves all accesses through the root, in LLVM's eyes too: a translation is a
// call that reads what only calls write. It goes in front of the outermost loop in which the root does not change and which has no call that
// ends translations. A pointer that a loop advances gets an address that advances beside it.
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "accesses.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

Value* root_of(Value* pointer) {
  while (auto* gep = dyn_cast<GetElementPtrInst>(pointer)) {
    if (!stays_in_object(gep)) break;
    pointer = gep->getPointerOperand();
  }
  return pointer;
}

class Translator {
 public:
  Translator(Function& function, LoopInfo& loops, bool hoist)
      : function_(function), translate_(translate_function(*function.getParent())), loops_(loops), hoist_(hoist) {}

  bool run() {
    bool changed = false;
    SmallVector<Instruction*, 64> accesses;
    for (Instruction& instruction : instructions(function_)) accesses.push_back(&instruction);
    for (Instruction* access : accesses) {
      SmallVector<Use*, 4> addresses;
      for_each_address(*access, [&](Use& use) {
        if (!is_raw(use)) addresses.push_back(&use);
      });
      if (addresses.empty()) continue;
      changed = true;
      Value* first = isa<CallBase>(access) && cast<CallBase>(access)->arg_size() != 0 ? cast<CallBase>(access)->getArgOperand(0) : nullptr;
      SmallVector<Value*, 8> given;
      if (auto* call = dyn_cast<CallInst>(access); call != nullptr && call->isInlineAsm()) given.assign(call->arg_begin(), call->arg_end());
      for (Use* use : addresses) use->set(use->get()->getType()->isVectorTy() ? lanes(use->get(), access) : address_of(use->get(), access));
      lower_alignment(*access);
      if (auto* call = dyn_cast<CallBase>(access)) restore_result(*call, first);
      if (!given.empty()) restore_results_of_assembly(*cast<CallInst>(access), given);
    }
    return changed;
  }

 private:
  // An object is where the heap puts it, at a multiple of 16, however much more its handle looks aligned to.
  static void lower_alignment(Instruction& access) {
    const Align kMost(16);
    if (auto* load = dyn_cast<LoadInst>(&access)) load->setAlignment(std::min(load->getAlign(), kMost));
    if (auto* store = dyn_cast<StoreInst>(&access)) store->setAlignment(std::min(store->getAlign(), kMost));
    if (auto* memory = dyn_cast<MemIntrinsic>(&access)) {
      if (memory->getDestAlign().valueOrOne() > kMost) memory->setDestAlignment(kMost);
      if (auto* transfer = dyn_cast<MemTransferInst>(memory); transfer != nullptr && transfer->getSourceAlign().valueOrOne() > kMost) {
        transfer->setSourceAlignment(kMost);
      }
    }
  }

  // A leaf returned an address in the object of its first argument: the result is the handle again.
  void restore_result(CallBase& call, Value* handle) {
    const Leaf* leaf = leaf_of(call);
    if (leaf == nullptr || leaf->result == Leaf::kNone || leaf->result == Leaf::kOwn || !call.getType()->isPointerTy() || call.use_empty()) return;
    Value* address = call.getArgOperand(0);
    if (address == handle) return;
    if (leaf->result == Leaf::kFirst) {
      call.replaceAllUsesWith(handle);
      return;
    }
    Instruction* after = isa<InvokeInst>(call) ? &*cast<InvokeInst>(call).getNormalDest()->getFirstInsertionPt() : call.getNextNode();
    IRBuilder<> builder(after);
    SmallVector<Use*, 8> uses;
    for (Use& use : call.uses()) uses.push_back(&use);
    Type* word = builder.getInt64Ty();
    Value* distance = builder.CreateSub(builder.CreatePtrToInt(&call, word), builder.CreatePtrToInt(address, word));
    Value* inside = builder.CreateIntToPtr(builder.CreateAdd(builder.CreatePtrToInt(handle, word), distance), call.getType());
    Value* result = builder.CreateSelect(builder.CreateIsNotNull(&call), inside, &call);
    for (Use* use : uses) use->set(result);
  }

  // A pointer that inline assembly gives back: the handle of the input in the same register, moved as far as the address was. Of one that has a
  // register of its own the runtime knows whether it lies in an object.
  void restore_results_of_assembly(CallInst& call, ArrayRef<Value*> given) {
    unsigned argument = 0, outputs = 0;
    InlineAsm::ConstraintInfoVector constraints = cast<InlineAsm>(call.getCalledOperand())->ParseConstraints();
    SmallVector<unsigned, 8> argument_of(constraints.size()), results;
    for (unsigned i = 0; i < constraints.size(); i++) {
      bool is_result = constraints[i].Type == InlineAsm::isOutput && !constraints[i].isIndirect;
      if (is_result) results.push_back(i);
      else if (constraints[i].Type == InlineAsm::isInput || constraints[i].isIndirect) argument_of[i] = argument++;
    }
    for (unsigned i : results) {
      int tied = constraints[i].MatchingInput;
      Value* handle = tied >= 0 ? given[argument_of[static_cast<unsigned>(tied)]] : nullptr;
      Value* address = tied >= 0 ? call.getArgOperand(argument_of[static_cast<unsigned>(tied)]) : nullptr;
      unsigned number = outputs++;
      if (handle != nullptr && (handle == address || !handle->getType()->isPointerTy())) continue;
      if (results.size() == 1) {
        restore_output(call, handle, address);
        continue;
      }
      for (User* user : make_early_inc_range(call.users())) {
        auto* member = dyn_cast<ExtractValueInst>(user);
        if (member != nullptr && member->getIndices()[0] == number) restore_output(*member, handle, address);
      }
    }
  }
  void restore_output(Instruction& output, Value* handle, Value* address) {
    if (!output.getType()->isPointerTy() || output.use_empty()) return;
    SmallVector<Use*, 8> uses;
    for (Use& use : output.uses()) uses.push_back(&use);
    IRBuilder<> builder(output.getNextNode());
    Type* word = builder.getInt64Ty();
    Value* result;
    if (handle == nullptr) {
      result = builder.CreateCall(runtime_function(*function_.getParent(), "__freehold_handle", output.getType(), {output.getType()}), {&output});
    } else {
      Value* distance = builder.CreateSub(builder.CreatePtrToInt(&output, word), builder.CreatePtrToInt(address, word));
      Value* moved = builder.CreateIntToPtr(builder.CreateAdd(builder.CreatePtrToInt(handle, word), distance), output.getType());
      Value* is_near = builder.CreateICmpULT(builder.CreateAdd(distance, builder.getInt64(uint64_t{1} << 31)), builder.getInt64(uint64_t{1} << 32));
      result = builder.CreateSelect(is_near, moved, &output);
    }
    for (Use* use : uses) use->set(result);
  }

  Value* translation(Value* root, Instruction* before) {
    IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(before->getDebugLoc());
    auto* call = builder.CreateCall(translate_, {root});
    call->setDoesNotThrow();
    return call;
  }

  bool ends_translations_in(const Loop* loop) {
    auto [found, inserted] = loop_ends_.try_emplace(loop, false);
    if (inserted) {
      bool ends = false;
      for (BasicBlock* block : loop->blocks()) {
        for (Instruction& instruction : *block) ends |= ends_translations(instruction);
      }
      loop_ends_[loop] = ends;
      return ends;
    }
    return found->second;
  }

  // The loop to translate a root in front of, or null.
  Loop* outermost(Value* root, BasicBlock* block) {
    if (!hoist_) return nullptr;
    Loop* best = nullptr;
    for (Loop* loop = loops_.getLoopFor(block); loop != nullptr && loop->isLoopInvariant(root) && !ends_translations_in(loop); loop = loop->getParentLoop()) {
      if (loop->getLoopPreheader() != nullptr) best = loop;
    }
    return best;
  }

  // The address of a root at an instruction.
  Value* root_address(Value* root, Instruction* at) {
    if (hoist_) {
      // Behind the loop there may be calls: there the pointer is translated again.
      auto* phi = dyn_cast<PHINode>(root);
      Loop* loop = phi == nullptr ? nullptr : loops_.getLoopFor(phi->getParent());
      if (loop != nullptr && loop->contains(at->getParent())) {
        if (Value* beside = advancing(phi)) return beside;
      }
    }
    if (Loop* loop = outermost(root, at->getParent())) {
      Value*& known = hoisted_[{root, loop}];
      if (known == nullptr) known = translation(root, loop->getLoopPreheader()->getTerminator());
      return known;
    }
    return translation(root, at);
  }

  // A phi at the head of a loop that only moves along its object, in a loop where translations live: the address that moves beside it.
  Value* advancing(PHINode* phi) {
    if (auto found = beside_.find(phi); found != beside_.end()) return found->second;
    beside_[phi] = nullptr;
    Loop* loop = loops_.getLoopFor(phi->getParent());
    if (loop == nullptr || loop->getHeader() != phi->getParent() || loop->getLoopPreheader() == nullptr || ends_translations_in(loop)) return nullptr;
    for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
      if (loop->contains(phi->getIncomingBlock(i)) && root_of(phi->getIncomingValue(i)) != phi) return nullptr;
    }
    IRBuilder<> builder(phi);
    PHINode* address = builder.CreatePHI(phi->getType(), phi->getNumIncomingValues());
    beside_[phi] = address;
    for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
      BasicBlock* from = phi->getIncomingBlock(i);
      Value* incoming = phi->getIncomingValue(i);
      address->addIncoming(is_raw(incoming) ? incoming : address_of(incoming, from->getTerminator()), from);
    }
    return address;
  }

  // The same chain of arithmetic, on the root's address.
  Value* address_of(Value* pointer, Instruction* at) {
    if (is_raw(pointer)) return pointer;
    SmallVector<GetElementPtrInst*, 4> chain;
    Value* root = pointer;
    while (auto* gep = dyn_cast<GetElementPtrInst>(root)) {
      if (!stays_in_object(gep)) break;
      chain.push_back(gep);
      root = gep->getPointerOperand();
    }
    Value* address = root_address(root, at);
    for (GetElementPtrInst* gep : reverse(chain)) {
      auto* copy = cast<GetElementPtrInst>(gep->clone());
      copy->setOperand(GetElementPtrInst::getPointerOperandIndex(), address);
      copy->insertBefore(at);
      copy->setDebugLoc(at->getDebugLoc());
      address = copy;
    }
    return address;
  }

  // A vector of pointers, lane by lane.
  Value* lanes(Value* pointers, Instruction* at) {
    auto* type = cast<VectorType>(pointers->getType());
    if (isa<ScalableVectorType>(type)) {
      error(*at, "a vector of pointers without a fixed length has no translation");
      return pointers;
    }
    IRBuilder<> builder(at);
    Value* result = PoisonValue::get(type);
    for (unsigned i = 0; i < cast<FixedVectorType>(type)->getNumElements(); i++) {
      Value* lane = builder.CreateExtractElement(pointers, uint64_t{i});
      result = builder.CreateInsertElement(result, is_raw(lane) ? lane : builder.CreateCall(translate_, {lane}), uint64_t{i});
    }
    return result;
  }

  Function& function_;
  FunctionCallee translate_;
  LoopInfo& loops_;
  bool hoist_;
  DenseMap<const Loop*, bool> loop_ends_;
  DenseMap<std::pair<Value*, Loop*>, Value*> hoisted_;
  DenseMap<PHINode*, Value*> beside_;
};

}  // namespace

PreservedAnalyses TranslatePass::run(Function& function, FunctionAnalysisManager& analyses) {
  if (is_left_alone(function)) return PreservedAnalyses::all();
  if (EliminateUnreachableBlocks(function)) analyses.invalidate(function, PreservedAnalyses::none());
  Translator translator(function, analyses.getResult<LoopAnalysis>(function), hoist);
  if (!translator.run()) return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

}  // namespace freehold::compiler
