#include "call_sites.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "../Grouping/text_file.h"

using namespace llvm;

namespace freehold::call_sites {

namespace {

// In a file of lines and words.
std::string printable(StringRef name) {
  name.consume_front("\1");
  std::string made = name.str();
  for (char& c : made) {
    if (c <= ' ' || c == '>' || c == '#' || c == '\x7f') c = '_';
  }
  return made.empty() ? "_" : made;
}

}  // namespace

StringRef callee_of(const CallBase& call) {
  if (call.isInlineAsm()) return {};
  auto* callee = dyn_cast<GlobalValue>(call.getCalledOperand()->stripPointerCasts());
  return callee == nullptr ? StringRef() : callee->getName();
}

FunctionSites sites_of(Function& function) {
  FunctionSites sites;
  sites.shape = grouping::kHashStart;
  std::string file = function.hasLocalLinkage() ? printable(sys::path::filename(function.getParent()->getSourceFileName())) + ":" : "";
  sites.name = file + printable(function.getName());
  StringMap<unsigned> counts;
  for (Instruction& instruction : instructions(function)) {
    auto* call = dyn_cast<CallBase>(&instruction);
    if (call == nullptr || isa<IntrinsicInst>(call) || isa<CallBrInst>(call) || call->isInlineAsm()) continue;
    StringRef callee = callee_of(*call);
    std::string called = callee.empty() ? "*" : printable(callee);
    sites.shape = grouping::hash_of(called + "\n", sites.shape);
    sites.names.insert({call, sites.name + ">" + called + "#" + std::to_string(++counts[called])});
  }
  return sites;
}

bool is_allocation(StringRef callee) {
  static const StringSet<> all = {"malloc",
                                  "calloc",
                                  "realloc",
                                  "reallocarray",
                                  "aligned_alloc",
                                  "memalign",
                                  "posix_memalign",
                                  "valloc",
                                  "pvalloc",
                                  "strdup",
                                  "__strdup",
                                  "strndup",
                                  "__strndup",
                                  "_Znwm",
                                  "_Znam",
                                  "_ZnwmRKSt9nothrow_t",
                                  "_ZnamRKSt9nothrow_t",
                                  "_ZnwmSt11align_val_t",
                                  "_ZnamSt11align_val_t",
                                  "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                  "_ZnamSt11align_val_tRKSt9nothrow_t"};
  return all.contains(callee);
}

void forget_what_it_is(CallBase& call) {
  auto forget = [](auto& one) {
    one.removeFnAttr(Attribute::Memory);
    one.removeFnAttr(Attribute::Builtin);
    one.removeFnAttr(Attribute::AllocKind);
    one.addFnAttr(Attribute::NoBuiltin);
  };
  forget(call);
  // Of the declaration it would be found out again.
  auto* callee = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
  if (callee != nullptr && callee->isDeclaration()) forget(*callee);
}

bool is_left_alone(const Function& function) {
  if (function.isDeclaration() || function.hasFnAttribute(Attribute::Naked)) return true;
  for (const GlobalIFunc& ifunc : function.getParent()->ifuncs()) {
    if (ifunc.getResolverFunction() == &function) return true;
  }
  return false;
}

Instruction* behind(CallBase& call) {
  auto* invoke = dyn_cast<InvokeInst>(&call);
  if (invoke == nullptr) return call.getNextNode();
  BasicBlock* normal = invoke->getNormalDest();
  if (normal->getSinglePredecessor() == nullptr) normal = SplitEdge(invoke->getParent(), normal);
  return &*normal->getFirstInsertionPt();
}

Value* thread_variable(IRBuilderBase& builder, StringRef name, Type* type) {
  Module& module = *builder.GetInsertBlock()->getModule();
  GlobalVariable* variable = module.getGlobalVariable(name);
  if (variable == nullptr) {
    variable = new GlobalVariable(module, type, false, GlobalValue::ExternalLinkage, nullptr, name, nullptr, GlobalValue::InitialExecTLSModel);
    variable->setAlignment(Align(8));
  }
  return builder.CreateThreadLocalAddress(variable);
}

}  // namespace freehold::call_sites
