// Memory without handles, for what can have none: of the allocator that code which was not compiled with handles has. Apart, because the runtime takes that
// one's names (interposed.cpp).
#pragma once

#include <cstddef>

namespace freehold::bridge::raw_memory {

void* allocate(size_t size, size_t alignment, bool zeroed) noexcept;
void* reallocate(void* pointer, size_t size) noexcept;
void free(void* pointer) noexcept;
size_t usable_size(void* pointer) noexcept;
// Ends the process if another library's allocator stands in front of this one.
void refuse_other_allocator() noexcept;
// Finds its functions, once everything is loaded.
void resolve() noexcept;

}  // namespace freehold::bridge::raw_memory
