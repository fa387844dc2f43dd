// Calls of code that may know no handles.
//
// Such a call goes to a bridge: a function of this file's making, one for each callee or, for calls through pointers, for each type. The bridge
// looks at the callee's first bytes. A compiled one has the mark there, and gets the arguments as they are. For another one the arguments are
// pinned in a record of the bridge's frame and passed as addresses, the thread goes outside for the call, and an address that comes back
// becomes a handle again. An exception on its way through takes the record with it.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/xxhash.h>

#include "abi.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

class Bridges {
 public:
  explicit Bridges(Module& module) : module_(module), context_(module.getContext()) {
    pointer_ = PointerType::getUnqual(context_);
    word_ = Type::getInt64Ty(context_);
  }

  void redirect(CallBase& call) {
    Function* callee = call.getCalledFunction();
    // A definition here has handles, unless another may take its place.
    if (callee != nullptr && !callee->isDeclaration() && !is_left_alone(*callee) && !callee->isInterposable()) return;
    if (is_runtime_function(callee)) return;
    if (call.isMustTailCall()) return check_tail(call);
    Function* bridge = bridge_for(call, callee);
    SmallVector<Value*, 8> arguments(call.args());
    if (callee == nullptr) arguments.push_back(call.getCalledOperand());
    FunctionType* type = bridge->getFunctionType();
    IRBuilder<> builder(&call);
    CallBase* made;
    if (auto* invoke = dyn_cast<InvokeInst>(&call)) {
      made = builder.CreateInvoke(type, bridge, invoke->getNormalDest(), invoke->getUnwindDest(), arguments);
    } else {
      auto* plain = builder.CreateCall(type, bridge, arguments);
      if (cast<CallInst>(call).isNoTailCall()) plain->setTailCallKind(CallInst::TCK_NoTail);
      made = plain;
    }
    made->setDebugLoc(call.getDebugLoc());
    if (call.doesNotReturn()) made->setDoesNotReturn();
    if (call.doesNotThrow()) made->setDoesNotThrow();
    made->takeName(&call);
    call.replaceAllUsesWith(made);
    call.eraseFromParent();
  }

 private:
  // The frame is gone when the callee runs, so nothing can be pinned in it: the callee must be compiled with handles.
  void check_tail(CallBase& call) {
    Function* callee = call.getCalledFunction();
    if (callee != nullptr && known_of(callee->getName()) != nullptr) error(call, "a guaranteed tail call of a function of the C library has no translation");
  }

  static bool may_throw(const CallBase& call) { return !call.doesNotThrow() && !call.getFunction()->doesNotThrow(); }

  Function* bridge_for(CallBase& call, Function* callee) {
    // One for each callee, types of arguments, and what is said about them.
    std::string key;
    raw_string_ostream stream(key);
    if (callee != nullptr) {
      stream << callee->getName();
    } else {
      call.getFunctionType()->print(stream);
    }
    stream << '|' << call.getCallingConv() << '|' << may_throw(call) << call.doesNotReturn() << '|';
    call.getType()->print(stream);
    for (unsigned i = 0; i < call.arg_size(); i++) {
      stream << ',';
      call.getArgOperand(i)->getType()->print(stream);
      stream << call.getAttributes().getParamAttrs(i).getAsString();
    }
    stream << call.getAttributes().getRetAttrs().getAsString();
    if (may_throw(call) && call.getFunction()->hasPersonalityFn()) stream << call.getFunction()->getPersonalityFn()->getName();
    Function*& bridge = made_[key];
    if (bridge == nullptr) {
      // The key says all that the code depends on, so that one of them serves all files.
      name_ = ("freehold.call." + (callee != nullptr ? callee->getName() : "pointer") + "." + Twine::utohexstr(xxh3_64bits(key))).str();
      bridge = make(call, callee);
    }
    return bridge;
  }

  // Attributes of the call that tell how arguments are passed, and no other: what LLVM found out about values is of handles, not of addresses.
  AttributeList passing(const CallBase& call) {
    AttributeList attributes;
    auto copy = [&](unsigned index) {
      for (Attribute attribute : call.getAttributes().getAttributes(index)) {
        if (attribute.isStringAttribute()) continue;
        switch (attribute.getKindAsEnum()) {
          case Attribute::ZExt:
          case Attribute::SExt:
          case Attribute::InReg:
          case Attribute::ByVal:
          case Attribute::StructRet:
          case Attribute::Nest:
          case Attribute::StackAlignment:
          case Attribute::Alignment:
            if (attribute.getKindAsEnum() == Attribute::Alignment && !call.getAttributes().hasAttributeAtIndex(index, Attribute::ByVal)) break;
            attributes = attributes.addAttributeAtIndex(context_, index, attribute);
            break;
          default: break;
        }
      }
    };
    copy(AttributeList::ReturnIndex);
    for (unsigned i = 0; i < call.arg_size(); i++) copy(AttributeList::FirstArgIndex + i);
    return attributes;
  }

