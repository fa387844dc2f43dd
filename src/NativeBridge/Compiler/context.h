// What the steps of the handle compiler share: names of the runtime's functions, and the questions that every step asks about a pointer or a call.
//
// The steps, in order (docs/internals/handles.md):
//   prepare      calls of malloc and its family become calls of the runtime; attributes that would no longer be true go
//   translate    every access gets an address: a call of __freehold_translate, outside of loops where that is possible
//     … the vectoriser and the rest of LLVM's pipeline …
//   translate    what the pipeline has made since
//   reuse        translations that only some paths have to make
//   calls        calls of code that may know no handles go through bridges
//   entries      functions that others can reach come inside when their caller is outside
//   polls        loops look at the stop word, and say what they have translated
//   verify       no access through a handle is left
//   lower        __freehold_translate becomes instructions
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace freehold::compiler {

// Functions of the runtime, declared on demand.
llvm::FunctionCallee translate_function(llvm::Module& module);
llvm::FunctionCallee runtime_function(llvm::Module& module, llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);

bool is_translate(const llvm::Value* value);
// Of the runtime: it takes handles and never stops the thread, except for free and realloc, after which an old address must not be used.
bool is_runtime_function(const llvm::Function* function);

// Cannot be a handle: memory of the stack, of globals, or a translation, and what is computed from them.
bool is_raw(const llvm::Value* pointer);

// Arithmetic that stays in the object.
bool stays_in_object(const llvm::GetElementPtrInst* gep);

// The thread may be stopped in this call, or the object of a translation be freed: no address lives across it. So may it before the second return
// of setjmp, whatever setjmp itself does.
bool ends_translations(const llvm::Instruction& instruction);

// Calls whose pointers the translate step turns into addresses in place: the callee neither waits, nor calls back, nor keeps them.
struct Leaf {
  // kNone: returns no pointer; kFirst: its first argument; kInFirst: null, or an address in the first one's object; kOwn: what is none of its arguments'
  enum Result : uint8_t { kNone, kFirst, kInFirst, kOwn };
  Result result;
};
const Leaf* leaf_of(const llvm::CallBase& call);

// A function of the C library, declared here, that the bridge knows: which arguments are passed as they are, and which may be kept.
struct Known {
  uint32_t opaque;  // bit n: argument n is only handed back to the program
  bool keeps;       // arguments stay in use after the call
};
const Known* known_of(llvm::StringRef name);

// The runtime's function that stands for one of the C library, or of C++'s operators new and delete; empty: none.
llvm::StringRef replacement_of(llvm::StringRef name);

// Not to be touched: runs before the runtime, or has no frame.
bool is_left_alone(const llvm::Function& function);

// Functions between caller and callee that do not depend on the two, only on how arguments are passed: one serves all files.
// The attributes that tell how arguments are passed, and no other: what LLVM found out about values is of handles, not of addresses.
llvm::AttributeList passing_attributes(const llvm::AttributeList& attributes, unsigned arguments, llvm::LLVMContext& context);
// All of it as text: equal texts, equal code. `user`: whose target it is compiled for.
std::string signature(llvm::ArrayRef<llvm::Type*> arguments, llvm::Type* result, llvm::CallingConv::ID convention, const llvm::AttributeList& attributes,
                      const llvm::Function* user);
// A structure whose members that are pointers have been changed; other values as they are.
llvm::Value* change_pointers(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::function_ref<llvm::Value*(llvm::Value*)> change);
// An empty one, for the target of `user`; no step looks into it.
llvm::Function* make_shared(llvm::Module& module, llvm::FunctionType* type, const llvm::Twine& name, const llvm::Function* user);

// Compile errors, with the source line where there is one.
void error(const llvm::Instruction& where, const llvm::Twine& what);

// Marks that a branch is taken nearly always, or nearly never.
llvm::MDNode* likely(llvm::LLVMContext& context);
llvm::MDNode* unlikely(llvm::LLVMContext& context);

// The word of the thread: its address, by the initial-exec model.
llvm::Value* thread_word(llvm::IRBuilderBase& builder);

}  // namespace freehold::compiler
