#include "accesses.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "context.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

bool is_pointer(const Value* value) { return value->getType()->isPtrOrPtrVectorTy(); }

// Intrinsics whose pointers are values, or only name memory of the stack.
bool takes_no_address(Intrinsic::ID id) {
  switch (id) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::launder_invariant_group:
    case Intrinsic::strip_invariant_group:
    case Intrinsic::assume:
    case Intrinsic::objectsize:
    case Intrinsic::is_constant:
    case Intrinsic::ptrmask:
    case Intrinsic::ptr_annotation:
    case Intrinsic::threadlocal_address:
    case Intrinsic::stackrestore:
    case Intrinsic::eh_typeid_for:
    case Intrinsic::dbg_declare:
    case Intrinsic::dbg_value:
    case Intrinsic::dbg_assign:
    case Intrinsic::dbg_label:
    case Intrinsic::donothing:
    case Intrinsic::sideeffect:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::ssa_copy:
    case Intrinsic::stackprotector:
    case Intrinsic::eh_sjlj_functioncontext:
    case Intrinsic::localescape:
    case Intrinsic::expect:
    case Intrinsic::expect_with_probability:
    case Intrinsic::type_test:
    case Intrinsic::public_type_test: return true;
    default: return false;
  }
}

// They would hand a pointer on in a way that has no meaning for handles.
bool is_rejected(Intrinsic::ID id) {
  switch (id) {
    case Intrinsic::gcroot:
    case Intrinsic::gcread:
    case Intrinsic::gcwrite:
    case Intrinsic::init_trampoline:
    case Intrinsic::adjust_trampoline:
    case Intrinsic::experimental_stackmap:
    case Intrinsic::experimental_patchpoint_void:
    case Intrinsic::experimental_gc_statepoint:
    case Intrinsic::localrecover:
    case Intrinsic::swift_async_context_addr: return true;
    default: return false;
  }
}

// The arguments of inline assembly that are addresses. Where the text exchanges values a pointer in a register may be such a value: then an address is
// an operand in memory, or one that the text has in parentheses.
void for_each_address_of_assembly(CallBase& call, function_ref<void(Use&)> visit) {
  auto* assembly = cast<InlineAsm>(call.getCalledOperand());
  StringRef text = assembly->getAsmString();
  // Without text it only hides values from the compiler: handles stay what they are.
  if (text.trim().empty()) return;
  bool exchanges = text.contains_insensitive("xchg") || text.contains_insensitive("xadd");
  InlineAsm::ConstraintInfoVector constraints = assembly->ParseConstraints();
  SmallVector<bool, 8> is_address(constraints.size(), !exchanges);
  bool inside = false;
  for (size_t i = 0; exchanges && i < text.size(); i++) {
    if (text[i] == '(' && (i == 0 || text[i - 1] != '$')) inside = true;
    if (text[i] == ')') inside = false;
    if (!inside || text[i] != '$') continue;
    StringRef rest = text.drop_front(i + 1);
    rest.consume_front("{");
    unsigned number;
    if (rest.consumeInteger(10, number) || number >= constraints.size()) continue;
    is_address[number] = true;
    if (constraints[number].MatchingInput >= 0) is_address[static_cast<unsigned>(constraints[number].MatchingInput)] = true;
  }
  unsigned argument = 0;
  for (unsigned i = 0; i < constraints.size(); i++) {
    const InlineAsm::ConstraintInfo& one = constraints[i];
    if (one.Type != InlineAsm::isInput && !one.isIndirect) continue;
    Use& use = call.getArgOperandUse(argument++);
    if (is_pointer(use) && (one.isIndirect || is_address[i])) visit(use);
  }
}

}  // namespace

void for_each_address(Instruction& instruction, function_ref<void(Use&)> visit) {
  switch (instruction.getOpcode()) {
    case Instruction::Load: return visit(instruction.getOperandUse(LoadInst::getPointerOperandIndex()));
    case Instruction::Store: return visit(instruction.getOperandUse(StoreInst::getPointerOperandIndex()));
    case Instruction::AtomicRMW: return visit(instruction.getOperandUse(AtomicRMWInst::getPointerOperandIndex()));
    case Instruction::AtomicCmpXchg: return visit(instruction.getOperandUse(AtomicCmpXchgInst::getPointerOperandIndex()));
    case Instruction::VAArg: return visit(instruction.getOperandUse(VAArgInst::getPointerOperandIndex()));
    case Instruction::Call:
    case Instruction::Invoke:
    case Instruction::CallBr: break;
    default:
      if (instruction.mayReadOrWriteMemory() && !isa<FenceInst>(instruction) && !isa<CatchPadInst>(instruction)) {
        error(instruction, Twine("the instruction '") + instruction.getOpcodeName() + "' accesses memory in a way that has no translation");
      }
      return;
  }
  auto& call = cast<CallBase>(instruction);
  if (is_translate(&call)) return;
  if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    Intrinsic::ID id = intrinsic->getIntrinsicID();
    if (takes_no_address(id)) return;
    bool has_pointer = false;
    for (Use& argument : call.args()) has_pointer |= is_pointer(argument);
    if (!has_pointer) return;
    if (is_rejected(id) || (is_pointer(&call) && call.mayReadOrWriteMemory() && id != Intrinsic::masked_load && id != Intrinsic::masked_gather &&
                            id != Intrinsic::vp_load && id != Intrinsic::vp_gather)) {
      return error(instruction, Twine("the intrinsic '") + call.getCalledFunction()->getName() + "' has no translation");
    }
    // The values of a store are values.
    bool first_is_value = id == Intrinsic::masked_store || id == Intrinsic::masked_scatter || id == Intrinsic::vp_store || id == Intrinsic::vp_scatter ||
                          id == Intrinsic::masked_compressstore || id == Intrinsic::experimental_vp_strided_store;
    bool reads_memory = call.mayReadOrWriteMemory() || id == Intrinsic::prefetch;
    if (!reads_memory) return;  // arithmetic on vectors of pointers
    for (unsigned i = first_is_value ? 1 : 0; i < call.arg_size(); i++) {
      // What a masked load takes for the lanes that it leaves out is a value too.
      bool is_value = (id == Intrinsic::masked_load || id == Intrinsic::masked_gather) && i == 3;
      is_value |= id == Intrinsic::masked_expandload && i == 2;
      if (!is_value && is_pointer(call.getArgOperand(i))) visit(call.getArgOperandUse(i));
    }
    return;
  }
  if (call.isInlineAsm()) return for_each_address_of_assembly(call, visit);
  bool leaf = leaf_of(call) != nullptr;
  for (unsigned i = 0; i < call.arg_size(); i++) {
    // A byval argument is copied by the call itself.
    if ((leaf && is_pointer(call.getArgOperand(i))) || call.isByValArgument(i)) visit(call.getArgOperandUse(i));
  }
}

}  // namespace freehold::compiler
