// Translations that are made again although on most paths nothing has ended them.
//
// LLVM keeps a translation where every path has it. Here a path may lack it: when a call on a side path ends a translation that the main path still
// has, the side path makes it again behind the call, and both meet in a phi. A handle that is a phi itself (the program counter of an interpreter)
// gets an address that is a phi beside it. Frequencies of blocks decide: what is made must run less often than what goes.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

constexpr unsigned kMostVisits = 4;       // of one handle: each time that others have been changed
constexpr unsigned kMostSteps = 1 << 22;  // in one function
constexpr unsigned kMostKept = 3;         // addresses that this step keeps through a block: more of them would be loaded from the frame instead of translated

class Reuse {
 public:
  Reuse(Function& function, BlockFrequencyInfo& frequencies)
      : function_(function), frequencies_(frequencies), translate_(translate_function(*function.getParent())) {}

  bool run() {
    bool changed = translate_roots();
    SmallSetVector<Value*, 32> handles;
    for (BasicBlock& block : function_) {
      auto& ends = ends_[&block];
      for (Instruction& instruction : block) {
        if (ends_translations(instruction)) ends.push_back(&instruction);
        if (is_translate(&instruction)) handles.insert(handle_of(&instruction));
      }
    }
    // Those that gain most first.
    SmallVector<std::pair<uint64_t, Value*>, 32> order;
    for (Value* handle : handles) {
      Plan plan(*this, handle);
      if (uint64_t gain = isa<Constant>(handle) ? 0 : plan.gain(); gain != 0) order.push_back({gain, handle});
    }
    stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
    handles.clear();
    for (auto& [gain, handle] : order) handles.insert(handle);
    while (!handles.empty() && steps_ < kMostSteps) {
      Value* handle = handles.front();
      handles.remove(handle);
      if (isa<Constant>(handle) || ++visits_[handle] > kMostVisits) continue;
      Plan plan(*this, handle);
      if (plan.gain() == 0 || !plan.fits()) continue;
      plan.apply(handles);
      changed = true;
    }
    remove_unused();
    return changed;
  }

 private:
  static Value* handle_of(const Instruction* translation) { return cast<CallInst>(translation)->getArgOperand(0); }

  // What was a phi when it was translated may be arithmetic now: then it is the root that others share.
  bool translate_roots() {
    SmallVector<CallInst*, 32> translations;
    for (Instruction& instruction : instructions(function_)) {
      if (!is_translate(&instruction)) continue;
      auto* gep = dyn_cast<GetElementPtrInst>(handle_of(&instruction));
      if (gep != nullptr && stays_in_object(gep)) translations.push_back(cast<CallInst>(&instruction));
    }
    for (CallInst* translation : translations) {
      SmallVector<GetElementPtrInst*, 4> chain;
      Value* root = root_of(handle_of(translation), chain);
      IRBuilder<> builder(translation);
      Value* address = is_raw(root) ? root : builder.CreateCall(translate_, {root});
      for (GetElementPtrInst* gep : reverse(chain)) address = copy(gep, address, translation);
      translation->replaceAllUsesWith(address);
      translation->eraseFromParent();
    }
    return !translations.empty();
  }

  static Value* root_of(Value* pointer, SmallVectorImpl<GetElementPtrInst*>& chain) {
    while (auto* gep = dyn_cast<GetElementPtrInst>(pointer)) {
      if (!stays_in_object(gep)) break;
      chain.push_back(gep);
      pointer = gep->getPointerOperand();
    }
    return pointer;
  }
  // The same arithmetic on the address.
  static Instruction* copy(GetElementPtrInst* gep, Value* address, Instruction* before) {
    Instruction* made = gep->clone();
    made->setOperand(GetElementPtrInst::getPointerOperandIndex(), address);
    made->insertBefore(before);
    return made;
  }

