// A thread whose mask blocks SIGSEGV or SIGBUS cannot meet a moved object: the kernel ends the process at the fault. Libraries start their threads with all signals
// blocked, and programs block all of them to read them from a signalfd. So a thread that the runtime gets to know unblocks these two, and from then on
// pthread_sigmask and sigprocmask of the program leave them out of what it blocks. (The runtime's signal for stops is unblocked too, once.)
#pragma once

namespace freehold::runtime {

// For the calling thread.
void unblock_faults() noexcept;

}  // namespace freehold::runtime
