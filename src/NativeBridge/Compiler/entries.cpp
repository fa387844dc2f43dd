// How a thread comes inside. A function that others can reach, by its name or by a pointer, gets an entry under its name: the mark, a look at the
// thread's word, and a jump to the function itself. When the word is not zero the caller may be outside: then a function that
// serves all entries of a type comes inside for the call and goes outside again after it, also when an exception passes.
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include "abi.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

struct Runtime {
  FunctionCallee enter, leave, handle, result;
  explicit Runtime(Module& module)
      : enter(runtime_function(module, "__freehold_enter_compiled", Type::getInt32Ty(module.getContext()), {})),
        leave(runtime_function(module, "__freehold_leave_compiled", Type::getVoidTy(module.getContext()), {})),
        handle(runtime_function(module, "__freehold_handle", PointerType::getUnqual(module.getContext()), {PointerType::getUnqual(module.getContext())})),
        result(runtime_function(module, "__freehold_result", PointerType::getUnqual(module.getContext()), {PointerType::getUnqual(module.getContext())})) {}
};

ConstantInt* mark(LLVMContext& context) { return ConstantInt::get(Type::getInt64Ty(context), bridge::kCompiledMark); }

Value* load_word(IRBuilder<>& builder) {
  LoadInst* word = builder.CreateAlignedLoad(builder.getInt64Ty(), thread_word(builder), Align(8));
  word->setAtomic(AtomicOrdering::Monotonic);
  return word;
}

// Its arguments cannot be handed on: the function itself comes inside, and every way out goes outside.
void enter_in_place(Function& function, const Runtime& runtime) {
  LLVMContext& context = function.getContext();
  function.setPrologueData(mark(context));
  BasicBlock& entry = function.getEntryBlock();
  Instruction* first = &*entry.getFirstNonPHIOrDbgOrAlloca();
  BasicBlock* rest = entry.splitBasicBlock(first, "");
  entry.getTerminator()->eraseFromParent();
  IRBuilder<> builder(&entry);
  auto* slow = BasicBlock::Create(context, "", &function, rest);
  Value* is_set = builder.CreateICmpNE(load_word(builder), builder.getInt64(0));
  builder.CreateCondBr(is_set, slow, rest, unlikely(context));
  builder.SetInsertPoint(slow);
  Value* came = builder.CreateCall(runtime.enter, {});
  builder.CreateBr(rest);
  builder.SetInsertPoint(rest, rest->begin());
  PHINode* was_outside = builder.CreatePHI(builder.getInt32Ty(), 2);
  was_outside->addIncoming(builder.getInt32(0), &entry);
  was_outside->addIncoming(came, slow);
  SmallVector<Instruction*, 8> exits;
  for (BasicBlock& block : function) {
    if (isa<ReturnInst>(block.getTerminator()) || isa<ResumeInst>(block.getTerminator())) exits.push_back(block.getTerminator());
  }
  for (Instruction* exit : exits) {
    BasicBlock* block = exit->getParent();
    BasicBlock* last = block->splitBasicBlock(exit, "");
    block->getTerminator()->eraseFromParent();
    auto* leaving = BasicBlock::Create(context, "", &function, last);
    builder.SetInsertPoint(block);
    builder.CreateCondBr(builder.CreateICmpNE(was_outside, builder.getInt32(0)), leaving, last, unlikely(context));
    builder.SetInsertPoint(leaving);
    builder.CreateCall(runtime.leave, {});
    builder.CreateBr(last);
  }
}

void finish(IRBuilder<>& builder, Value* result) {
  if (result->getType()->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(result);
  }
}

