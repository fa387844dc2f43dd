// Debug mode with stacks, and guarded objects: the call stacks of allocations and deletions, each distinct one once, as a number. They are kept for ever, in at most
// kStackBytes; what comes when these are full is kStackLost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

inline constexpr size_t kStackDepth = 32;  // innermost frames that are kept
inline constexpr size_t kStackBytes = size_t{64} << 20;

inline constexpr uint32_t kNoStack = 0;    // none was taken
inline constexpr uint32_t kStackLost = 1;  // there was no room for it

// Any thread, without locks. At most kStackDepth addresses; kNoStack for none.
uint32_t remember_stack(const uintptr_t* addresses, size_t count) noexcept;
// The addresses of a stack, as many as there is room for. Any thread; lock-free. Returns how many.
size_t read_stack(uint32_t stack, uintptr_t* addresses, size_t capacity) noexcept;

}  // namespace freehold::heap
