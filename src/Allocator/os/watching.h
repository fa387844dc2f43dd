// Memory that the kernel watches (userfaultfd): a missing page, or a write to a protected one, raises SIGBUS in the thread that uses it. The failures of these
// calls can be injected. Any thread; sizes are in bytes, addresses page-aligned.
#pragma once

#include <cstddef>

namespace freehold::os {

// False when the kernel forbids it. Once, before there are other threads.
bool start_watching() noexcept;
// Whether frames that are write-protected keep that when they move, as on kernels before 6.13: what is at the new address behaves until it is watched, then
// writes fault for ever. Found out by start_watching(), by trying it.
bool moves_keep_protection() noexcept;
bool watch(void* start, size_t size) noexcept;
// Makes writes to a watched range raise SIGBUS, or allows them again. No mapping is split.
bool write_protect(void* start, size_t size, bool protect) noexcept;

}  // namespace freehold::os
