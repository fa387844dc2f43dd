#include "addresses.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "context.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

constexpr unsigned kMostBases = 4;
constexpr unsigned kMostCandidates = 32, kMostPairs = 512;

// The difference of two addresses is a number; so is the answer of a comparison.
bool makes_number(const Instruction* user) {
  if (isa<CmpInst>(user)) return true;
  auto* sub = dyn_cast<BinaryOperator>(user);
  return sub != nullptr && sub->getOpcode() == Instruction::Sub && isa<PtrToIntInst>(sub->getOperand(0)) && isa<PtrToIntInst>(sub->getOperand(1));
}

bool feeds_numbers_only(const Instruction* instruction) {
  return isa<PtrToIntInst>(instruction) && all_of(instruction->users(), [](const User* user) { return makes_number(cast<Instruction>(user)); });
}

// The result is an address if an operand is one.
bool passes_on(const Instruction* user) {
  if (makes_number(user) || feeds_numbers_only(user)) return false;
  if (is_translate(user)) return true;
  if (isa<CallBase>(user)) {
    auto* intrinsic = dyn_cast<IntrinsicInst>(user);
    return intrinsic != nullptr && !intrinsic->mayReadOrWriteMemory() && !user->getType()->isVoidTy();
  }
  return isa<GetElementPtrInst>(user) || isa<CastInst>(user) || isa<PHINode>(user) || isa<SelectInst>(user) || isa<BinaryOperator>(user) ||
         isa<FreezeInst>(user) || isa<InsertElementInst>(user) || isa<ExtractElementInst>(user) || isa<ShuffleVectorInst>(user) || isa<InsertValueInst>(user) ||
         isa<ExtractValueInst>(user);
}

}  // namespace

bool Addresses::counts(const Instruction* user) { return !makes_number(user) && !feeds_numbers_only(user); }

Addresses::Addresses(Function& function, DominatorTree& dominators) : dominators_(dominators) {
  for (Instruction& instruction : instructions(function)) {
    if (is_translate(&instruction)) values_.insert(&instruction);
  }
  for (size_t i = 0; i < values_.size(); i++) {
    for (User* user : values_[i]->users()) {
      auto* instruction = cast<Instruction>(user);
      if (passes_on(instruction)) values_.insert(instruction);
    }
  }
  if (!values_.empty()) compute_liveness(function);
}

void Addresses::live_at_end(BasicBlock* block, Live& live) const {
  for (BasicBlock* successor : successors(block)) {
    if (auto found = live_in_.find(successor); found != live_in_.end()) live.insert(found->second.begin(), found->second.end());
    for (PHINode& phi : successor->phis()) {
      auto* incoming = dyn_cast<Instruction>(phi.getIncomingValueForBlock(block));
      if (incoming != nullptr && values_.contains(incoming)) live.insert(incoming);
    }
  }
}

void Addresses::compute_liveness(Function& function) {
  SmallVector<BasicBlock*, 32> order(post_order(&function.getEntryBlock()));
  bool changed = true;
  while (changed) {
    changed = false;
    for (BasicBlock* block : order) {
      Live live;
      live_at_end(block, live);
      for (Instruction& instruction : reverse(*block)) {
        live.erase(&instruction);
        if (isa<PHINode>(instruction) || !counts(&instruction)) continue;
        for (Value* operand : instruction.operands()) {
          auto* value = dyn_cast<Instruction>(operand);
          if (value != nullptr && values_.contains(value)) live.insert(value);
        }
      }
      Live& known = live_in_[block];
      if (live.size() != known.size()) {
        known = std::move(live);
        changed = true;
      }
    }
  }
}

SmallVector<Instruction*, 8> Addresses::live_out(BasicBlock* block) const { return live_after(block->getTerminator()); }

SmallVector<Instruction*, 8> Addresses::live_after(Instruction* at) const {
  Live live;
  live_at_end(at->getParent(), live);
  for (Instruction* instruction = at->getParent()->getTerminator(); instruction != at; instruction = instruction->getPrevNode()) {
    live.erase(instruction);
    if (isa<PHINode>(instruction) || !counts(instruction)) continue;
    for (Value* operand : instruction->operands()) {
      auto* value = dyn_cast<Instruction>(operand);
      if (value != nullptr && values_.contains(value)) live.insert(value);
    }
  }
  live.erase(at);
  SmallVector<Instruction*, 8> sorted;
  for (Instruction* value : values_) {
    if (live.contains(value)) sorted.push_back(value);
  }
  return sorted;
}

// Proves that in each round, on each path, the address is of the object of that handle, whatever their offsets are.
bool Addresses::is_address_of(Value* address, Value* handle, SmallSet<Pair, 16>& assumed) {
  while (auto* gep = dyn_cast<GetElementPtrInst>(address)) {
    if (gep->getType()->isVectorTy()) return false;
    address = gep->getPointerOperand();
  }
  while (auto* gep = dyn_cast<GetElementPtrInst>(handle)) {
    if (!stays_in_object(gep)) break;
    handle = gep->getPointerOperand();
  }
  if (!values_.contains(dyn_cast<Instruction>(address))) return is_raw(address) && is_raw(handle);
  if (is_translate(address)) {
    Value* translated = cast<CallInst>(address)->getArgOperand(0);
    while (auto* gep = dyn_cast<GetElementPtrInst>(translated)) {
      if (!stays_in_object(gep)) break;
      translated = gep->getPointerOperand();
    }
    return translated == handle;
  }
  auto* phi = dyn_cast<PHINode>(address);
  if (phi == nullptr) return false;
  if (!assumed.insert({address, handle}).second) return true;
  if (assumed.size() > kMostPairs) return false;
  auto* beside = dyn_cast<PHINode>(handle);
  bool together = beside != nullptr && beside->getParent() == phi->getParent();
  if (!together && isa<Instruction>(handle) && !dominators_.dominates(cast<Instruction>(handle), phi->getParent())) return false;
  for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
    Value* other = together ? beside->getIncomingValueForBlock(phi->getIncomingBlock(i)) : handle;
    if (!is_address_of(phi->getIncomingValue(i), other, assumed)) return false;
  }
  return true;
}

