// Decides what a fault means and redirects the thread. It runs on the faulting thread's stack, possibly inside a runtime lock or libc, so it
// allocates nothing, takes no lock, and touches only registers, the top of the stack, the faulting instruction and lock-free tables of the heap.
//
//   where it faulted                               address           what happens
//   anywhere                                        arena, evacuated  waits until its block was promoted, and tries again
//   anywhere                                        arena, live       the same was over before it was noticed: tries again
//   a recoverable access of the heap's own          any               resumes at its recovery address
//   anywhere else                                   arena, moved      the thread's references are made current (stale_references.h); tries again
//   frameless helper of ours, called by managed     null page         NullReferenceException at the caller (code 66)
//   managed code                                    arena             throw at this instruction (code 68)
//   managed code: `jmp [mem]` of a tail call         arena             its frame is gone: throw at the caller (code 69)
//   frameless helper, dispatch or unboxing stub      arena             throw at the caller (code 69)
//   any other code, and what cannot be repaired     arena             described on standard error, then chained
//   anywhere                                        arena, never used the same: no reference leads there, so it is a wild pointer, as any other
//   all else                                                          chained to the handler that was there, with the same arguments
//
// The handler is src/Platform's, which asks the meshing malloc first about its spans, if there is one, and then these functions.
//
// Registers, vector state and direction flag are as the faulting instruction left them: sigreturn restores what is not changed here.
#include "runtime/fault_handler.h"

#include <ucontext.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <x86intrin.h>

#include "Platform/fault_dispatcher.h"
#include "core/arena.h"
#include "core/fault_counters.h"
#include "core/fault_recovery.h"
#include "core/stress.h"
#include "heap/cards.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/heap.h"
#include "os/kernel.h"
#include "runtime/memory_moves.h"
#include "runtime/runtime_imports.h"
#include "runtime/stale_references.h"

extern "C" {
// First and last of the runtime's interface dispatch stubs, one block of frameless code.
void RhpInterfaceDispatch1();
void freehold_last_dispatch_stub() asm(FREEHOLD_DISPATCH_STUBS_LAST);
extern const char __executable_start[] __attribute__((weak));
extern const char etext[] __attribute__((weak));
}