// What an entry does when the thread's word is set: one for each type of body, which is the last argument.
Function* coming_inside(const Function& body, const Runtime& runtime) {
  Module& module = const_cast<Module&>(*body.getParent());
  LLVMContext& context = module.getContext();
  SmallVector<Type*, 8> types(body.getFunctionType()->params());
  Constant* personality = body.hasPersonalityFn() ? body.getPersonalityFn() : nullptr;
  bool may_throw = !body.doesNotThrow();
  std::string key = signature(types, body.getReturnType(), body.getCallingConv(), body.getAttributes(), &body);
  raw_string_ostream(key) << '|' << may_throw << (may_throw && personality != nullptr ? personality->getName() : "");
  std::string name = "freehold.enter." + utohexstr(xxh3_64bits(key));
  if (Function* made = module.getFunction(name)) return made;

  types.push_back(PointerType::getUnqual(context));
  Function* function = make_shared(module, FunctionType::get(body.getReturnType(), types, false), name, &body);
  AttributeList passing = passing_attributes(body.getAttributes(), static_cast<unsigned>(body.arg_size()), context);
  function->setCallingConv(body.getCallingConv());
  for (unsigned index : passing.indexes()) {
    for (Attribute attribute : passing.getAttributes(index)) function->addAttributeAtIndex(index, attribute);
  }
  if (!may_throw) function->setDoesNotThrow();

  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : function->args()) arguments.push_back(&argument);
  Value* target = arguments.pop_back_val();
  Value* was_outside = builder.CreateCall(runtime.enter, {});
  // Addresses of objects that an outside caller hands on are handles again: compiled code has one name for each object.
  for (unsigned i = 0; i < arguments.size(); i++) {
    if (arguments[i]->getType()->isPointerTy() && !passing.hasParamAttr(i, Attribute::ByVal) && !passing.hasParamAttr(i, Attribute::StructRet)) {
      arguments[i] = builder.CreateCall(runtime.handle, {arguments[i]});
    }
  }
  auto* leaving = BasicBlock::Create(context, "", function);
  auto* end = BasicBlock::Create(context, "", function);
  CallBase* result;
  if (!may_throw) {
    result = builder.CreateCall(body.getFunctionType(), target, arguments);
  } else {
    function->setPersonalityFn(
        personality != nullptr ? personality
                               : cast<Constant>(module.getOrInsertFunction("__gcc_personality_v0", FunctionType::get(builder.getInt32Ty(), true)).getCallee()));
    auto* normal = BasicBlock::Create(context, "", function);
    auto* unwinding = BasicBlock::Create(context, "", function);
    result = builder.CreateInvoke(body.getFunctionType(), target, normal, unwinding, arguments);
    builder.SetInsertPoint(unwinding);
    LandingPadInst* pad = builder.CreateLandingPad(StructType::get(builder.getPtrTy(), builder.getInt32Ty()), 0);
    pad->setCleanup(true);
    auto* outside = BasicBlock::Create(context, "", function);
    auto* on = BasicBlock::Create(context, "", function);
    builder.CreateCondBr(builder.CreateICmpNE(was_outside, builder.getInt32(0)), outside, on);
    builder.SetInsertPoint(outside);
    builder.CreateCall(runtime.leave, {});
    builder.CreateBr(on);
    builder.SetInsertPoint(on);
    builder.CreateResume(pad);
    builder.SetInsertPoint(normal);
  }
  result->setCallingConv(body.getCallingConv());
  result->setAttributes(passing);
  if (!may_throw) result->setDoesNotThrow();
  builder.CreateCondBr(builder.CreateICmpNE(was_outside, builder.getInt32(0)), leaving, end);
  BasicBlock* returned = builder.GetInsertBlock();
  builder.SetInsertPoint(leaving);
  bool has_pointers = result->getType()->isPointerTy() || result->getType()->isAggregateType();
  Value* given = has_pointers ? change_pointers(builder, result, [&](Value* pointer) { return builder.CreateCall(runtime.result, {pointer}); }) : nullptr;
  builder.CreateCall(runtime.leave, {});
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  if (given == nullptr) {
    finish(builder, result);
    return function;
  }
  PHINode* either = builder.CreatePHI(result->getType(), 2);
  either->addIncoming(result, returned);
  either->addIncoming(given, leaving);
  finish(builder, either);
  return function;
}

