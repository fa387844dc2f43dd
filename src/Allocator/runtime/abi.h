// The native entry points of Freehold that managed code calls, as runtime/abi.inc lists them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
#define FREEHOLD_CALL(result, name, parameters, managed, description) result name parameters noexcept;
#define FREEHOLD_BLOCKING_CALL FREEHOLD_CALL
#include "runtime/abi.inc"
#undef FREEHOLD_BLOCKING_CALL
#undef FREEHOLD_CALL
}
