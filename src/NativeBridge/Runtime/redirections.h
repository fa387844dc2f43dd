// A program that opens a compiled library has bound its calls of the C library to that, or will: this library stands in front of nobody then. So the words through which the loaded objects call such
// functions are changed. They are data that the dynamic linker writes.
#pragma once

#include <cstddef>

namespace freehold::bridge {

struct Redirection {
  const char* name;
  void* own;   // this library's function
  void* next;  // what its own calls go to. Null: unknown
};

// An executable at a fixed address that takes a function's address has a stub for it, which dlsym answers with: a jump through a word that may be redirected. The function behind such a stub; else
// the same. No locks of this library; before there are threads, or in dlopen.
void* behind_stub(const char* name, void* function) noexcept;

inline constexpr size_t kMostRedirections = 128;  // in one call

// In all objects that are loaded by now, calls of these names go to this library: of each whose name leads everybody to `next`. Where the system does not allow it calls go on as they were.
void redirect(const Redirection* all, size_t count) noexcept;
template <size_t count>
void redirect(const Redirection (&all)[count]) noexcept {
  static_assert(count <= kMostRedirections);
  redirect(all, count);
}

}  // namespace freehold::bridge
