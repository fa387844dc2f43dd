#include "faults.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "Platform/fault_dispatcher.h"
#include "os.h"
#include "runtime/operand.h"
#include "threads.h"

namespace freehold::bridge::faults {

namespace {

std::atomic<uint64_t> repairs{0};

// Where the context keeps the registers, by their numbers in instructions.
constexpr int kPlace[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

[[noreturn]] void report_freed(uint64_t handle, uint64_t instruction) noexcept {
  os::fail("freehold: use after free: handle %x (id %u), by the instruction at %x\n", handle, uint64_t{HandleTable::id_of(handle)}, instruction);
}

// One instruction that runs with addresses in the place of handles. Owner: the thread, between its SIGSEGV and its SIGTRAP; it is inside.
struct Step {
  struct Register {
    int place;
    uint64_t handle, address;
    uint64_t low, high;  // what is computed from the address lies here
  } registers[4];
  unsigned count;
  bool was_outside;
};
thread_local Step step __attribute__((tls_model("initial-exec"))) = {};

constexpr greg_t kTrapFlag = 0x100;
constexpr uint64_t kAround = 64;  // bytes beside the object that a string instruction may end at

// The instruction that faulted gets addresses. False: its operands are no handles.
bool begin_step(ucontext_t* context) noexcept {
  auto* code = reinterpret_cast<const uint8_t*>(context->uc_mcontext.gregs[REG_RIP]);
  runtime::Operands operands = runtime::decode_operands(code);
  unsigned count = 0;
  for (unsigned i = 0; i < operands.count; i++) {
    for (int8_t number : {operands.operand[i].base, operands.operand[i].index}) {
      if (number == runtime::Operand::kNone) continue;
      greg_t* place = &context->uc_mcontext.gregs[kPlace[number]];
      uint64_t value = static_cast<uint64_t>(*place);
      if (HandleTable::is_freed(value)) report_freed(value, reinterpret_cast<uint64_t>(code));
      if (!HandleTable::is_live(value)) continue;
      uint64_t address = HandleTable::translate(value), start = heap.start_of(value);
      step.registers[count++] = {kPlace[number], value, address, start - kAround,
                                 start + heap.usable_size(reinterpret_cast<void*>(value - (address - start))) + kAround};
      *place = static_cast<greg_t>(address);
    }
  }
  if (count == 0) return false;
  step.count = count;
  context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  return true;
}

// Handles again, moved as far as the instruction moved the addresses. What it loaded over one stays.
void end_step(ucontext_t* context) noexcept {
  for (unsigned i = 0; i < step.count; i++) {
    Step::Register& one = step.registers[i];
    greg_t* place = &context->uc_mcontext.gregs[one.place];
    uint64_t value = static_cast<uint64_t>(*place);
    if (value >= one.low && value <= one.high) *place = static_cast<greg_t>(one.handle + (value - one.address));
  }
  step.count = 0;
  context->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  if (step.was_outside) threads::leave(threads::current());
  step.was_outside = false;
}

bool answer_fault(int, siginfo_t*, ucontext_t* context) noexcept {
  // It faulted with addresses too: then it is not ours.
  if (step.count != 0) {
    end_step(context);
    return false;
  }
  Thread* thread = threads::known();
  bool outside = thread != nullptr && threads::is_outside(*thread);
  if (outside) threads::enter(*thread);
  if (!begin_step(context)) {
    if (outside) threads::leave(*thread);
    return false;
  }
  step.was_outside = outside;
  repairs.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool answer_trap(int, siginfo_t*, ucontext_t* context) noexcept {
  if (step.count == 0) return false;
  end_step(context);
  return true;
}

// A handle is no address: the kernel does not say which one it was.
constexpr platform::FaultOwner kFault = {platform::fault_bit(SIGSEGV), answer_fault, 0, 0}, kTrap = {platform::fault_bit(SIGTRAP), answer_trap, 0, 0};

}  // namespace

void initialize() noexcept {
  if (!platform::add_fault_owner(kFault, platform::FaultStack::kAlternate) || !platform::add_fault_owner(kTrap, platform::FaultStack::kAlternate)) {
    os::fail("freehold: the handlers of SIGSEGV and SIGTRAP cannot be installed\n");
  }
}

void set_program_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  platform::exchange_foreign_handler(signal, action, before);
}

uint64_t repaired() noexcept { return repairs.load(std::memory_order_relaxed); }

}  // namespace freehold::bridge::faults
