// Call stacks, each distinct one once, as a number. They are kept for ever, in at most kStackBytes; what comes when these are full is kStackLost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::bridge::stack_store {

inline constexpr size_t kDepth = 32;  // innermost frames that are kept
inline constexpr size_t kStackBytes = size_t{64} << 20;
inline constexpr uint32_t kNone = 0;  // none was taken
inline constexpr uint32_t kLost = 1;  // there was no room for it

// Once, before the others: this one allocates. False: no memory.
bool initialize() noexcept;
// The stack of the calling thread. Any thread, handlers too; takes no lock and allocates nothing.
uint32_t remember() noexcept;
// The return addresses, innermost first; the count of them.
size_t read(uint32_t stack, const uintptr_t** addresses) noexcept;
// Of the calling thread, without remembering it.
size_t walk(void** addresses, size_t capacity) noexcept;

// For tests: so many bytes are left.
void limit(size_t bytes) noexcept;

}  // namespace freehold::bridge::stack_store
