/* Control of the meshing malloc, for programs that link libfreehold-mesh.a or look the functions up in libfreehold-mesh.so. Any thread may call them. */
#ifndef FREEHOLD_MESH_H
#define FREEHOLD_MESH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the value of that name into *old_value and then sets it to *new_value; either may be null. 0, or ENOENT: no such name, EPERM: it can not be set,
   EINVAL: not that value. docs/internals/meshing.md lists the names. */
int freehold_mesh_ctl(const char* name, uint64_t* old_value, const uint64_t* new_value);

/* The statistics as JSON, with a zero behind them, cut off at the capacity in bytes. What the whole text needs, without the zero. */
size_t freehold_mesh_statistics(char* text, size_t capacity);

/* The first `count` of: bytes of spans and large objects, bytes that are free and not given back yet, bytes of large objects and of spans that do not mesh, bytes that
   meshing saves now, spans meshed since the start, passes, kernel mappings of spans, and their budget. Nothing is counted or locked: cheap, and safe in a signal handler. */
#define FREEHOLD_MESH_FIGURE_COUNT 8
void freehold_mesh_figures(uint64_t* values, int32_t count);

/* Meshes all that can be, and gives free memory back. The bytes that the process has less. */
uint64_t freehold_mesh_compact(void);

/* Checks every record of the heap against the others; threads that need a lock wait meanwhile. Null, or what is wrong first, in words that the calling thread may read until it asks again. */
const char* freehold_mesh_verify(void);

#ifdef __cplusplus
}
#endif
#endif
