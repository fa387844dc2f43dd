// The descriptor of userfaultfd, which programs close without knowing it: daemons close all that they have, others close_range() before an exec that fails. With its last
// reference gone the kernel watches nothing any more, and stale references read zeros.
//
// So a thread of its own has a table of descriptors of its own (unshare), with this one in it: nobody else can close that. It makes the calls, too, once the
// descriptor of the others is gone. Where the kernel refuses such a table, the thread looks ten times a second whether the descriptor is still there, and ends the
// process if it is not.
#pragma once

#include <cstddef>

namespace freehold::os {

// False when the kernel forbids it.
bool open_userfaultfd() noexcept;
bool has_userfaultfd() noexcept;
// In the child of a fork: the descriptor is of the parent's memory. Nothing is watched here any more.
void forget_userfaultfd() noexcept;

// The body of that thread, which the layer above starts; it returns only if there is nothing to do.
void* keep_userfaultfd(void*) noexcept;
// Until the thread has its table, or knows that it gets none.
void wait_for_keeper() noexcept;

// ioctl on it, from any thread. False: errno says why.
bool control_userfaultfd(unsigned long command, void* argument) noexcept;

}  // namespace freehold::os
