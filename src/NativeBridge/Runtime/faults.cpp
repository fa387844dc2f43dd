#include "faults.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "Platform/fault_dispatcher.h"
#include "Platform/operand.h"
#include "moves.h"
#include "objects.h"
#include "os.h"
#include "rebased.h"
#include "reports.h"
#include "threads.h"

namespace freehold::bridge::faults {

namespace {

std::atomic<uint64_t> repairs{0}, emulations{0};

// One instruction that runs with addresses in the place of handles. Owner: the thread, between its fault and its SIGTRAP; it is inside.
struct Step {
  struct Register {
    int place;
    uint64_t handle, address;
    uint64_t low, high;  // what is computed from the address lies here; both zero: the register stands in for another, and gets its value back
  } registers[4];
  unsigned count;
  bool was_outside;
  uint64_t signals;         // the mask, as the kernel keeps it
  uint64_t original, copy;  // where the instruction is, if a copy of it runs; else 0
  bool has_breakpoint;      // behind the copy, in the place of the single step
};
thread_local Step step __attribute__((tls_model("initial-exec"))) = {};

constexpr greg_t kTrapFlag = 0x100;
constexpr uint64_t kAround = 64;  // bytes beside the object that a string instruction may end at

// What the instruction accesses, the base of a gather included.
freehold::os::Operands operands_of(const uint8_t* code) noexcept {
  freehold::os::Operands operands = freehold::os::decode_operands(code);
  int8_t base = operands.count == 0 ? base_of_gather(code) : freehold::os::Operand::kNone;
  // Of its displacement and its index nobody needs to know.
  if (base != freehold::os::Operand::kNone) operands = {1, {{base, freehold::os::Operand::kNone, 1, true, 0}, {}}};
  return operands;
}

uint64_t value_of(const ucontext_t& context, int8_t number) noexcept {
  return number == freehold::os::Operand::kNone ? 0 : static_cast<uint64_t>(context.uc_mcontext.gregs[kPlaces[number]]);
}
// 0: it is not known.
uint64_t effective_address(const ucontext_t& context, const freehold::os::Operand& operand) noexcept {
  if (operand.compressed) return 0;
  return value_of(context, operand.base) + value_of(context, operand.index) * operand.scale + static_cast<uint64_t>(operand.displacement);
}

// An operand looks like a handle that was given out.
bool has_handle(const ucontext_t& context) noexcept {
  freehold::os::Operands operands = operands_of(reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]));
  auto is_handle = [](uint64_t value) { return (value & kHandleBit) != 0 && table.was_given_out(HandleTable::id_of(value)); };
  for (unsigned i = 0; i < operands.count; i++) {
    const freehold::os::Operand& operand = operands.operand[i];
    if (is_handle(effective_address(context, operand)) || is_handle(value_of(context, operand.base)) || is_handle(value_of(context, operand.index)))
      return true;
  }
  return false;
}

// The instruction that faulted only moves bytes of an object whose handle it has: done here. False: nothing has been done.
bool move_instead(ucontext_t* context) noexcept {
  greg_t* registers = context->uc_mcontext.gregs;
  Move move;
  // Who steps through the code waits for a trap behind the instruction.
  if ((registers[REG_EFL] & kTrapFlag) != 0 || !decode_move(reinterpret_cast<const uint8_t*>(registers[REG_RIP]), &move)) return false;
  uint64_t base = value_of(*context, move.operand.base), index = value_of(*context, move.operand.index);
  uint64_t handle = HandleTable::is_live(base) ? base : index;
  uint64_t wanted = base + index * move.operand.scale + static_cast<uint64_t>(move.operand.displacement);
  if (!HandleTable::is_live(handle) || (wanted & kHandleBit) == 0 || HandleTable::id_of(wanted) != HandleTable::id_of(handle)) return false;
  // Of memory beside the object nobody knows whether it is there: then the access shall fault where it is.
  uintptr_t address = HandleTable::translate(wanted), start = objects::start_of(handle);
  size_t size = objects::usable_size(reinterpret_cast<void*>(start));
  if (address < start || move.size > size || address - start > size - move.size) return false;
  return perform(move, address, context);
}