Value* Addresses::single_base(PHINode* phi) {
  if (!phi->getType()->isPointerTy()) return nullptr;
  SmallSetVector<Value*, 16> candidates;
  for (PHINode& beside : phi->getParent()->phis()) {
    if (beside.getType()->isPointerTy() && !added_.contains(&beside) && !values_.contains(&beside)) candidates.insert(&beside);
  }
  SmallSetVector<Value*, 16> sources;
  sources.insert(phi);
  for (size_t i = 0; i < sources.size() && sources.size() < kMostCandidates; i++) {
    if (is_translate(sources[i])) {
      candidates.insert(cast<CallInst>(sources[i])->getArgOperand(0));
    } else if (auto* gep = dyn_cast<GetElementPtrInst>(sources[i])) {
      sources.insert(gep->getPointerOperand());
    } else if (auto* merge = dyn_cast<PHINode>(sources[i])) {
      sources.insert(merge->op_begin(), merge->op_end());
      if (auto found = bases_.find(merge); found != bases_.end()) candidates.insert(found->second.begin(), found->second.end());
    }
  }
  for (Value* candidate : candidates) {
    SmallSet<Pair, 16> assumed;
    if (isa<Constant>(candidate) || (isa<PHINode>(candidate) && added_.contains(cast<PHINode>(candidate)))) continue;
    if (is_address_of(phi, candidate, assumed)) return candidate;
  }
  return nullptr;
}

ArrayRef<Value*> Addresses::bases(Value* address) {
  if (auto found = bases_.find(address); found != bases_.end()) return found->second;
  auto* instruction = dyn_cast<Instruction>(address);
  SmallVector<Value*, 1> result;
  if (instruction == nullptr || !values_.contains(instruction)) {
    // Not computed from a translation: nothing to pin.
  } else if (is_translate(instruction)) {
    // Of an address, when LLVM has hidden that it is one: then that one's.
    Value* handle = cast<CallInst>(instruction)->getArgOperand(0);
    auto* computed = dyn_cast<Instruction>(handle);
    if (computed != nullptr && values_.contains(computed)) {
      result.assign(bases(handle).begin(), bases(handle).end());
    } else {
      result.push_back(handle);
    }
  } else if (Value* base = isa<PHINode>(instruction) ? single_base(cast<PHINode>(instruction)) : nullptr; base != nullptr) {
    result.push_back(base);
  } else if (auto* phi = dyn_cast<PHINode>(instruction)) {
    // First the new phis, then what they take: a cycle ends here.
    Type* pointer = PointerType::getUnqual(phi->getContext());
    unsigned count = isa<VectorType>(phi->getType()) ? kMostBases : 2;
    IRBuilder<> builder(phi);
    SmallVector<PHINode*, 4> made;
    for (unsigned i = 0; i < count; i++) {
      made.push_back(builder.CreatePHI(pointer, phi->getNumIncomingValues()));
      result.push_back(made.back());
      added_.insert(made.back());
    }
    bases_[address] = result;
    for (unsigned i = 0; i < phi->getNumIncomingValues(); i++) {
      SmallVector<Value*, 4> incoming(bases(phi->getIncomingValue(i)));
      SmallSetVector<Value*, 4> distinct;
      for (Value* value : incoming) {
        if (!isa<ConstantPointerNull>(value)) distinct.insert(value);
      }
      if (distinct.size() > count) error(*phi, "a pointer that comes from too many objects at once");
      for (unsigned n = 0; n < count; n++) {
        made[n]->addIncoming(n < distinct.size() ? distinct[n] : ConstantPointerNull::get(PointerType::getUnqual(phi->getContext())), phi->getIncomingBlock(i));
      }
    }
    return bases_[address];
  } else if (auto* select = dyn_cast<SelectInst>(instruction); select != nullptr && !select->getCondition()->getType()->isVectorTy()) {
    SmallVector<Value*, 4> yes(bases(select->getTrueValue())), no(bases(select->getFalseValue()));
    IRBuilder<> builder(select);
    Value* null = ConstantPointerNull::get(PointerType::getUnqual(select->getContext()));
    for (size_t i = 0; i < std::max(yes.size(), no.size()); i++) {
      Value* first = i < yes.size() ? yes[i] : null;
      Value* second = i < no.size() ? no[i] : null;
      result.push_back(first == second ? first : builder.CreateSelect(select->getCondition(), first, second));
    }
  } else {
    SmallSetVector<Value*, 4> all;
    for (Value* operand : instruction->operands()) {
      SmallVector<Value*, 4> some(bases(operand));
      all.insert(some.begin(), some.end());
    }
    result.assign(all.begin(), all.end());
  }
  return bases_[address] = result;
}

}  // namespace freehold::compiler
