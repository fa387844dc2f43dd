// mlockall by any code of the process (memory_locks.cpp).
#pragma once

namespace freehold::bridge {

// Once, when the runtime begins. Opened by a program that was not linked with it, it redirects the calls of what is loaded.
void redirect_memory_locks() noexcept;

}  // namespace freehold::bridge