  // What was made and serves nobody, circles of phis too.
  void remove_unused() {
    SmallSetVector<Instruction*, 32> made, used;
    for (WeakTrackingVH& value : made_) {
      if (auto* instruction = dyn_cast_or_null<Instruction>(value)) made.insert(instruction);
    }
    for (Instruction* instruction : made) {
      if (any_of(instruction->users(), [&](User* user) { return !made.contains(cast<Instruction>(user)); })) used.insert(instruction);
    }
    for (size_t i = 0; i < used.size(); i++) {
      for (Value* operand : used[i]->operands()) {
        if (auto* instruction = dyn_cast<Instruction>(operand); instruction != nullptr && made.contains(instruction)) used.insert(instruction);
      }
    }
    for (Instruction* instruction : made) {
      if (!used.contains(instruction)) instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
    }
    for (Instruction* instruction : made) {
      if (!used.contains(instruction)) instruction->eraseFromParent();
    }
  }

  uint64_t frequency(const BasicBlock* block) const { return frequencies_.getBlockFreq(block).getFrequency(); }
  bool ends_last(BasicBlock* block) const {
    const auto& ends = ends_.find(block)->second;
    return !ends.empty() && ends.back()->isTerminator();
  }

  // What one handle's translations become.
  class Plan {
   public:
    Plan(Reuse& all, Value* handle) : all_(all), handle_(handle) {
      if (auto* instruction = dyn_cast<Instruction>(handle)) {
        if (instruction->isTerminator()) return;
        home_ = instruction->getParent();
      } else {
        home_ = &all.function_.getEntryBlock();
      }
      for (User* user : handle->users()) {
        auto* call = dyn_cast<CallInst>(user);
        if (call != nullptr && is_translate(call)) calls_[call->getParent()].push_back(call);
      }
      for (auto& [block, calls] : calls_) {
        sort(calls, [](const CallInst* a, const CallInst* b) { return a->comesBefore(b); });
      }
    }

    // What runs less often, as a frequency; 0: it does not pay.
    uint64_t gain() {
      if (home_ == nullptr || calls_.empty()) return 0;
      uint64_t now = 0;
      for (auto& [block, calls] : calls_) {
        if (!is_exposed(block)) continue;
        exposed_.push_back(block);
        now += all_.frequency(block);
      }
      bool at_home = uses_definition(home_);
      if (at_home) now += all_.frequency(home_);
      if (now == 0) return 0;

      auto* phi = dyn_cast<PHINode>(handle_);
      beside_ = phi == nullptr ? nullptr : all_.beside_.lookup(phi);
      Needs plain;
      for (BasicBlock* block : exposed_) need(plain, block);
      uint64_t cost = plain.cost;
      if (beside_ == nullptr && (at_home || plain.definition)) cost += all_.frequency(home_);
      needs_ = std::move(plain);

      if (phi != nullptr && beside_ == nullptr && (at_home || needs_.definition)) {
        Needs beside;
        for (BasicBlock* block : exposed_) need(beside, block);
        uint64_t with = incoming_cost(*phi, beside);
        with = with == ~uint64_t{0} ? with : with + beside.cost;
        if (with < cost) {
          cost = with;
          needs_ = std::move(beside);
          is_phi_ = true;
        }
      }
      return cost < now - now / 8 ? now - cost : 0;
    }

    // There are registers for it, most likely.
    bool fits() {
      bool has_room = all_of(needs_.seen_in, [&](BasicBlock* block) { return all_.kept_.lookup(block) < kMostKept; });
      if (!has_room && !is_kept()) return false;
      if (!is_kept()) {
        for (BasicBlock* block : needs_.seen_in) all_.kept_[block]++;
        all_.planned_.insert(handle_);
      }
      return true;
    }

    void apply(SmallSetVector<Value*, 32>& handles) {
      SmallVector<PHINode*, 8> merged;
      SSAUpdater values(&merged);
      values.Initialize(handle_->getType(), "");
      if (is_phi_) {
        auto* phi = cast<PHINode>(handle_);
        beside_ = PHINode::Create(phi->getType(), phi->getNumIncomingValues(), "", phi->getIterator());
        all_.made_.emplace_back(beside_);
        all_.beside_[phi] = beside_;
      }
      for (BasicBlock* block : needs_.behind_end) values.AddAvailableValue(block, translation(block->getTerminator()));
      for (BasicBlock* block : needs_.at_start) {
        Value* made = translation(&*block->getFirstInsertionPt());
        if (all_.ends_.find(block)->second.empty()) values.AddAvailableValue(block, made);
      }
      for (auto& [block, calls] : calls_) {
        if (block != home_ && all_.ends_.find(block)->second.empty()) continue;  // what comes in goes through
        if (CallInst* last = last_of(block)) values.AddAvailableValue(block, last);
      }
      if (!ends_behind_definition(home_)) {
        if (beside_ != nullptr) values.AddAvailableValue(home_, beside_);
        else if (needs_.definition && !uses_definition(home_)) values.AddAvailableValue(home_, translation(home_->getTerminator()));
      }
      if (is_phi_) fill(*beside_, values, handles);
      if (beside_ != nullptr) replace_first(home_, beside_);
      for (BasicBlock* block : exposed_) {
        if (!needs_.at_start.contains(block)) replace_first(block, values.GetValueInMiddleOfBlock(block));
      }
      for (PHINode* phi : merged) all_.made_.emplace_back(phi);
    }