// Where copies of instructions run; null: the system forbids it. One at a time in a thread.
uint8_t* place_for_copy() noexcept {
  Thread& thread = threads::current();
  if (thread.step_code == nullptr) {
    void* made = mmap(nullptr, os::kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != MAP_FAILED) thread.step_code = static_cast<uint8_t*>(made);
  }
  return thread.step_code;
}

// A register of the instruction that has faulted gets another value, or one that stands in for it in a copy of the instruction. `low` and `high`: what the
// instruction may make of the value.
void substitute(ucontext_t* context, const uint8_t* code, int8_t number, uint64_t address, uint64_t low, uint64_t high) noexcept {
  greg_t* place = &context->uc_mcontext.gregs[kPlaces[number]];
  uint8_t* copy = step.copy == 0 ? place_for_copy() : nullptr;
  int other = copy == nullptr ? kNotRebased : rebase(code, number, copy);
  if (other == kNotRebased) {
    step.registers[step.count++] = {kPlaces[number], static_cast<uint64_t>(*place), address, low, high};
  } else {
    place = &context->uc_mcontext.gregs[kPlaces[other]];
    step.registers[step.count++] = {kPlaces[other], static_cast<uint64_t>(*place), address, 0, 0};
    step.original = reinterpret_cast<uint64_t>(code);
    step.copy = reinterpret_cast<uint64_t>(copy);
  }
  *place = static_cast<greg_t>(address);
}

// The operand as a whole leads to an object: it counts, whatever its registers look like. A register may have the handle of another object, also of a freed
// one, with the distance between the two in the other register.
bool substitute_effective(ucontext_t* context, const uint8_t* code, const freehold::os::Operand& operand) noexcept {
  constexpr int8_t kNone = freehold::os::Operand::kNone;
  uint64_t wanted = effective_address(*context, operand);
  if (table.is_freed(wanted)) reports::end_by_instruction(wanted, code);
  if (!HandleTable::is_live(wanted)) return false;
  bool by_index = operand.index != kNone && operand.scale == 1 && operand.index != operand.base &&
                  (operand.base == kNone || (value_of(*context, operand.base) & kHandleBit) == 0);
  if (!by_index && (operand.base == kNone || operand.index == operand.base)) return false;
  int8_t number = by_index ? operand.index : operand.base;
  uint64_t value = value_of(*context, number), address = value + (HandleTable::translate(wanted) - wanted);
  uint64_t low = address, high = address;
  if ((value & kHandleBit) != 0 && HandleTable::id_of(value) == HandleTable::id_of(wanted)) {
    low = objects::start_of(value);
    high = low + objects::usable_size(reinterpret_cast<void*>(value - (address - low))) + kAround;
    low -= kAround;
  }
  substitute(context, code, number, address, low, high);
  return true;
}

// The instruction that faulted gets addresses. False: its operands are no handles.
bool begin_step(ucontext_t* context) noexcept {
  auto* code = reinterpret_cast<const uint8_t*>(context->uc_mcontext.gregs[REG_RIP]);
  freehold::os::Operands operands = operands_of(code);
  for (unsigned i = 0; i < operands.count; i++) {
    const freehold::os::Operand& operand = operands.operand[i];
    if (substitute_effective(context, code, operand)) continue;
    for (int8_t number : {operand.base, operand.index}) {
      if (number == freehold::os::Operand::kNone) continue;
      uint64_t value = value_of(*context, number);
      if (table.is_freed(value)) reports::end_by_instruction(value, code);
      if (!HandleTable::is_live(value)) continue;
      uint64_t address = HandleTable::translate(value), start = objects::start_of(value);
      substitute(context, code, number, address, start - kAround, start + objects::usable_size(reinterpret_cast<void*>(value - (address - start))) + kAround);
      if (operand.base == operand.index) break;
    }
  }
  if (step.count == 0) return false;
  if (uint8_t* copy = step.copy == 0 ? place_for_copy() : nullptr; copy != nullptr) {
    step.has_breakpoint = copy_repeated(code, copy);
    if (step.has_breakpoint || copy_without_alignment(code, copy)) {
      step.original = reinterpret_cast<uint64_t>(code);
      step.copy = reinterpret_cast<uint64_t>(copy);
    }
  }
  if (step.copy != 0) context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(step.copy);
  // The mask stays when this handler returns.
  static_assert(sizeof step.signals * 8 == _NSIG - 1);
  memcpy(&step.signals, &context->uc_sigmask, sizeof step.signals);
  sigset_t wanted;
  fill_but_faults(wanted);
  memcpy(&context->uc_sigmask, &wanted, sizeof step.signals);
  if (!step.has_breakpoint) context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  return true;
}

