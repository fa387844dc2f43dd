// Puts the steps into LLVM's pipeline. OptimizerEarly is the last point at which a whole module can be changed before the vectoriser; after
// OptimizerLast nothing of the middle end runs. Both are called at every level, -O0 too, and by the compile step of -flto.
#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Passes/PassPlugin.h>)
#include <llvm/Passes/PassPlugin.h>
#else
#include <llvm/Plugins/PassPlugin.h>
#endif
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "passes.h"

using namespace llvm;
using namespace freehold::compiler;

namespace {

// That there is memory behind a reference holds where the program makes one, not behind a call that may free the object: there LLVM would read it early,
// which no plain memory minds, and a freed handle does.
void forget_what_may_be_freed() {
  constexpr StringRef kOption = "use-dereferenceable-at-point-semantics";
  auto& options = cl::getRegisteredOptions();
  auto found = options.find(kOption);
  if (found == options.end() || found->second->addOccurrence(0, kOption, "1")) report_fatal_error("freehold: this LLVM has no option '" + kOption + "'");
}

// At -O0 coroutines are split after this point, and nothing comes in between that wants translations: all is done at the last one.
void add_early(ModulePassManager& manager, bool optimize) {
  if (!optimize) return;
  manager.addPass(PreparePass());
  FunctionPassManager functions;
  functions.addPass(LoopSimplifyPass());
  functions.addPass(TranslatePass(true));
  functions.addPass(EarlyCSEPass(true));
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
}

void add_late(ModulePassManager& manager, bool optimize) {
  if (!optimize) manager.addPass(PreparePass());
  manager.addPass(createModuleToFunctionPassAdaptor(TranslatePass(false)));
  if (optimize) {
    FunctionPassManager functions;
    functions.addPass(EarlyCSEPass(true));
    functions.addPass(ReusePass());
    functions.addPass(EarlyCSEPass(true));
    manager.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
  }
  manager.addPass(CallsPass());
  manager.addPass(EntriesPass());
  manager.addPass(createModuleToFunctionPassAdaptor(PollsPass()));
  manager.addPass(VerifyPass());
  manager.addPass(createModuleToFunctionPassAdaptor(LowerPass()));
}

template <typename Pass>
void add_function_step(ModulePassManager& manager, Pass pass) {
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(pass)));
}

bool add_named(StringRef name, ModulePassManager& manager) {
  if (!name.consume_front("freehold-")) return false;
  if (name == "early") add_early(manager, true);
  else if (name == "late") add_late(manager, true);
  else if (name == "prepare") manager.addPass(PreparePass());
  else if (name == "translate") add_function_step(manager, TranslatePass(true));
  else if (name == "reuse") add_function_step(manager, ReusePass());
  else if (name == "calls") manager.addPass(CallsPass());
  else if (name == "entries") manager.addPass(EntriesPass());
  else if (name == "polls") add_function_step(manager, PollsPass());
  else if (name == "verify") manager.addPass(VerifyPass());
  else if (name == "lower") add_function_step(manager, LowerPass());
  else return false;
  return true;
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "freehold-handles", "1", [](PassBuilder& builder) {
            forget_what_may_be_freed();
#if LLVM_VERSION_MAJOR >= 20
            builder.registerOptimizerEarlyEPCallback(
                [](ModulePassManager& manager, OptimizationLevel level, ThinOrFullLTOPhase) { add_early(manager, level != OptimizationLevel::O0); });
            builder.registerOptimizerLastEPCallback(
                [](ModulePassManager& manager, OptimizationLevel level, ThinOrFullLTOPhase) { add_late(manager, level != OptimizationLevel::O0); });
#else
        builder.registerOptimizerEarlyEPCallback([](ModulePassManager& manager, OptimizationLevel level) { add_early(manager, level != OptimizationLevel::O0); });
        builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel level) { add_late(manager, level != OptimizationLevel::O0); });
#endif
            // For opt: -passes=freehold-early, or one step by its name.
            builder.registerPipelineParsingCallback(
                [](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) { return add_named(name, manager); });
          }};
}
