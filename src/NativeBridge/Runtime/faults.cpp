#include "faults.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "os.h"
#include "runtime/operand.h"
#include "threads.h"

namespace freehold::bridge::faults {

namespace {

std::atomic<uint64_t> repairs{0};
struct sigaction previous;

// Where the context keeps the registers, by their numbers in instructions.
constexpr int kPlace[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

enum class Outcome : uint8_t { kNotOurs, kRepaired };

[[noreturn]] void report_freed(uint64_t handle, uint64_t instruction) noexcept {
  os::fail("freehold: use after free: handle %x (id %u), by the instruction at %x\n", handle, uint64_t{HandleTable::id_of(handle)}, instruction);
}

// A register of the operand that holds a live handle gets the address, for good: the callee's copies that it makes of it are addresses too, so
// the object stays where it is.
Outcome repair(ucontext_t* context) noexcept {
  auto* code = reinterpret_cast<const uint8_t*>(context->uc_mcontext.gregs[REG_RIP]);
  runtime::Operands operands = runtime::decode_operands(code);
  Outcome outcome = Outcome::kNotOurs;
  for (unsigned i = 0; i < operands.count; i++) {
    for (int8_t number : {operands.operand[i].base, operands.operand[i].index}) {
      if (number == runtime::Operand::kNone) continue;
      greg_t* place = &context->uc_mcontext.gregs[kPlace[number]];
      uint64_t value = static_cast<uint64_t>(*place);
      if (HandleTable::is_freed(value)) report_freed(value, reinterpret_cast<uint64_t>(code));
      if (!HandleTable::is_live(value)) continue;
      table.pin(HandleTable::id_of(value), HandleTable::kForever);
      *place = static_cast<greg_t>(HandleTable::translate(value));
      outcome = Outcome::kRepaired;
    }
  }
  return outcome;
}

void chain(int signal, siginfo_t* information, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) return previous.sa_sigaction(signal, information, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  // The instruction runs again, and ends the process as if there had been no handler.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

void handle(int signal, siginfo_t* information, void* context) noexcept {
  int saved = errno;
  Outcome outcome;
  {
    // Inside, so that the object does not move between the look at its entry and the pin.
    Thread* thread = threads::known();
    bool outside = thread != nullptr && threads::is_outside(*thread);
    if (outside) threads::enter(*thread);
    outcome = repair(static_cast<ucontext_t*>(context));
    if (outside) threads::leave(*thread);
  }
  errno = saved;
  if (outcome == Outcome::kRepaired) {
    repairs.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  chain(signal, information, context);
}

}  // namespace

void initialize() noexcept {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

uint64_t repaired() noexcept { return repairs.load(std::memory_order_relaxed); }

}  // namespace freehold::bridge::faults
