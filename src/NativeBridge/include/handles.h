// What a program may ask the runtime of handles (libfreehold_handles.so), from code of either kind. docs/internals/handles.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The figures of docs/statistics.md, `Handles.…`, in that order. Writes at most `count` of them; returns how many there are. From any thread.
size_t freehold_handles_statistics(uint64_t* figures, size_t count);

#ifdef __cplusplus
}
#endif
