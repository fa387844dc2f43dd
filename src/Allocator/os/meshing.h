// What the managed half asks of the meshing malloc, which may be linked into the same program (FreeholdNativeHeap=mesh).
#pragma once

#include <cstdint>

extern "C" {
// src/NativeBridge/Meshing/include/freehold/mesh.h. Null in a program with the C library's malloc.
void freehold_mesh_figures(uint64_t* values, int32_t count) __attribute__((weak));
// Null, or what is wrong with it.
const char* freehold_mesh_verify() __attribute__((weak));
}

namespace freehold::os {

// FREEHOLD_MESH_FIGURE_COUNT; diag::Figure and System.NativeHeapStatistics have them in the same order.
inline constexpr int32_t kMeshFigures = 8;

inline bool has_meshing_malloc() noexcept { return freehold_mesh_figures != nullptr; }

}  // namespace freehold::os
