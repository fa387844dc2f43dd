// Where code is: the file that it was loaded from, and the function. For reports: nothing here allocates or takes a lock of the loader's.
#pragma once

#include <cstdint>

namespace freehold::bridge::places {

struct Place {
  const char* module;        // "": in none
  uint64_t offset;           // from where the module was loaded: what addr2line takes
  uint64_t base;             // of the module
  const char* function;      // null: the module does not say
  uint64_t function_offset;  // from its start
};

// At the start: asks the loader for its function.
void initialize() noexcept;
Place of(uintptr_t address) noexcept;

}  // namespace freehold::bridge::places
