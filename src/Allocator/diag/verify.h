// The heap verifier: walks every block and checks every invariant that the heap relies on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

struct Report {
  char* message;  // describes the first violation
  size_t capacity;
  int64_t violations;
  int64_t objects;  // alive
  int64_t references;
};

// The threads must stand still (or be the caller's alone); their open chunks may be anywhere.
void verify_heap(Report& report) noexcept;

}  // namespace freehold::diag