   private:
    bool is_kept() const { return all_.planned_.contains(handle_); }

    struct Needs {
      SmallSetVector<BasicBlock*, 8> behind_end, at_start;
      SmallSetVector<BasicBlock*, 16> seen_in;
      SmallPtrSet<BasicBlock*, 16> seen_out;
      bool definition = false;
      uint64_t cost = 0;
    };

    // The first call of a block that ends translations; of the handle's own block: behind the handle.
    Instruction* first_end(BasicBlock* block) const {
      for (Instruction* end : all_.ends_.find(block)->second) {
        if (is_behind_definition(end)) return end;
      }
      return nullptr;
    }
    Instruction* last_end(BasicBlock* block) const {
      const auto& ends = all_.ends_.find(block)->second;
      return !ends.empty() && is_behind_definition(ends.back()) ? ends.back() : nullptr;
    }
    bool is_behind_definition(const Instruction* at) const {
      auto* definition = dyn_cast<Instruction>(handle_);
      return definition == nullptr || definition->getParent() != at->getParent() || (definition != at && definition->comesBefore(at));
    }
    bool ends_behind_definition(BasicBlock* block) const { return last_end(block) != nullptr; }
    ArrayRef<CallInst*> calls_in(BasicBlock* block) const {
      auto found = calls_.find(block);
      return found == calls_.end() ? ArrayRef<CallInst*>() : ArrayRef<CallInst*>(found->second);
    }
    // The first translation takes what comes in.
    bool takes_first(BasicBlock* block) const {
      ArrayRef<CallInst*> calls = calls_in(block);
      Instruction* end = first_end(block);
      return !calls.empty() && (end == nullptr || calls.front()->comesBefore(end));
    }
    bool is_exposed(BasicBlock* block) const { return block != home_ && takes_first(block) && !begins_behind_end(block); }
    bool uses_definition(BasicBlock* block) const { return block == home_ && takes_first(block); }
    static bool is_behind(const CallInst* call, const Instruction* end) { return end == nullptr || end->comesBefore(call); }
    // The translation that the end of a block has.
    CallInst* last_of(BasicBlock* block) const {
      ArrayRef<CallInst*> calls = calls_in(block);
      if (calls.empty() || !is_behind(calls.back(), last_end(block))) return nullptr;
      CallInst* first = calls.back();
      for (CallInst* call : reverse(calls)) {
        if (is_behind(call, last_end(block))) first = call;
      }
      return first;
    }
    // A call that ends translations is the last instruction of a block before: there is no place behind it.
    bool begins_behind_end(BasicBlock* block) const {
      return any_of(predecessors(block), [&](BasicBlock* before) { return all_.ends_last(before); });
    }

    // An address at the start of a block.
    void need(Needs& needs, BasicBlock* first) {
      SmallVector<BasicBlock*, 16> blocks = {first};
      while (!blocks.empty()) {
        BasicBlock* block = blocks.pop_back_val();
        if (!needs.seen_in.insert(block)) continue;
        if (begins_behind_end(block)) {
          needs.at_start.insert(block);
          needs.cost += all_.frequency(block);
          continue;
        }
        for (BasicBlock* before : predecessors(block)) {
          if (need_at_end(needs, before)) blocks.push_back(before);
        }
      }
    }
    // True: what is needed at the end is needed at the start too.
    bool need_at_end(Needs& needs, BasicBlock* block) {
      if (!needs.seen_out.insert(block).second) return false;
      all_.steps_++;
      if (ends_behind_definition(block)) {
        if (last_of(block) == nullptr) {
          needs.behind_end.insert(block);
          needs.cost += all_.frequency(block);
        }
        return false;
      }
      if (block != home_) return true;
      needs.definition = true;
      return false;
    }

