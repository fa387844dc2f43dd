// Puts the steps into LLVM's pipeline. OptimizerEarly is the last point at which a whole module can be changed before the vectoriser; after
// OptimizerLast nothing of the middle end runs. Both are called at every level, -O0 too, and by the compile step of -flto.
#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Passes/PassPlugin.h>)
#include <llvm/Passes/PassPlugin.h>
#else
#include <llvm/Plugins/PassPlugin.h>
#endif
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "passes.h"

using namespace llvm;
using namespace freehold::compiler;

namespace {

void add_early(ModulePassManager& manager, OptimizationLevel level) {
  manager.addPass(PreparePass());
  FunctionPassManager functions;
  bool hoist = level != OptimizationLevel::O0;
  if (hoist) functions.addPass(LoopSimplifyPass());
  functions.addPass(TranslatePass(hoist));
  if (hoist) functions.addPass(EarlyCSEPass(true));
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
}

void add_late(ModulePassManager& manager) {
  manager.addPass(createModuleToFunctionPassAdaptor(TranslatePass(false)));
  manager.addPass(CallsPass());
  manager.addPass(EntriesPass());
  manager.addPass(createModuleToFunctionPassAdaptor(PollsPass()));
  manager.addPass(VerifyPass());
  manager.addPass(createModuleToFunctionPassAdaptor(LowerPass()));
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {
      LLVM_PLUGIN_API_VERSION, "freehold-handles", "1", [](PassBuilder& builder) {
#if LLVM_VERSION_MAJOR >= 20
        builder.registerOptimizerEarlyEPCallback([](ModulePassManager& manager, OptimizationLevel level, ThinOrFullLTOPhase) { add_early(manager, level); });
        builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel, ThinOrFullLTOPhase) { add_late(manager); });
#else
            builder.registerOptimizerEarlyEPCallback([](ModulePassManager& manager, OptimizationLevel level) { add_early(manager, level); });
            builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel) { add_late(manager); });
#endif
        // For opt: -passes=freehold-translate, and so on.
        builder.registerPipelineParsingCallback([](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) {
          if (name == "freehold-early") {
            add_early(manager, OptimizationLevel::O2);
          } else if (name == "freehold-late") {
            add_late(manager);
          } else {
            return false;
          }
          return true;
        });
      }};
}