void make_entry(Function& body, const Runtime& runtime) {
  Module& module = *body.getParent();
  LLVMContext& context = module.getContext();
  std::string name = body.getName().str();
  body.setName(name + ".body");
  Function* entry = Function::Create(body.getFunctionType(), body.getLinkage(), body.getAddressSpace(), name, &module);
  entry->copyAttributesFrom(&body);
  entry->setComdat(body.getComdat());
  entry->removeFnAttr(Attribute::NoInline);
  entry->removeFnAttr(Attribute::AlwaysInline);
  entry->removeFnAttr(Attribute::OptimizeNone);
  entry->removeFnAttr(Attribute::NoReturn);
  entry->removeFnAttr(Attribute::StackProtect);
  entry->removeFnAttr(Attribute::StackProtectReq);
  entry->removeFnAttr(Attribute::StackProtectStrong);
  entry->setPersonalityFn(nullptr);
  entry->setPrefixData(nullptr);
  entry->setPrologueData(mark(context));
  if (body.hasPrefixData()) {
    entry->setPrefixData(body.getPrefixData());
    body.setPrefixData(nullptr);
  }

  // Within the file a call goes to the body, unless the linker may choose another definition.
  bool is_this_one = !body.isInterposable() && (body.hasLocalLinkage() || body.hasExternalLinkage());
  body.replaceUsesWithIf(entry, [&](Use& use) {
    if (isa<BlockAddress>(use.getUser())) return false;
    auto* call = dyn_cast<CallBase>(use.getUser());
    return !(is_this_one && call != nullptr && call->isCallee(&use));
  });
  body.setLinkage(GlobalValue::InternalLinkage);
  body.setVisibility(GlobalValue::DefaultVisibility);
  body.setDSOLocal(true);

  IRBuilder<> builder(BasicBlock::Create(context, "", entry));
  auto* fast = BasicBlock::Create(context, "", entry);
  auto* slow = BasicBlock::Create(context, "", entry);
  builder.CreateCondBr(builder.CreateICmpEQ(load_word(builder), builder.getInt64(0)), fast, slow, likely(context));
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : entry->args()) arguments.push_back(&argument);
  auto hand_on = [&](Function* to, const AttributeList& attributes, CallInst::TailCallKind tail) {
    CallInst* call = builder.CreateCall(to, arguments);
    call->setCallingConv(body.getCallingConv());
    call->setAttributes(attributes);
    call->setTailCallKind(tail);
    finish(builder, call);
  };
  builder.SetInsertPoint(fast);
  // LLVM's guaranteed tail calls with structures on the stack overwrite the return address. A call that is only likely to be one leaves them in place.
  bool has_copy = any_of(body.args(), [](const Argument& argument) { return argument.hasByValAttr(); });
  hand_on(&body, body.getAttributes().removeFnAttributes(context), has_copy ? CallInst::TCK_Tail : CallInst::TCK_MustTail);
  builder.SetInsertPoint(slow);
  arguments.push_back(&body);
  hand_on(coming_inside(body, runtime), passing_attributes(body.getAttributes(), static_cast<unsigned>(body.arg_size()), context), CallInst::TCK_Tail);
}

}  // namespace

PreservedAnalyses EntriesPass::run(Module& module, ModuleAnalysisManager&) {
  SmallVector<Function*, 64> reachable;
  for (Function& function : module) {
    if (is_left_alone(function) || function.hasAvailableExternallyLinkage() || function.hasFnAttribute("freehold-bridge")) continue;
    if (!function.hasLocalLinkage() || function.hasAddressTaken(nullptr, false, true, true, true)) reachable.push_back(&function);
  }
  Runtime runtime(module);
  for (Function* function : reachable) {
    if (function->isVarArg()) {
      enter_in_place(*function, runtime);
    } else {
      make_entry(*function, runtime);
    }
  }
  return PreservedAnalyses::none();
}

}  // namespace freehold::compiler
