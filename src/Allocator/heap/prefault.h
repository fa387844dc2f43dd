// Prefaulting: while the heap grows, a background thread sees to it that the memory of the next blocks is there before a thread needs it. The first touch
// of 2 MB takes the kernel a third of a millisecond, to clear them, and several where a virtual machine's host has to provide them.
//
// What nobody took goes back to the system. A thread that allocates faster than memory comes touches some itself.
#pragma once

#include <cstddef>

namespace freehold::heap {

// Starts the background thread once it is worth it; `ahead`: or as it may be soon, while the caller is busy. The maintenance thread only.
void start_prefaulting(bool ahead) noexcept;

}  // namespace freehold::heap
