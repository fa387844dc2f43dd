// Figures of the native half, for people.
#pragma once

namespace freehold::bridge::statistics {
// On standard error. Any thread.
void print() noexcept;
}  // namespace freehold::bridge::statistics
