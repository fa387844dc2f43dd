// Where a thread may be stopped. The end of each loop that might go on for long looks at the stop word, and so does the start of a function that
// may call itself. When the word is set, and only then, the handles that the loop has translated are written into a record, so that their objects
// stay in place while the thread waits.
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "abi.h"
#include "addresses.h"
#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

constexpr unsigned kShortLoop = 32;     // iterations that need no look
constexpr size_t kMostInRegisters = 6;  // handles that the slow path passes as arguments (Runtime/poll.cpp)

// A call that looks at the stop word itself: an entry, or a bridge when it comes back.
bool is_poll(const Instruction& instruction) {
  auto* call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr || !ends_translations(*call)) return false;
  const Function* callee = call->getCalledFunction();
  return callee != nullptr && callee->hasFnAttribute("freehold-bridge");
}

bool has_poll(const BasicBlock* block) {
  return any_of(*block, [](const Instruction& instruction) { return is_poll(instruction); });
}

// The edge's loop needs no poll there: each round passes another one, or there are few rounds.
bool is_short(BasicBlock* latch, BasicBlock* header, DominatorTree& dominators, LoopInfo& loops, ScalarEvolution& evolution) {
  Loop* loop = loops.getLoopFor(header);
  if (loop == nullptr || loop->getHeader() != header || !loop->contains(latch)) return false;
  for (BasicBlock* block : loop->blocks()) {
    // Of an inner loop it may be passed or not.
    if (loops.getLoopFor(block) == loop && dominators.dominates(block, latch) && has_poll(block)) return true;
  }
  unsigned rounds = loop->isInnermost() ? evolution.getSmallConstantMaxTripCount(loop) : 0;
  return rounds != 0 && rounds <= kShortLoop;
}

bool may_call_itself(Function& function) {
  for (Instruction& instruction : instructions(function)) {
    auto* call = dyn_cast<CallBase>(&instruction);
    if (call == nullptr || isa<IntrinsicInst>(call) || !ends_translations(*call)) continue;
    const Function* callee = call->getCalledFunction();
    // A call in this file goes past the entry of the callee.
    if (callee != nullptr && !callee->isDeclaration() && !callee->hasFnAttribute("freehold-bridge")) return true;
  }
  return false;
}

}  // namespace

PreservedAnalyses PollsPass::run(Function& function, FunctionAnalysisManager& analyses) {
  if (is_left_alone(function) || function.hasFnAttribute("freehold-bridge") || function.hasPrologueData()) {
    // An entry has no loop; a function that comes inside in place does.
    if (!function.isVarArg() || is_left_alone(function)) return PreservedAnalyses::all();
  }
  auto& dominators = analyses.getResult<DominatorTreeAnalysis>(function);
  auto& loops = analyses.getResult<LoopAnalysis>(function);
  auto& evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);

  Addresses addresses(function, dominators);
  for (Instruction& instruction : instructions(function)) {
    if (!ends_translations(instruction)) continue;
    auto* call = cast<CallBase>(&instruction);
    // Allocation moves nothing, and frees nothing.
    const Function* callee = call->getCalledFunction();
    if (is_runtime_function(callee) && callee->getName() != "__freehold_free" && callee->getName() != "__freehold_realloc") continue;
    if (!addresses.empty() && !addresses.live_after(&instruction).empty()) {
      error(instruction, "the address of an object lives across a call");
    }
  }

  SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> edges;
  FindFunctionBackedges(function, edges);
  SmallSetVector<BasicBlock*, 8> ends;
  for (auto& [from, to] : edges) {
    auto* latch = const_cast<BasicBlock*>(from);
    if (!is_short(latch, const_cast<BasicBlock*>(to), dominators, loops, evolution)) ends.insert(latch);
  }
  // One with prologue data looks at the word when it is entered.
  bool at_start = !function.hasPrologueData() && may_call_itself(function);
  if (ends.empty() && !at_start) return PreservedAnalyses::all();

  // All of this before blocks are split.
  size_t most = 0;
  SmallVector<std::pair<Instruction*, SmallVector<Value*, 8>>, 8> polls;
  for (BasicBlock* block : ends) {
    Instruction* terminator = block->getTerminator();
    SmallSetVector<Value*, 8> handles;
    if (!addresses.empty()) {
      SmallVector<Instruction*, 8> live = addresses.live_out(block);
      // The terminator's own operands come after the poll too.
      for (Value* operand : terminator->operands()) {
        if (auto* value = dyn_cast<Instruction>(operand)) live.push_back(value);
      }
      for (Instruction* address : live) {
        for (Value* handle : addresses.bases(address)) {
          if (!isa<Constant>(handle)) handles.insert(handle);
        }
      }
    }
    most = std::max<size_t>(most, handles.size());
    polls.push_back({terminator, SmallVector<Value*, 8>(handles.begin(), handles.end())});
  }

  Module& module = *function.getParent();
  LLVMContext& context = module.getContext();
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  AllocaInst* record = nullptr;
  if (most > kMostInRegisters) {
    record = builder.CreateAlloca(ArrayType::get(builder.getInt64Ty(), sizeof(bridge::PinRecord) / 8 + most));
    record->setAlignment(Align(8));
  }
  if (at_start) polls.push_back({&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca(), {}});
  for (auto& [before, handles] : polls) {
    builder.SetInsertPoint(before);
    builder.SetCurrentDebugLocation(before->getDebugLoc());
    LoadInst* stop = builder.CreateAlignedLoad(builder.getInt32Ty(), thread_word(builder), Align(4));
    stop->setAtomic(AtomicOrdering::Monotonic);
    Value* is_set = builder.CreateICmpNE(stop, builder.getInt32(0));
    Instruction* branch = SplitBlockAndInsertIfThen(is_set, before->getIterator(), false, unlikely(context));
    builder.SetInsertPoint(branch);
    SmallVector<Value*, 8> arguments(handles.begin(), handles.end());
    bool in_registers = handles.size() <= kMostInRegisters;
    if (!in_registers) {
      auto place = [&](size_t n) { return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), record, n); };
      builder.CreateStore(builder.getInt64(handles.size()), place(offsetof(bridge::PinRecord, count) / 8));
      for (size_t n = 0; n < handles.size(); n++) builder.CreateStore(handles[n], place(sizeof(bridge::PinRecord) / 8 + n));
    }
    if (!in_registers) arguments.assign(1, record);
    SmallVector<Type*, 8> types(arguments.size(), builder.getPtrTy());
    std::string name = "__freehold_poll_" + (in_registers ? std::to_string(handles.size()) : "more");
    FunctionCallee poll = runtime_function(module, name, builder.getVoidTy(), types);
    auto* slow_path = cast<Function>(poll.getCallee());
    slow_path->setCallingConv(CallingConv::PreserveMost);
    // The dynamic linker's lazy binding would change r10.
    slow_path->addFnAttr(Attribute::NonLazyBind);
    builder.CreateCall(poll, arguments)->setCallingConv(CallingConv::PreserveMost);
  }
  return PreservedAnalyses::none();
}

}  // namespace freehold::compiler
