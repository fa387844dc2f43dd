// Functions of the C library that take the name of a file, in the place of its own: uncompiled code may have found the name in memory, as libstdc++ finds that of a std::filesystem::path,
// and the kernel answers EFAULT to a handle instead of faulting. Compiled code passes addresses.
#include <dlfcn.h>
#include <stddef.h>

#include <atomic>

#include "handle_table.h"
#include "out_call.h"
#include "redirections.h"
#include "runtime.h"
#include "threads.h"

namespace freehold::bridge {

namespace {

constexpr size_t kWords = 6;  // arguments in registers

bool is_handle(long word) noexcept { return word < 0 && is_initialized() && HandleTable::is_live(static_cast<uint64_t>(word)); }

// Found when the library begins, or by a call that comes before: dlsym may wait for a thread that loads a library. Threads that look at once find the same, and nothing is read behind the word: no order.
void look(std::atomic<void*>& real, const char* name) noexcept { real.store(dlsym(RTLD_NEXT, name), std::memory_order_relaxed); }

using Function = long (*)(long, long, long, long, long, long);

// Calls with the addresses of those arguments of `places` that are handles. Their objects stay in place meanwhile.
[[gnu::noinline]] long call_with_addresses(Function function, unsigned places, long (&words)[kWords]) noexcept {
  threads::Inside inside;
  OutCall out(kWords);
  long given[kWords];
  for (size_t i = 0; i < kWords; i++) {
    given[i] = words[i];
    if ((places >> i & 1) != 0) words[i] = reinterpret_cast<long>(out.pin(reinterpret_cast<char*>(words[i])));
  }
  long result = out.run([&] { return function(words[0], words[1], words[2], words[3], words[4], words[5]); });  // errno is that of the call
  // As realpath and getcwd, which answer with the address that they were given.
  for (size_t i = 0; i < kWords; i++) {
    if (given[i] != words[i] && result == words[i]) return given[i];
  }
  return result;
}

long call(std::atomic<void*>& real, const char* name, unsigned places, long (&words)[kWords]) noexcept {
  if (real.load(std::memory_order_relaxed) == nullptr) {
    look(real, name);
    if (real.load(std::memory_order_relaxed) == nullptr) os::fail("freehold: the process has no function '%s'\n", name);
  }
  auto* function = reinterpret_cast<Function>(real.load(std::memory_order_relaxed));
  for (size_t i = 0; i < kWords; i++) {
    if ((places >> i & 1) != 0 && is_handle(words[i])) return call_with_addresses(function, places, words);
  }
  return function(words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // namespace

}  // namespace freehold::bridge

using namespace freehold::bridge;

// A library may have a function of one of these names that means something else: this one is before it in the search, and its own one is the next. So the stub leaves all registers and the stack
// as they are and jumps to the next one; only where an argument of `places` has bit 63 it calls, with the six words that registers have.
__asm__(R"(
  .macro freehold_look places bit word
  .if (\places) & \bit
  testq \word, \word
  js 1f
  .endif
  .endm
  .macro freehold_named name places
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  movq freehold_real_\name(%rip), %r11
  testq %r11, %r11
  jz 1f
  freehold_look "\places" 1 %rdi
  freehold_look "\places" 2 %rsi
  freehold_look "\places" 4 %rdx
  freehold_look "\places" 8 %rcx
  freehold_look "\places" 16 %r8
  jmpq *%r11
1:
  jmp freehold_slow_\name
  .cfi_endproc
  .size \name, . - \name
  .hidden freehold_own_\name
  .globl freehold_own_\name
  .set freehold_own_\name, \name
  .endm
)");

#define FREEHOLD_NAMED(symbol, places)                                                                                            \
  extern "C" {                                                                                                                    \
  [[gnu::visibility("hidden"), gnu::used]] constinit std::atomic<void*> freehold_real_##symbol{nullptr};                          \
  [[gnu::visibility("hidden"), gnu::used]] long freehold_slow_##symbol(long a, long b, long c, long d, long e, long f) noexcept { \
    long words[kWords] = {a, b, c, d, e, f};                                                                                      \
    return call(freehold_real_##symbol, #symbol, places, words);                                                                  \
  }                                                                                                                               \
  [[gnu::visibility("hidden")]] void freehold_own_##symbol();                                                                     \
  }                                                                                                                               \
  __asm__("freehold_named " #symbol " \"" #places "\"");
#include "names.inc"
#undef FREEHOLD_NAMED

namespace freehold::bridge {

__attribute__((constructor(102))) static void find_all() noexcept {
#define FREEHOLD_NAMED(symbol, places) look(freehold_real_##symbol, #symbol);
#include "names.inc"
#undef FREEHOLD_NAMED
  const Redirection all[] = {
#define FREEHOLD_NAMED(symbol, places) {#symbol, reinterpret_cast<void*>(&freehold_own_##symbol), freehold_real_##symbol.load(std::memory_order_relaxed)},
#include "names.inc"
#undef FREEHOLD_NAMED
  };
  redirect(all);
}

}  // namespace freehold::bridge
