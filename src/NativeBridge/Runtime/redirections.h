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

// In all objects that are loaded by now, calls of these names go to this library: of each whose name leads everybody to `next`. Where the system does not allow it calls go on as they were.
void redirect(const Redirection* all, size_t count) noexcept;

}  // namespace freehold::bridge
