// Before translation: the allocation functions, and what LLVM has found out that will no longer be true.
#include <llvm/Analysis/GlobalsModRef.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "context.h"
#include "passes.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

void replace_allocation(Module& module, Function& function) {
  StringRef name = replacement_of(function.getName());
  if (name.empty()) return;
  if (!function.isDeclaration()) {
    // The program's own: calls of other files, which go to the runtime's name, mean this one too.
    if (!function.hasLocalLinkage() && module.getNamedValue(name) == nullptr) GlobalAlias::create(function.getLinkage(), name, &function);
    return;
  }
  Function* replacement = module.getFunction(name);
  if (replacement == nullptr) {
    replacement = Function::Create(function.getFunctionType(), GlobalValue::ExternalLinkage, name, module);
    replacement->setAttributes(function.getAttributes());
    // What LLVM knows of malloc and free by name it may go on knowing by attribute: but not that it may leave them out.
    replacement->removeFnAttr(Attribute::Memory);
    replacement->removeFnAttr("alloc-family");
    replacement->removeFnAttr(Attribute::AllocKind);
    replacement->removeFnAttr(Attribute::AllocSize);
    replacement->removeFnAttr(Attribute::NoCallback);
  }
  if (replacement->getFunctionType() != function.getFunctionType()) {
    if (!function.use_empty()) function.getContext().emitError("freehold: '" + function.getName() + "' is declared with an unusual type");
    return;
  }
  // Its address stays the C library's: who gets it may not know handles.
  for (Use& use : make_early_inc_range(function.uses())) {
    auto* call = dyn_cast<CallBase>(use.getUser());
    if (call != nullptr && call->isCallee(&use)) use.set(replacement);
  }
}

// The C library's function, or libstdc++'s, where the runtime's would be called by its name: declared as freehold_own.NAME (Cxx/paths.cpp).
void name_own(Module& module, Function& function) {
  StringRef name = function.getName();
  if (!function.isDeclaration() || !name.consume_front("freehold_own.")) return;
  Function* own = module.getFunction(name);
  if (own == nullptr) return function.setName(name.str());
  function.replaceAllUsesWith(own);
  function.eraseFromParent();
}

}  // namespace

PreservedAnalyses PreparePass::run(Module& module, ModuleAnalysisManager&) {
  for (Function& function : make_early_inc_range(module)) {
    if (!function.isIntrinsic()) replace_allocation(module, function);
  }
  for (Function& function : make_early_inc_range(module)) name_own(module, function);
  for (Function& function : module) {
    if (function.isIntrinsic() || is_translate(&function)) continue;
    // Every function may be stopped in, and then the table changes.
    for (auto kind : {Attribute::Memory, Attribute::Speculatable, Attribute::NoSync, Attribute::NoFree, Attribute::NoRecurse}) function.removeFnAttr(kind);
    for (Instruction& instruction : instructions(function)) {
      auto* call = dyn_cast<CallBase>(&instruction);
      if (call == nullptr || call->isInlineAsm() || (call->getCalledFunction() != nullptr && call->getCalledFunction()->isIntrinsic())) continue;
      for (auto kind : {Attribute::Memory, Attribute::NoSync, Attribute::NoFree}) call->removeFnAttr(kind);
    }
  }
  // It remembers which functions write nothing, attributes or not, and no other change makes it forget.
  PreservedAnalyses preserved = PreservedAnalyses::none();
  preserved.abandon<GlobalsAA>();
  return preserved;
}

}  // namespace freehold::compiler
