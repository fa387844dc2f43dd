// Functions of the C library that take the name of a file, in the place of its own: uncompiled code may have found the name in memory, as libstdc++ finds that of a std::filesystem::path,
// and the kernel answers EFAULT to a handle instead of faulting. Compiled code passes addresses.
#include <dlfcn.h>
#include <stddef.h>
#include <sys/types.h>

#include <atomic>

#include "handle_table.h"
#include "out_call.h"
#include "redirections.h"
#include "runtime.h"
#include "threads.h"

namespace freehold::bridge {

namespace {

// The C library's function, or that of a library between. Found when the library begins, or by a call that comes before: dlsym may wait for a thread that loads a library.
class Real {
 public:
  explicit constexpr Real(const char* name) noexcept : name_(name) {}
  void* find() noexcept {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      look();
      found = found_.load(std::memory_order_relaxed);
      if (found == nullptr) os::fail("freehold: the process has no function '%s'\n", name_);
    }
    return found;
  }
  // An older C library does not have all of them.
  void* found() const noexcept { return found_.load(std::memory_order_relaxed); }
  void look() noexcept { found_.store(dlsym(RTLD_NEXT, name_), std::memory_order_relaxed); }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

bool is_handle(const char* name) noexcept {
  return static_cast<int64_t>(reinterpret_cast<uint64_t>(name)) < 0 && is_initialized() && HandleTable::is_live(reinterpret_cast<uint64_t>(name));
}

// Calls with the addresses of two names, the second one perhaps none, which stay in place meanwhile.
template <typename Call>
[[gnu::noinline]] auto call_with_addresses(const char* first, const char* second, Call call) noexcept {
  threads::Inside inside;
  OutCall out(2);
  const char* names[] = {out.pin(first), out.pin(second)};
  return out.run([&] { return call(names[0], names[1]); });  // errno is that of the call
}
template <typename Call>
auto call_with(const char* first, const char* second, Call call) noexcept {
  return is_handle(first) || is_handle(second) ? call_with_addresses(first, second, call) : call(first, second);
}

}  // namespace

}  // namespace freehold::bridge

using namespace freehold::bridge;

// One function each, by the symbol, so that no declaration of the C library is in the way. A structure that is filled is passed on as it is.
#define FREEHOLD_NAMED(result, symbol, parameters, first, second, arguments)                                    \
  static constinit Real real_##symbol(#symbol);                                                                 \
  extern "C" __attribute__((visibility("default"))) result freehold_named_##symbol parameters __asm__(#symbol); \
  extern "C" result freehold_own_##symbol parameters __attribute__((alias(#symbol), visibility("hidden")));     \
  extern "C" result freehold_named_##symbol parameters {                                                        \
    using Function = result(*) parameters;                                                                      \
    auto* function = reinterpret_cast<Function>(real_##symbol.find());                                          \
    return call_with(first, second, [=](const char* name, const char* other) {                                  \
      (void)other;                                                                                              \
      return function arguments;                                                                                \
    });                                                                                                         \
  }
#include "names.inc"
#undef FREEHOLD_NAMED

namespace freehold::bridge {

__attribute__((constructor(102))) static void find_all() noexcept {
#define FREEHOLD_NAMED(result, symbol, parameters, first, second, arguments) real_##symbol.look();
#include "names.inc"
#undef FREEHOLD_NAMED
  const Redirection all[] = {
#define FREEHOLD_NAMED(result, symbol, parameters, first, second, arguments) {#symbol, reinterpret_cast<void*>(&freehold_own_##symbol), real_##symbol.found()},
#include "names.inc"
#undef FREEHOLD_NAMED
  };
  redirect(all);
}

}  // namespace freehold::bridge