  Function* make_empty(const CallBase& call, Function* callee, const Twine& suffix) {
    SmallVector<Type*, 8> parameters;
    for (Value* argument : call.args()) parameters.push_back(argument->getType());
    if (callee == nullptr) parameters.push_back(pointer_);
    FunctionType* type = FunctionType::get(call.getType(), parameters, false);
    auto* function = Function::Create(type, GlobalValue::LinkOnceODRLinkage, name_ + suffix, module_);
    function->setVisibility(GlobalValue::HiddenVisibility);
    function->setComdat(module_.getOrInsertComdat(function->getName()));
    function->setDSOLocal(true);
    function->addFnAttr("freehold-bridge");
    function->setUWTableKind(UWTableKind::Async);
    if (const Function* user = call.getFunction()) {
      for (const char* attribute : {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "stack-protector-buffer-size"}) {
        if (user->hasFnAttribute(attribute)) function->addFnAttr(user->getFnAttribute(attribute));
      }
    }
    if (!may_throw(call)) function->setDoesNotThrow();
    if (call.doesNotReturn()) function->setDoesNotReturn();
    return function;
  }

  Function* make(const CallBase& call, Function* callee) {
    Function* outside = make_outside(call, callee);
    Function* bridge = make_empty(call, callee, "");
    IRBuilder<> builder(BasicBlock::Create(context_, "", bridge));
    auto* direct = BasicBlock::Create(context_, "compiled", bridge);
    auto* out = BasicBlock::Create(context_, "outside", bridge);
    Value* target = callee != nullptr ? static_cast<Value*>(callee) : bridge->getArg(bridge->arg_size() - 1);
    Value* mark = builder.CreateAlignedLoad(builder.getInt32Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), target, 4), Align(1));
    Value* is_compiled = builder.CreateICmpEQ(mark, builder.getInt32(bridge::kCompiledMarkHigh));
    bool is_library = callee != nullptr && known_of(callee->getName()) != nullptr;
    builder.CreateCondBr(is_compiled, direct, out, is_library ? unlikely(context_) : likely(context_));

    builder.SetInsertPoint(direct);
    SmallVector<Value*, 8> arguments;
    for (unsigned i = 0; i < call.arg_size(); i++) {
      Value* argument = bridge->getArg(i);
      arguments.push_back(argument);
    }
    auto* inside = builder.CreateCall(call.getFunctionType(), target, arguments);
    inside->setCallingConv(call.getCallingConv());
    inside->setAttributes(passing(call));
    inside->setTailCall();
    finish(builder, inside);

    builder.SetInsertPoint(out);
    SmallVector<Value*, 8> all;
    for (Argument& argument : bridge->args()) all.push_back(&argument);
    auto* slow = builder.CreateCall(outside, all);
    slow->setTailCall();
    finish(builder, slow);
    return bridge;
  }

  static void finish(IRBuilder<>& builder, CallInst* result) {
    if (result->getType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(result);
    }
  }

  Function* make_outside(const CallBase& call, Function* callee) {
    Function* function = make_empty(call, callee, ".outside");
    function->addFnAttr(Attribute::NoInline);
    IRBuilder<> builder(BasicBlock::Create(context_, "", function));
    const Known* known = callee != nullptr ? known_of(callee->getName()) : nullptr;
    bool keeps = known == nullptr || known->keeps;
    Value* target = callee != nullptr ? static_cast<Value*>(callee) : function->getArg(function->arg_size() - 1);

    SmallVector<unsigned, 8> pinned;
    for (unsigned i = 0; i < call.arg_size(); i++) {
      if (!call.getArgOperand(i)->getType()->isPointerTy() || call.isByValArgument(i)) continue;
      if (known != nullptr && i < 32 && (known->opaque & 1u << i) != 0) continue;
      pinned.push_back(i);
    }
    auto* record_type = ArrayType::get(word_, sizeof(bridge::PinRecord) / 8 + pinned.size());
    AllocaInst* record = builder.CreateAlloca(record_type);
    record->setAlignment(Align(8));
    auto place = [&](size_t n) { return builder.CreateConstInBoundsGEP1_64(word_, record, n); };
    builder.CreateStore(builder.getInt64(pinned.size()), place(offsetof(bridge::PinRecord, count) / 8));

    SmallVector<Value*, 8> arguments;
    for (unsigned i = 0; i < call.arg_size(); i++) arguments.push_back(function->getArg(i));
    FunctionCallee pin = runtime_function(module_, keeps ? "__freehold_keep" : "__freehold_pin", pointer_, {pointer_, pointer_});
    for (size_t n = 0; n < pinned.size(); n++) {
      Value* handle = arguments[pinned[n]];
      Value* slot = place(sizeof(bridge::PinRecord) / 8 + n);
      builder.CreateStore(ConstantPointerNull::get(PointerType::getUnqual(context_)), slot);
      Value* is_handle = builder.CreateICmpSLT(builder.CreatePtrToInt(handle, word_), builder.getInt64(0));
      BasicBlock* before = builder.GetInsertBlock();
      auto* pinning = BasicBlock::Create(context_, "", function);
      auto* after = BasicBlock::Create(context_, "", function);
      builder.CreateCondBr(is_handle, pinning, after);
      builder.SetInsertPoint(pinning);
      Value* address = builder.CreateCall(pin, {handle, slot});
      builder.CreateBr(after);
      builder.SetInsertPoint(after);
      PHINode* either = builder.CreatePHI(pointer_, 2);
      either->addIncoming(handle, before);
      either->addIncoming(address, pinning);
      arguments[pinned[n]] = either;
    }
    FunctionCallee call_out = runtime_function(module_, "__freehold_call_out", builder.getVoidTy(), {pointer_});
    FunctionCallee call_back = runtime_function(module_, "__freehold_call_back", builder.getVoidTy(), {pointer_});
    builder.CreateCall(call_out, {record});

    CallBase* made;
    if (may_throw(call)) {
      auto* normal = BasicBlock::Create(context_, "", function);
      auto* unwinding = BasicBlock::Create(context_, "", function);
      // It has a cleanup and nothing else, so that the personality of C does.
      Constant* own = call.getFunction()->hasPersonalityFn() ? call.getFunction()->getPersonalityFn() : nullptr;
      function->setPersonalityFn(
          own != nullptr ? own
                         : cast<Constant>(module_.getOrInsertFunction("__gcc_personality_v0", FunctionType::get(builder.getInt32Ty(), true)).getCallee()));
      made = builder.CreateInvoke(call.getFunctionType(), target, normal, unwinding, arguments);
      builder.SetInsertPoint(unwinding);
      LandingPadInst* pad = builder.CreateLandingPad(StructType::get(pointer_, builder.getInt32Ty()), 0);
      pad->setCleanup(true);
      builder.CreateCall(call_back, {record});
      builder.CreateResume(pad);
      builder.SetInsertPoint(normal);
    } else {
      made = builder.CreateCall(call.getFunctionType(), target, arguments);
    }
    made->setCallingConv(call.getCallingConv());
    made->setAttributes(passing(call));
    if (!may_throw(call)) made->setDoesNotThrow();
    if (call.getType()->isPointerTy()) {
      // A handle again before the record goes: it may be what keeps the object in place.
      builder.CreateRet(builder.CreateCall(runtime_function(module_, "__freehold_call_back_with", pointer_, {pointer_, pointer_}), {record, made}));
      return function;
    }
    builder.CreateCall(call_back, {record});
    if (call.getType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(made);
    }
    return function;
  }

  Module& module_;
  LLVMContext& context_;
  PointerType* pointer_;
  Type* word_;
  StringMap<Function*> made_;
  std::string name_;
};

