// Memory of the C library, for what can have no handle. Apart, because the runtime takes the C library's names (interposed.cpp).
#pragma once

#include <cstddef>

namespace freehold::bridge::raw_memory {

void* allocate(size_t size, size_t alignment, bool zeroed) noexcept;
void* reallocate(void* pointer, size_t size) noexcept;
void free(void* pointer) noexcept;
size_t usable_size(void* pointer) noexcept;

}  // namespace freehold::bridge::raw_memory