    // What it takes to have the addresses of all that comes into the phi; all bits: it cannot be.
    uint64_t incoming_cost(PHINode& phi, Needs& needs) {
      uint64_t cost = 0;
      SmallPtrSet<BasicBlock*, 8> seen;
      for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
        BasicBlock* from = phi.getIncomingBlock(i);
        Value* value = phi.getIncomingValue(i);
        if (!seen.insert(from).second || is_raw(value)) continue;
        if (all_.ends_last(from)) return ~uint64_t{0};
        SmallVector<GetElementPtrInst*, 4> chain;
        Value* root = root_of(value, chain);
        if (isa<Constant>(root)) return ~uint64_t{0};
        if (root == handle_) {
          if (need_at_end(needs, from)) need(needs, from);
        } else if (!isa<PHINode>(root) || all_.visits_.lookup(root) >= kMostVisits) {
          cost += std::min(all_.frequency(from), all_.frequency(phi.getParent()));
        }
      }
      return cost;
    }

    void fill(PHINode& beside, SSAUpdater& values, SmallSetVector<Value*, 32>& handles) {
      auto& phi = *cast<PHINode>(handle_);
      DenseMap<BasicBlock*, Value*> known;
      for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
        BasicBlock* from = phi.getIncomingBlock(i);
        Value*& address = known[from];
        if (address == nullptr) {
          Value* value = phi.getIncomingValue(i);
          SmallVector<GetElementPtrInst*, 4> chain;
          if (is_raw(value)) {
            address = value;
          } else if (Value* root = root_of(value, chain); root == handle_) {
            address = values.GetValueAtEndOfBlock(from);
          } else {
            IRBuilder<> builder(from->getTerminator());
            address = call(builder, root);
            handles.insert(root);
          }
          for (GetElementPtrInst* gep : reverse(chain)) {
            address = copy(gep, address, from->getTerminator());
            all_.made_.emplace_back(address);
          }
        }
        beside.addIncoming(address, from);
      }
    }

    // The translations of a block before its first call that ends them.
    void replace_first(BasicBlock* block, Value* value) {
      Instruction* end = first_end(block);
      for (CallInst* call : calls_in(block)) {
        if (end != nullptr && !call->comesBefore(end)) break;
        call->replaceAllUsesWith(value);
        call->eraseFromParent();
      }
    }

    CallInst* call(IRBuilder<>& builder, Value* root) {
      CallInst* made = builder.CreateCall(all_.translate_, {root});
      made->setDoesNotThrow();
      all_.made_.emplace_back(made);
      return made;
    }
    CallInst* translation(Instruction* before) {
      IRBuilder<> builder(before);
      builder.SetCurrentDebugLocation(DebugLoc());
      return call(builder, handle_);
    }

    Reuse& all_;
    Value* handle_;
    BasicBlock* home_ = nullptr;
    MapVector<BasicBlock*, SmallVector<CallInst*, 2>> calls_;
    SmallVector<BasicBlock*, 8> exposed_;
    Needs needs_;
    PHINode* beside_ = nullptr;  // the address beside a handle that is a phi
    bool is_phi_ = false;        // it has to be made
  };

  Function& function_;
  BlockFrequencyInfo& frequencies_;
  FunctionCallee translate_;
  DenseMap<BasicBlock*, SmallVector<Instruction*, 2>> ends_;
  DenseMap<Value*, unsigned> visits_;
  DenseMap<PHINode*, PHINode*> beside_;
  DenseMap<BasicBlock*, unsigned> kept_;
  SmallPtrSet<Value*, 16> planned_;
  SmallVector<WeakTrackingVH, 32> made_;
  unsigned steps_ = 0;
};

}  // namespace

PreservedAnalyses ReusePass::run(Function& function, FunctionAnalysisManager& analyses) {
  if (is_left_alone(function) || function.hasOptNone()) return PreservedAnalyses::all();
  if (!Reuse(function, analyses.getResult<BlockFrequencyAnalysis>(function)).run()) return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

}  // namespace freehold::compiler
