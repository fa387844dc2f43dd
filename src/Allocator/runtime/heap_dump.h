// The heap as it is at one moment, written by a child of a fork: the threads stand for the fork only, and the process can go on while its copy is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

// To whoever made the last request (diag/diagnostic_socket.h). `anyway`: also where a fork costs the program's native heap its meshes. How many types the dump has, and these; -1: it has not begun, and
// `reason` says why; -2: it was cut off. The thread of requests.
int32_t dump_heap(bool anyway, const void* const** types, char* reason, size_t capacity) noexcept;
// The names of these types, each with a zero behind it, and the end. Null: nothing of it, and the connection ends.
void end_dump(const char* names, size_t length) noexcept;

}  // namespace freehold::runtime
