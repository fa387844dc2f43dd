// Failures of system calls that a test asks for. Each half has a table of its own, of the calls that it makes, as both may be in one process. Any thread, no locks;
// nothing fails unless somebody asks before there are other threads.
#pragma once

#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/settings.h"

namespace freehold::os {

// `Call` enumerates the calls, kCount at its end; they have names in that order.
template <typename Call>
class Failures {
 public:
  static constexpr size_t kCalls = static_cast<size_t>(Call::kCount);
  explicit constexpr Failures(const char* const (&names)[kCalls]) noexcept : names_(names) {}

  // Counts the call; true when the test wants it to fail.
  bool fails(Call call) noexcept {
    Injection& injection = injections_[static_cast<size_t>(call)];
    uint64_t number = injection.calls.fetch_add(1, std::memory_order_relaxed) + 1, first = injection.first.load(std::memory_order_relaxed);
    return first != 0 && (number == first || (number > first && injection.onwards.load(std::memory_order_relaxed)));
  }

  // A list CALL:N[+],… : the N-th call from now on fails, with + all later ones too. Calls that it does not name go on as they were asked to. False when malformed.
  bool inject(const char* specification) noexcept {
    while (*specification != 0) {
      size_t length = strcspn(specification, ":"), call = 0;
      while (call < kCalls && (strlen(names_[call]) != length || strncmp(names_[call], specification, length) != 0)) call++;
      if (call == kCalls || specification[length] != ':') return false;
      uint64_t number;
      const char* end = settings::parse_digits(specification + length + 1, &number);
      if (end == nullptr || number == 0) return false;
      bool onwards = *end == '+';
      if (onwards) end++;
      if (*end != 0 && *end != ',') return false;
      injections_[call].onwards.store(onwards, std::memory_order_relaxed);
      injections_[call].calls.store(0, std::memory_order_relaxed);
      injections_[call].first.store(number, std::memory_order_relaxed);
      specification = *end == ',' ? end + 1 : end;
    }
    return true;
  }
  // None fails any more; the counts begin anew.
  void clear() noexcept {
    for (Injection& injection : injections_) {
      injection.first.store(0, std::memory_order_relaxed);
      injection.calls.store(0, std::memory_order_relaxed);
    }
  }

  uint64_t count(Call call) const noexcept { return injections_[static_cast<size_t>(call)].calls.load(std::memory_order_relaxed); }
  const char* name(Call call) const noexcept { return names_[static_cast<size_t>(call)]; }

 private:
  struct Injection {
    std::atomic<uint64_t> calls{0}, first{0};  // first: which one fails, 0 = none
    std::atomic<bool> onwards{false};
  };
  const char* const (&names_)[kCalls];
  Injection injections_[kCalls];
};

}  // namespace freehold::os
