// Calls of code that may know no handles.
//
// Such a call goes to a bridge: a function of this file's making, one for each callee or, for calls through pointers, for each type. The bridge
// looks at the callee's first bytes. A compiled one has the mark there, and gets the arguments as they are. For another one there is the way out,
// one for each type: the arguments are pinned in a record of its frame and passed as addresses, the thread goes outside for the call, and an
// address that comes back becomes a handle again. An exception on its way through takes the record with it.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

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
    if (callee != nullptr && callee->getName() == "makecontext") give_addresses(call);
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

  // The stack, and the context behind it, that makecontext finds in memory: for the call their addresses are there.
  void give_addresses(CallBase& call) {
    IRBuilder<> builder(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
    AllocaInst* handles = builder.CreateAlloca(ArrayType::get(pointer_, 2));
    Value* arguments[] = {call.getArgOperand(0), handles};
    auto call_of = [&](StringRef name) { builder.CreateCall(runtime_function(module_, name, builder.getVoidTy(), {pointer_, pointer_}), arguments); };
    builder.SetInsertPoint(&call);
    call_of("__freehold_before_makecontext");
    if (auto* invoke = dyn_cast<InvokeInst>(&call)) {
      BasicBlock* normal = invoke->getNormalDest();
      if (normal->getSinglePredecessor() == nullptr) normal = SplitEdge(invoke->getParent(), normal);
      builder.SetInsertPoint(&*normal->getFirstInsertionPt());
    } else {
      builder.SetInsertPoint(call.getNextNode());
    }
    call_of("__freehold_after_makecontext");
  }

  static bool may_throw(const CallBase& call) { return !call.doesNotThrow() && !call.getFunction()->doesNotThrow(); }

  // All that the code between caller and callee depends on, so that one of them serves all files.
  static std::string shape_of(const CallBase& call, bool has_callee) {
    SmallVector<Type*, 8> arguments;
    for (Value* argument : call.args()) arguments.push_back(argument->getType());
    std::string shape = signature(arguments, call.getType(), call.getCallingConv(), call.getAttributes(), call.getFunction());
    raw_string_ostream stream(shape);
    // How many arguments are named, if the callee takes any number of them.
    if (call.getFunctionType()->isVarArg()) stream << "..." << call.getFunctionType()->getNumParams();
    stream << '|' << has_callee << may_throw(call) << call.doesNotReturn();
    if (may_throw(call) && call.getFunction()->hasPersonalityFn()) stream << call.getFunction()->getPersonalityFn()->getName();
    return shape;
  }

  Function* bridge_for(CallBase& call, Function* callee) {
    std::string key = shape_of(call, callee != nullptr);
    if (callee != nullptr) key = (callee->getName() + "|" + key).str();
    Function*& bridge = made_[key];
    if (bridge == nullptr) {
      bridge = make_empty(call, callee == nullptr,
                          "freehold.call." + (callee != nullptr ? callee->getName() : "pointer") + "." + Twine::utohexstr(xxh3_64bits(key)));
      fill(bridge, call, callee);
    }
    return bridge;
  }

  // The way out is the same for all callees of a shape about which the same is known.
  Function* outside_for(const CallBase& call, const Known* known) {
    std::string key = shape_of(call, true);
    bool keeps = known == nullptr || known->keeps;
    uint32_t opaque = known != nullptr ? known->opaque : 0;
    raw_string_ostream(key) << '|' << keeps << opaque;
    Function*& outside = made_[key];
    if (outside == nullptr) {
      outside = make_empty(call, true, "freehold.outside." + Twine::utohexstr(xxh3_64bits(key)));
      fill_outside(outside, call, keeps, opaque);
    }
    return outside;
  }

  // The callee is the last argument, if it is one.
  Function* make_empty(const CallBase& call, bool takes_callee, const Twine& name) {
    SmallVector<Type*, 8> parameters;
    for (Value* argument : call.args()) parameters.push_back(argument->getType());
    if (takes_callee) parameters.push_back(pointer_);
    Function* function = make_shared(module_, FunctionType::get(call.getType(), parameters, false), name, call.getFunction());
    if (!may_throw(call)) function->setDoesNotThrow();
    if (call.doesNotReturn()) function->setDoesNotReturn();
    return function;
  }

  void fill(Function* bridge, const CallBase& call, Function* callee) {
    const Known* known = callee != nullptr ? known_of(callee->getName()) : nullptr;
    IRBuilder<> builder(BasicBlock::Create(context_, "", bridge));
    auto* direct = BasicBlock::Create(context_, "compiled", bridge);
    auto* out = BasicBlock::Create(context_, "outside", bridge);
    Value* target = callee != nullptr ? static_cast<Value*>(callee) : bridge->getArg(bridge->arg_size() - 1);
    Value* mark = builder.CreateAlignedLoad(builder.getInt32Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), target, 4), Align(1));
    Value* is_compiled = builder.CreateICmpEQ(mark, builder.getInt32(bridge::kCompiledMarkHigh));
    builder.CreateCondBr(is_compiled, direct, out, known != nullptr ? unlikely(context_) : likely(context_));

    builder.SetInsertPoint(direct);
    SmallVector<Value*, 8> arguments;
    for (unsigned i = 0; i < call.arg_size(); i++) {
      Value* argument = bridge->getArg(i);
      arguments.push_back(argument);
    }
    auto* inside = builder.CreateCall(call.getFunctionType(), target, arguments);
    inside->setCallingConv(call.getCallingConv());
    inside->setAttributes(passing_attributes(call.getAttributes(), call.arg_size(), context_));
    inside->setTailCall();
    finish(builder, inside);

    builder.SetInsertPoint(out);
    SmallVector<Value*, 8> all;
    for (Argument& argument : bridge->args()) all.push_back(&argument);
    if (callee != nullptr) all.push_back(callee);
    auto* slow = builder.CreateCall(outside_for(call, known), all);
    slow->setTailCall();
    finish(builder, slow);
  }

  static void finish(IRBuilder<>& builder, CallInst* result) {
    if (result->getType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(result);
    }
  }

  void fill_outside(Function* function, const CallBase& call, bool keeps, uint32_t opaque) {
    IRBuilder<> builder(BasicBlock::Create(context_, "", function));
    Value* target = function->getArg(function->arg_size() - 1);

    SmallVector<unsigned, 8> pinned;
    for (unsigned i = 0; i < call.arg_size(); i++) {
      if (!call.getArgOperand(i)->getType()->isPointerTy() || call.isByValArgument(i)) continue;
      if (i < 32 && (opaque & 1u << i) != 0) continue;
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
    // Code that the program has made in an object of the heap.
    {
      Value* is_handle = builder.CreateICmpSLT(builder.CreatePtrToInt(target, word_), builder.getInt64(0));
      BasicBlock* before = builder.GetInsertBlock();
      auto* in_heap = BasicBlock::Create(context_, "", function);
      auto* after = BasicBlock::Create(context_, "", function);
      builder.CreateCondBr(is_handle, in_heap, after, unlikely(context_));
      builder.SetInsertPoint(in_heap);
      Value* address = builder.CreateCall(runtime_function(module_, "__freehold_code", pointer_, {pointer_}), {target});
      builder.CreateBr(after);
      builder.SetInsertPoint(after);
      PHINode* either = builder.CreatePHI(pointer_, 2);
      either->addIncoming(target, before);
      either->addIncoming(address, in_heap);
      target = either;
    }
    // A structure that the call copies: the object that it is in may move once the thread is outside.
    for (unsigned i = 0; i < call.arg_size(); i++) {
      if (!call.isByValArgument(i)) continue;
      const DataLayout& layout = module_.getDataLayout();
      Type* type = call.getParamByValType(i);
      Align alignment = std::max(call.getParamAlign(i).valueOrOne(), layout.getABITypeAlign(type));
      // In the entry block: elsewhere it takes new stack each time, in a loop that this function is inlined into.
      AllocaInst* copy = IRBuilder<>(&function->getEntryBlock(), function->getEntryBlock().begin()).CreateAlloca(type);
      copy->setAlignment(alignment);
      builder.CreateMemCpy(copy, alignment, arguments[i], Align(1), layout.getTypeAllocSize(type).getFixedValue());
      arguments[i] = copy;
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
    made->setAttributes(passing_attributes(call.getAttributes(), call.arg_size(), context_));
    if (!may_throw(call)) made->setDoesNotThrow();
    for (unsigned i = 0; i < call.arg_size(); i++) {
      if (call.paramHasAttr(i, Attribute::StructRet)) restore_members(builder, call.getParamStructRetType(i), arguments[i], record);
    }
    if (call.getType()->isPointerTy()) {
      // A handle again before the record goes: it may be what keeps the object in place.
      builder.CreateRet(builder.CreateCall(runtime_function(module_, "__freehold_call_back_with", pointer_, {pointer_, pointer_}), {record, made}));
      return;
    }
    Value* result = made;
    if (call.getType()->isAggregateType()) {
      FunctionCallee handle = runtime_function(module_, "__freehold_handle_from", pointer_, {pointer_, pointer_});
      result = change_pointers(builder, made, [&](Value* member) { return builder.CreateCall(handle, {record, member}); });
    }
    builder.CreateCall(call_back, {record});
    if (call.getType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(result);
    }
  }

  // The pointers of a structure that the callee has made where it was told to. It may have some into itself (std::string), and it may lie in an object.
  void restore_members(IRBuilder<>& builder, Type* type, Value* where, Value* record) {
    if (type->isPointerTy()) {
      FunctionCallee handle = runtime_function(module_, "__freehold_handle_from", pointer_, {pointer_, pointer_});
      builder.CreateAlignedStore(builder.CreateCall(handle, {record, builder.CreateAlignedLoad(pointer_, where, Align(1))}), where, Align(1));
      return;
    }
    const DataLayout& layout = module_.getDataLayout();
    auto at = [&](uint64_t offset) { return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), where, offset); };
    if (auto* structure = dyn_cast<StructType>(type)) {
      for (unsigned i = 0; i < structure->getNumElements(); i++) {
        restore_members(builder, structure->getElementType(i), at(layout.getStructLayout(structure)->getElementOffset(i).getFixedValue()), record);
      }
    } else if (auto* array = dyn_cast<ArrayType>(type);
               array != nullptr && (array->getElementType()->isPointerTy() || array->getElementType()->isAggregateType())) {
      uint64_t size = layout.getTypeAllocSize(array->getElementType()).getFixedValue();
      for (uint64_t i = 0; i < array->getNumElements(); i++) restore_members(builder, array->getElementType(), at(i * size), record);
    }
  }

  Module& module_;
  LLVMContext& context_;
  PointerType* pointer_;
  Type* word_;
  StringMap<Function*> made_;
};

