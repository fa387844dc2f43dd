// A plugin of clang 19, beside that of handles: -fheap-profile and -fheap-groups. The driver says which, by the environment, since a plugin comes too late for options.
#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Passes/PassPlugin.h>)
#include <llvm/Passes/PassPlugin.h>
#else
#include <llvm/Plugins/PassPlugin.h>
#endif

#include <stdlib.h>

#include "passes.h"

using namespace llvm;
using namespace freehold::call_sites;

namespace {

bool is_profile() { return getenv("FREEHOLD_COMPILER_HEAP_PROFILE") != nullptr; }
const char* groups_path() { return getenv("FREEHOLD_COMPILER_HEAP_GROUPS"); }

void add_first(ModulePassManager& manager) {
  if (is_profile()) manager.addPass(FramesPass());
  else if (const char* path = groups_path()) manager.addPass(GroupsPass(path));
}

void add_last(ModulePassManager& manager) {
  if (is_profile()) manager.addPass(createModuleToFunctionPassAdaptor(AccessesPass()));
}

bool add_named(StringRef name, ModulePassManager& manager) {
  if (name == "freehold-frames") manager.addPass(FramesPass());
  else if (name == "freehold-accesses") manager.addPass(createModuleToFunctionPassAdaptor(AccessesPass()));
  else if (const char* path = groups_path(); name == "freehold-groups" && path != nullptr) manager.addPass(GroupsPass(path));
  else return false;
  return true;
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "freehold-call-sites", "1", [](PassBuilder& builder) {
            builder.registerPipelineStartEPCallback([](ModulePassManager& manager, OptimizationLevel) { add_first(manager); });
#if LLVM_VERSION_MAJOR >= 20
            builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel, ThinOrFullLTOPhase) { add_last(manager); });
#else
            builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel) { add_last(manager); });
#endif
            builder.registerPipelineParsingCallback(
                [](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) { return add_named(name, manager); });
          }};
}
