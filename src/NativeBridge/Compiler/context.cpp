#include "context.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Operator.h>

using namespace llvm;

namespace freehold::compiler {

namespace {

constexpr StringRef kTranslate = "__freehold_translate";

bool is_raw(const Value* pointer, SmallPtrSetImpl<const Value*>& seen) {
  if (!seen.insert(pointer).second) return true;  // a cycle of phis adds nothing
  if (isa<Constant>(pointer)) {
    // Not an integer made a pointer, unless it is a small one.
    if (auto* expression = dyn_cast<ConstantExpr>(pointer); expression != nullptr && expression->getOpcode() == Instruction::IntToPtr) {
      auto* number = dyn_cast<ConstantInt>(expression->getOperand(0));
      return number == nullptr || number->getValue().getActiveBits() < 64;
    }
    return true;
  }
  if (isa<AllocaInst>(pointer)) return true;
  if (auto* argument = dyn_cast<Argument>(pointer)) return argument->hasByValAttr();
  if (auto* gep = dyn_cast<GEPOperator>(pointer)) return is_raw(gep->getPointerOperand(), seen);
  if (auto* cast = dyn_cast<CastInst>(pointer)) {
    // A number made a pointer, when that number came from an address: what LLVM makes of pointer inductions.
    return (cast->getOpcode() == Instruction::BitCast || cast->getOpcode() == Instruction::AddrSpaceCast) && is_raw(cast->getOperand(0), seen);
  }
  if (auto* phi = dyn_cast<PHINode>(pointer)) {
    for (const Value* incoming : phi->incoming_values()) {
      if (!is_raw(incoming, seen)) return false;
    }
    return true;
  }
  if (auto* select = dyn_cast<SelectInst>(pointer)) return is_raw(select->getTrueValue(), seen) && is_raw(select->getFalseValue(), seen);
  if (auto* freeze = dyn_cast<FreezeInst>(pointer)) return is_raw(freeze->getOperand(0), seen);
  if (auto* insert = dyn_cast<InsertElementInst>(pointer)) return is_raw(insert->getOperand(0), seen) && is_raw(insert->getOperand(1), seen);
  if (auto* shuffle = dyn_cast<ShuffleVectorInst>(pointer)) return is_raw(shuffle->getOperand(0), seen) && is_raw(shuffle->getOperand(1), seen);
  if (auto* extract = dyn_cast<ExtractElementInst>(pointer)) return is_raw(extract->getVectorOperand(), seen);
  if (auto* call = dyn_cast<IntrinsicInst>(pointer)) {
    switch (call->getIntrinsicID()) {
      case Intrinsic::threadlocal_address:
      case Intrinsic::stacksave:
      case Intrinsic::frameaddress:
      case Intrinsic::returnaddress:
      case Intrinsic::addressofreturnaddress: return true;
      case Intrinsic::ptrmask:
      case Intrinsic::launder_invariant_group:
      case Intrinsic::strip_invariant_group: return is_raw(call->getArgOperand(0), seen);
      default: return false;
    }
  }
  if (auto* call = dyn_cast<CallBase>(pointer)) {
    if (is_translate(call)) return true;
    const Function* callee = call->getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration()) return false;
    StringRef name = callee->getName();
    return name == "__errno_location" || name == "__ctype_b_loc" || name == "__ctype_tolower_loc" || name == "__ctype_toupper_loc" ||
           name == "__cxa_allocate_exception";
  }
  return false;
}

// The index may be the difference of two pointers: programs adjust pointers so when a block has moved, from one object to another, whatever C
// says. Then the root is not the object.
bool may_be_difference(const Value* index, SmallPtrSetImpl<const Value*>& seen) {
  constexpr unsigned kMost = 64;
  if (isa<Constant>(index)) return false;
  if (isa<PtrToIntInst>(index)) return true;
  auto* instruction = dyn_cast<Instruction>(index);
  if (instruction == nullptr || !seen.insert(index).second) return false;  // a cycle of phis adds nothing
  if (!isa<BinaryOperator>(instruction) && !isa<CastInst>(instruction) && !isa<SelectInst>(instruction) && !isa<PHINode>(instruction)) return false;
  if (seen.size() > kMost) return true;
  return any_of(instruction->operands(), [&](const Use& operand) { return may_be_difference(operand, seen); });
}

}  // namespace

FunctionCallee translate_function(Module& module) {
  LLVMContext& context = module.getContext();
  Type* pointer = PointerType::getUnqual(context);
  FunctionCallee callee = module.getOrInsertFunction(kTranslate, FunctionType::get(pointer, {pointer}, false));
  auto* function = cast<Function>(callee.getCallee());
  // It reads the table, which only calls write. It never faults, whatever its argument is.
  function->setMemoryEffects(MemoryEffects::inaccessibleMemOnly(ModRefInfo::Ref));
  for (auto kind : {Attribute::NoUnwind, Attribute::WillReturn, Attribute::Speculatable, Attribute::NoSync, Attribute::NoFree, Attribute::NoCallback}) {
    function->addFnAttr(kind);
  }
  return callee;
}

FunctionCallee runtime_function(Module& module, StringRef name, Type* result, ArrayRef<Type*> parameters) {
  FunctionCallee callee = module.getOrInsertFunction(name, FunctionType::get(result, parameters, false));
  if (auto* function = dyn_cast<Function>(callee.getCallee())) function->addFnAttr(Attribute::NoUnwind);
  return callee;
}

bool is_translate(const Value* value) {
  auto* call = dyn_cast<CallInst>(value);
  const Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && callee->getName() == kTranslate;
}

bool is_runtime_function(const Function* function) { return function != nullptr && function->getName().starts_with("__freehold_"); }

bool is_raw(const Value* pointer) {
  SmallPtrSet<const Value*, 16> seen;
  return is_raw(pointer, seen);
}

bool stays_in_object(const GetElementPtrInst* gep) {
  SmallPtrSet<const Value*, 16> seen;
  return !gep->getType()->isVectorTy() && none_of(gep->indices(), [&](const Use& index) { return may_be_difference(index, seen); });
}

bool ends_translations(const Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr || isa<IntrinsicInst>(call) || call->isInlineAsm() || is_translate(call)) return false;
  return leaf_of(*call) == nullptr || call->hasFnAttr(Attribute::ReturnsTwice);
}

bool is_left_alone(const Function& function) {
  if (function.isDeclaration() || function.hasFnAttribute(Attribute::Naked)) return true;
  for (const GlobalIFunc& ifunc : function.getParent()->ifuncs()) {
    if (ifunc.getResolverFunction() == &function) return true;
  }
  return false;
}

void error(const Instruction& where, const Twine& what) {
  const Function& function = *where.getFunction();
  function.getContext().diagnose(DiagnosticInfoUnsupported(function, "freehold: " + what, where.getDebugLoc()));
}

MDNode* likely(LLVMContext& context) { return MDBuilder(context).createBranchWeights(2000, 1); }
MDNode* unlikely(LLVMContext& context) { return MDBuilder(context).createBranchWeights(1, 2000); }

Value* thread_word(IRBuilderBase& builder) {
  Module& module = *builder.GetInsertBlock()->getModule();
  auto* word = module.getGlobalVariable("__freehold_thread");
  if (word == nullptr) {
    word = new GlobalVariable(module, builder.getInt64Ty(), false, GlobalValue::ExternalLinkage, nullptr, "__freehold_thread", nullptr,
                              GlobalValue::InitialExecTLSModel);
    word->setAlignment(Align(8));
  }
  return builder.CreateThreadLocalAddress(word);
}

}  // namespace freehold::compiler