namespace freehold::runtime {

namespace {

// What System.Runtime.EH.RhThrowHwEx is told. 68 and 69 are cases that the rewriter adds to it.
enum HardwareCode : greg_t { kNullInHelper = 66, kDanglingHere = 68, kDanglingInHelper = 69 };

constexpr uintptr_t kNullPage = 0x1000;

bool is_dispatch_stub(uintptr_t ip) noexcept {
  auto begin = reinterpret_cast<uintptr_t>(RhpInterfaceDispatch1),
       end = reinterpret_cast<uintptr_t>(freehold_last_dispatch_stub) + FREEHOLD_DISPATCH_STUBS_LAST_SIZE;
  return ip - begin < end - begin;
}

// Code of this executable or library: may be read.
bool is_own_text(uintptr_t ip) noexcept {
  auto begin = reinterpret_cast<uintptr_t>(__executable_start), end = reinterpret_cast<uintptr_t>(etext);
  return ip - begin < end - begin;
}

// ilc's __ResolveVirtualFunction_*: mov rax,[rdi]; mov rax,[rax+N]; ret. Frameless code of the program that has no symbol of its own here.
bool is_virtual_resolve_stub(uintptr_t ip) noexcept {
  const auto* code = reinterpret_cast<const uint8_t*>(ip);
  if (code[0] != 0x48 || code[1] != 0x8b || code[2] != 0x07 || code[3] != 0x48 || code[4] != 0x8b) return false;
  return (code[5] == 0x80 && code[10] == 0xc3) || (code[5] == 0x40 && code[7] == 0xc3);
}

// ilc's __DelegateCtor_FromVtbl_*: mov rdx,[rsi]; mov rdx,[rdx+N]; jmp to the constructor. Frameless too.
bool is_delegate_constructor_stub(uintptr_t ip) noexcept {
  const auto* code = reinterpret_cast<const uint8_t*>(ip);
  if (code[0] != 0x48 || code[1] != 0x8b || code[2] != 0x16 || code[3] != 0x48 || code[4] != 0x8b) return false;
  return (code[5] == 0x92 && code[10] == 0xe9) || (code[5] == 0x52 && code[7] == 0xe9);
}

// `jmp [memory]`: the compiler uses it only for tail calls, after the epilogue has taken the frame down.
bool is_tail_jump(uintptr_t ip) noexcept {
  const auto* code = reinterpret_cast<const uint8_t*>(ip);
  if ((*code & 0xf0) == 0x40) code++;
  return code[0] == 0xff && (code[1] >> 3 & 7) == 4 && code[1] >> 6 != 3;
}

// The return address on top of the stack, with a suspension's hijack of it undone.
uintptr_t pop_return_address(Thread& thread, greg_t* registers) noexcept {
  auto* slot = reinterpret_cast<void**>(registers[REG_RSP]);
  if (thread.hijacked_slot == slot) {
    *slot = thread.hijacked_address;
    thread.forget_hijack();
  }
  return reinterpret_cast<uintptr_t>(*slot);
}

void throw_at(greg_t* registers, HardwareCode code, uintptr_t ip) noexcept {
  registers[REG_RDI] = code;
  registers[REG_RSI] = static_cast<greg_t>(ip);
  registers[REG_RIP] = reinterpret_cast<greg_t>(RhpThrowHwEx);
}

// Leaves the frameless function and throws at its caller, if that is managed code.
bool throw_at_caller(Thread& thread, greg_t* registers, HardwareCode code) noexcept {
  uintptr_t caller = pop_return_address(thread, registers);
  if (!is_managed_code(caller)) return false;
  registers[REG_RSP] += sizeof(void*);
  throw_at(registers, code, caller);
  return true;
}

struct Text {
  char buffer[512];
  size_t length = 0;