// setjmp returns a second time in a frame whose callees are gone, their records with them.
void keep_records_over(CallBase& call) {
  Module& module = *call.getModule();
  IRBuilder<> builder(&call);
  Type* pointer = builder.getPtrTy();
  Value* newest = builder.CreateCall(runtime_function(module, "__freehold_newest_pin", pointer, {}));
  builder.SetInsertPoint(isa<InvokeInst>(call) ? &*cast<InvokeInst>(call).getNormalDest()->getFirstInsertionPt() : call.getNextNode());
  builder.CreateCall(runtime_function(module, "__freehold_unwind_pins", builder.getVoidTy(), {pointer}), {newest});
}

}  // namespace

PreservedAnalyses CallsPass::run(Module& module, ModuleAnalysisManager&) {
  SmallVector<CallBase*, 64> calls, returning_twice;
  SmallVector<LandingPadInst*, 16> pads;
  for (Function& function : module) {
    if (is_left_alone(function)) continue;
    for (Instruction& instruction : instructions(function)) {
      if (auto* pad = dyn_cast<LandingPadInst>(&instruction)) pads.push_back(pad);
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call == nullptr || isa<IntrinsicInst>(call) || call->isInlineAsm() || is_translate(call)) continue;
      if (call->hasFnAttr(Attribute::ReturnsTwice)) {
        returning_twice.push_back(call);
      } else if (leaf_of(*call) == nullptr) {
        calls.push_back(call);
      }
    }
  }
  for (CallBase* call : returning_twice) keep_records_over(*call);
  for (LandingPadInst* pad : pads) {
    IRBuilder<> builder(&*pad->getParent()->getFirstInsertionPt());
    builder.CreateCall(runtime_function(module, "__freehold_landed", builder.getVoidTy(), {}));
  }
  Bridges bridges(module);
  for (CallBase* call : calls) bridges.redirect(*call);
  return PreservedAnalyses::none();
}

}  // namespace freehold::compiler