// Handles again, moved as far as the instruction moved the addresses, which may lie far outside of the object (a loop that counts from before its start). What it loaded over one stays.
void end_step(ucontext_t* context) noexcept {
  for (unsigned i = 0; i < step.count; i++) {
    Step::Register& one = step.registers[i];
    greg_t* place = &context->uc_mcontext.gregs[one.place];
    uint64_t value = static_cast<uint64_t>(*place);
    if (one.high == 0) *place = static_cast<greg_t>(one.handle);
    else if (value == one.address || (value >= one.low && value <= one.high)) *place = static_cast<greg_t>(one.handle + (value - one.address));
  }
  step.count = 0;
  memcpy(&context->uc_sigmask, &step.signals, sizeof step.signals);
  if (step.copy != 0) {
    context->uc_mcontext.gregs[REG_RIP] += static_cast<greg_t>(step.original - step.copy);
    step.copy = 0;
  }
  context->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  if (step.was_outside) threads::leave(threads::current());
  step.was_outside = false;
  step.has_breakpoint = false;
}

bool answer_fault(int, siginfo_t*, ucontext_t* context) noexcept {
  // It faulted with addresses too: then it is not ours.
  if (step.count != 0) {
    end_step(context);
    return false;
  }
  // Until the trap no other handler: it would find the registers, and this thread, in the middle of something.
  sigset_t wanted, before;
  fill_but_faults(wanted);
  pthread_sigmask(SIG_SETMASK, &wanted, &before);
  // A thread that has run no compiled code yet becomes known: as long as it holds an address it must be inside.
  Thread* thread = threads::known();
  if (thread == nullptr && has_handle(*context)) {
    threads::InHandler noted;
    thread = &threads::current();
  }
  bool outside = thread != nullptr && threads::is_outside(*thread);
  if (outside) threads::enter(*thread);
  if (move_instead(context)) {
    if (outside) threads::leave(*thread);
    repairs.fetch_add(1, std::memory_order_relaxed);
    emulations.fetch_add(1, std::memory_order_relaxed);
    return true;  // which restores the mask
  }
  if (!begin_step(context)) {
    if (outside) threads::leave(*thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return false;
  }
  step.was_outside = outside;
  repairs.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool answer_trap(int, siginfo_t*, ucontext_t* context) noexcept {
  if (step.count == 0) return false;
  if (step.has_breakpoint) context->uc_mcontext.gregs[REG_RIP]--;
  end_step(context);
  return true;
}

// A handle is no address: the kernel does not say which one it was. It is SIGBUS when the instruction has it in rbp or rsp: a fault of the stack's segment.
constexpr freehold::os::FaultOwner kFault = {freehold::os::fault_bit(SIGSEGV) | freehold::os::fault_bit(SIGBUS), answer_fault, 0, 0},
                                   kTrap = {freehold::os::fault_bit(SIGTRAP), answer_trap, 0, 0};

}  // namespace

void initialize() noexcept {
  find_vectors();
  if (!freehold::os::add_fault_owner(kFault, freehold::os::FaultStack::kAlternate) ||
      !freehold::os::add_fault_owner(kTrap, freehold::os::FaultStack::kAlternate)) {
    os::fail("freehold: the handlers of SIGSEGV, SIGBUS and SIGTRAP cannot be installed\n");
  }
}

void set_program_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  freehold::os::exchange_foreign_handler(signal, action, before);
}

void fill_but_faults(sigset_t& signals) noexcept {
  sigfillset(&signals);
  for (int fault : {SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGFPE, SIGABRT}) sigdelset(&signals, fault);
}

uint64_t repaired() noexcept { return repairs.load(std::memory_order_relaxed); }
uint64_t emulated() noexcept { return emulations.load(std::memory_order_relaxed); }

}  // namespace freehold::bridge::faults