  Text& operator<<(const char* text) noexcept {
    for (; *text != 0 && length + 1 < sizeof buffer; text++) buffer[length++] = *text;
    buffer[length] = 0;
    return *this;
  }
  Text& operator<<(uintptr_t number) noexcept {
    char digits[2 + 16 + 1] = "0x";
    int count = 1;
    while (count < 16 && number >> (4 * count) != 0) count++;
    for (int i = 0; i < count; i++) digits[2 + i] = "0123456789abcdef"[number >> (4 * (count - 1 - i)) & 15];
    digits[2 + count] = 0;
    return *this << digits;
  }
};

const char* describe(heap::AddressState state) noexcept {
  switch (state) {
    case heap::AddressState::kOutside: return "outside the heap";
    case heap::AddressState::kLive: return "live objects";
    case heap::AddressState::kDeletedMapped: return "deleted objects, still mapped";
    case heap::AddressState::kDead: return "deleted objects, memory released";
    case heap::AddressState::kNeverUsed: return "never used";
  }
  return "unknown";
}

// Code that neither can throw nor resume met memory of the heap that is gone: an error of Freehold's, or an address that native code kept.
void report_fatal(int signal, uintptr_t address, uintptr_t ip, uintptr_t stack, bool attached, bool cooperative) noexcept {
  auto image = reinterpret_cast<uintptr_t>(__executable_start);
  Text text;
  text << "Freehold: fatal " << (signal == SIGBUS ? "SIGBUS" : "SIGSEGV") << " at " << address << " ("
       << describe(heap::classify(reinterpret_cast<void*>(address))) << "), used by code at " << ip << " (image + " << ip - image << ", "
       << (is_managed_code(ip) ? "managed" : "native") << "), called from " << *reinterpret_cast<uintptr_t*>(stack) << ", on a thread "
       << (!attached     ? "unknown to the runtime"
           : cooperative ? "in cooperative mode"
                         : "in preemptive mode")
       << ".\n";
  os::write_error(text.buffer);
}

// Tries that changed nothing: a thread faults at the instruction, the address and with the registers that it was sent back to. (One that uses another
// stale reference to the same object there, in a loop that calls the method again, comes with the stale address in some register.)
struct Retries {
  uint64_t place;  // where the thread went on
  uint64_t time;
  uint32_t count;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Retries retries = {};

uint64_t place_of(const greg_t* registers, uintptr_t address) noexcept {
  uint64_t place = address;
  for (int i = 0; i <= REG_RIP; i++) place = (place ^ static_cast<uint64_t>(registers[i])) * 0x9e3779b97f4a7c15;
  return place;
}

bool may_retry(const greg_t* registers, uintptr_t address) noexcept {
  constexpr uint64_t kShort = 50'000'000;  // cycles
  constexpr uint32_t kAtMost = 1000;
  bool same = place_of(registers, address) == retries.place && __rdtsc() - retries.time < kShort;
  retries.count = same ? retries.count + 1 : 0;
  return retries.count < kAtMost;
}

void note_retry(const greg_t* registers, uintptr_t address) noexcept {
  retries.place = place_of(registers, address);
  retries.time = __rdtsc();
}

void note_wait() noexcept { core::fault_counters.waits.fetch_add(1, std::memory_order_relaxed); }

// An access to a block that is being promoted, or was just now: true when it is to be tried again. Once the promotion is done that would only fault once
// more, so then it is false, and `whereabouts` is what has become of the object.
bool wait_for_promotion(const greg_t* registers, uintptr_t address, heap::Whereabouts& whereabouts) noexcept {
  if (whereabouts != heap::Whereabouts::kEvacuating && whereabouts != heap::Whereabouts::kHere) return false;
  // Walks come by each page that has no memory.
  uint32_t one_in = core::find_recovery(static_cast<uintptr_t>(registers[REG_RIP])) != 0 ? 100 : 1;
  core::stress_step(one_in);
  heap::AddressState state = heap::classify(reinterpret_cast<void*>(address));
  core::stress_step(one_in);
  // What was promoted between the two questions looks dead to the second.
  if (heap::whereabouts_of(address + 1) != whereabouts) return true;
  if (whereabouts == heap::Whereabouts::kEvacuating) {
    // A page that has lost its memory faults as ever. The promoting thread meets such pages, and would wait for itself.
    if (state == heap::AddressState::kDead) return false;
    note_wait();
    heap::wait_while_evacuating(address + 1);
    whereabouts = heap::whereabouts_of(address + 1);
    return whereabouts == heap::Whereabouts::kHere || whereabouts == heap::Whereabouts::kEvacuating;
  }
  if (state != heap::AddressState::kLive || !may_retry(registers, address)) return false;
  note_retry(registers, address);
  note_wait();
  return true;
}

// True when the context was changed and the thread can go on.
bool answer(int signal, const siginfo_t* info, ucontext_t* context) noexcept {
  greg_t* registers = context->uc_mcontext.gregs;
  auto ip = static_cast<uintptr_t>(registers[REG_RIP]);
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  bool in_arena = heap::in_arena(address);
  bool ours = in_arena && heap::classify(info->si_addr) != heap::AddressState::kNeverUsed;
  // A place is resolved by the byte before it, an access is to the byte behind.
  heap::Whereabouts whereabouts = ours ? heap::whereabouts_of(address + 1) : heap::Whereabouts::kHere;
  uintptr_t recovery = core::find_recovery(ip);
  bool own_block = recovery != 0 && heap::thread_promotes;
  if (ours && !own_block && wait_for_promotion(registers, address, whereabouts)) return true;
  if (recovery != 0) {
    registers[REG_RIP] = static_cast<greg_t>(recovery);
    return true;
  }
  bool helper = is_frameless_helper(ip) || (is_own_text(ip) && (is_virtual_resolve_stub(ip) || is_delegate_constructor_stub(ip)));
  auto kind_of_code = [&]() noexcept {
    if (helper || is_dispatch_stub(ip) || is_unboxing_stub(ip) || (is_managed_code(ip) && is_tail_jump(ip))) return CodeKind::kFrameless;
    return is_managed_code(ip) ? CodeKind::kMapped : CodeKind::kNative;
  };
  if (whereabouts == heap::Whereabouts::kMoved && may_retry(registers, address) && repair(registers, address, kind_of_code())) {
    note_retry(registers, address);
    // A barrier has marked the page of the old place, and stores to the new one now. Reads are marked too.
    uintptr_t place = heap::current_address(address + 1) - 1;
    if (helper && heap::is_marking_cards()) heap::mark_cards(reinterpret_cast<const uint8_t*>(place), 1);
    return true;
  }
  Thread& thread = tls_CurrentThread;
  bool attached = (thread.state & Thread::kAttached) != 0, cooperative = attached && thread.transition_frame == nullptr;
  if (!ours && !(helper && address < kNullPage)) {
    if (in_arena) report_fatal(signal, address, ip, static_cast<uintptr_t>(registers[REG_RSP]), attached, cooperative);
    return false;
  }
  if (cooperative && whereabouts != heap::Whereabouts::kMoved) {
    if (!ours) return throw_at_caller(thread, registers, kNullInHelper);
    bool thrown = false;
    if (is_managed_code(ip) && !is_tail_jump(ip)) {
      throw_at(registers, kDanglingHere, ip);
      thrown = true;
    } else if (helper || is_dispatch_stub(ip) || is_managed_code(ip) || is_unboxing_stub(ip)) {
      if (is_bulk_move(ip)) freehold_after_move(reinterpret_cast<uint8_t*>(registers[REG_RDI]), nullptr, static_cast<size_t>(registers[REG_RDX]));
      thrown = throw_at_caller(thread, registers, kDanglingInHelper);
    }
    if (thrown) {
      heap::note_dangling_fault(address);
      return true;
    }
  }
  if (ours) report_fatal(signal, address, ip, static_cast<uintptr_t>(registers[REG_RSP]), attached, cooperative);
  return false;
}

// On an alternate stack, which we do not ask for: a handler that was there before does, or one that came later and calls this. What follows would run over its end
// without a fault.
bool lacks_stack(const ucontext_t* context) noexcept {
  constexpr size_t kNeeded = 12 << 10;  // 7 KB were seen, and a fault of the handler's own takes the kernel's 3 KB again
  const stack_t& alternate = context->uc_stack;
  size_t left = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - reinterpret_cast<uintptr_t>(alternate.ss_sp);
  return (alternate.ss_flags & SS_DISABLE) == 0 && left < alternate.ss_size && left < kNeeded;
}

bool answer_in_arena(int signal, siginfo_t* info, ucontext_t* context) noexcept {
  if (lacks_stack(context)) {
    os::fail_fast("a thread's alternate signal stack is too small.", "Give sigaltstack 32 KB, or install no handler of SIGSEGV and SIGBUS with SA_ONSTACK.");
  }
  return answer(signal, info, context);
}

constexpr uint32_t kFaults = os::fault_bit(SIGSEGV) | os::fault_bit(SIGBUS);
os::FaultOwner arena_owner;  // written before it is added

// Null references in helpers, and reads of the heap's own that may fault. Those in the arena too, until that has an owner.
bool answer_anywhere(int signal, siginfo_t* info, ucontext_t* context) noexcept {
  return (arena_owner.size == 0 || !heap::in_arena(reinterpret_cast<uintptr_t>(info->si_addr))) && answer(signal, info, context);
}

constexpr os::FaultOwner kAnywhere = {kFaults, answer_anywhere, 0, 0};

}  // namespace

bool install_fault_handlers() noexcept { return os::add_fault_owner(kAnywhere, os::FaultStack::kAsBefore); }

bool own_faults_of_arena() noexcept {
  arena_owner = {kFaults, answer_in_arena, core::arena.start, core::arena.size};
  return os::add_fault_owner(arena_owner, os::FaultStack::kAsBefore);
}

}  // namespace freehold::runtime