// setjmp returns a second time in a frame whose callees are gone, their records with them, and vfork after its child has used the same thread's word:
// wherever the thread is then, it comes inside.
void come_inside_after(CallBase& call) {
  Module& module = *call.getModule();
  IRBuilder<> builder(&call);
  Type* word = builder.getInt64Ty();
  Value* before = builder.CreateCall(runtime_function(module, "__freehold_returning_twice", word, {}));
  builder.SetInsertPoint(isa<InvokeInst>(call) ? &*cast<InvokeInst>(call).getNormalDest()->getFirstInsertionPt() : call.getNextNode());
  builder.CreateCall(runtime_function(module, "__freehold_returned", builder.getVoidTy(), {word}), {before});
}

// No bridge can stand between setjmp's kind and its caller, whose frame it returns to. What such a function is given it may use until then (getcontext).
void give_kept_addresses(CallBase& call) {
  Module& module = *call.getModule();
  PointerType* pointer = PointerType::getUnqual(module.getContext());
  for (Use& argument : call.args()) {
    if (!argument->getType()->isPointerTy() || is_raw(argument) || call.isByValArgument(call.getArgOperandNo(&argument))) continue;
    IRBuilder<> builder(&call);
    argument.set(builder.CreateCall(runtime_function(module, "__freehold_kept", pointer, {pointer}), {argument.get()}));
  }
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
  for (CallBase* call : returning_twice) {
    if (leaf_of(*call) == nullptr) give_kept_addresses(*call);
    come_inside_after(*call);
  }
  for (LandingPadInst* pad : pads) {
    IRBuilder<> builder(&*pad->getParent()->getFirstInsertionPt());
    builder.CreateCall(runtime_function(module, "__freehold_landed", builder.getVoidTy(), {}));
  }
  Bridges bridges(module);
  for (CallBase* call : calls) bridges.redirect(*call);
  return PreservedAnalyses::none();
}

}  // namespace freehold::compiler
