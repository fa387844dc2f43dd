// The functions of freehold/mesh.h.
#include <errno.h>
#include <string.h>

#include "freehold/mesh.h"
#include "heap.h"
#include "knobs.h"
#include "statistics.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace freehold::mesh {
namespace {

struct Value {
  const char* name;
  uint64_t (*read)() noexcept;
  bool (*write)(uint64_t value) noexcept;  // null: it can not be set
};

// Numbers that threads read while another one sets them: single words, and none is the condition of anything else.
constexpr Value kValues[] = {
    {"mesh.enabled", []() noexcept { return uint64_t{knobs.meshing}; }, [](uint64_t v) noexcept { return v <= 1 && (knobs.meshing = v != 0, true); }},
    {"mesh.period", []() noexcept { return knobs.period; }, [](uint64_t v) noexcept { return v != 0 && (knobs.period = v, true); }},
    {"decay", []() noexcept { return knobs.decay; }, [](uint64_t v) noexcept { return v <= INT32_MAX && (knobs.decay = v, true); }},
    {"statistics.live_bytes", []() noexcept { return read_statistics().live_bytes; }, nullptr},
    {"statistics.used_bytes", []() noexcept { return heap.arena.used_pages() << os::kPageShift; }, nullptr},
    {"statistics.dirty_bytes", []() noexcept { return heap.arena.dirty_pages() << os::kPageShift; }, nullptr},
    {"statistics.saved_bytes", []() noexcept { return read_statistics().saved_bytes; }, nullptr},
    {"statistics.proportional_bytes", []() noexcept { return read_statistics().proportional_bytes; }, nullptr},
    {"statistics.meshes", []() noexcept { return heap.mesher.figures().meshes.load(std::memory_order_relaxed); }, nullptr},
    {"statistics.passes", []() noexcept { return heap.mesher.figures().passes.load(std::memory_order_relaxed); }, nullptr},
};

}  // namespace
}  // namespace freehold::mesh

EXPORTED int freehold_mesh_ctl(const char* name, uint64_t* old_value, const uint64_t* new_value) {
  for (const auto& value : freehold::mesh::kValues) {
    if (strcmp(value.name, name) != 0) continue;
    if (new_value != nullptr && value.write == nullptr) return EPERM;
    if (old_value != nullptr) *old_value = value.read();
    return new_value != nullptr && !value.write(*new_value) ? EINVAL : 0;
  }
  return ENOENT;
}

EXPORTED void freehold_mesh_figures(uint64_t* values, int32_t count) {
  using namespace freehold::mesh;
  const MeshFigures& mesh = heap.mesher.figures();
  bool open = heap.state.load(std::memory_order_acquire) == 2;
  const uint64_t figures[FREEHOLD_MESH_FIGURE_COUNT] = {
      heap.arena.used_pages() << os::kPageShift,
      heap.arena.dirty_pages() << os::kPageShift,
      heap.large.live_bytes(),
      static_cast<uint64_t>(heap.global.saved_pages.load(std::memory_order_relaxed)) << os::kPageShift,
      mesh.meshes.load(std::memory_order_relaxed),
      mesh.passes.load(std::memory_order_relaxed),
      static_cast<uint64_t>(heap.arena.mappings()),
      static_cast<uint64_t>(heap.mesher.budget()),
  };
  for (int32_t i = 0; i < count; i++) values[i] = open && i < FREEHOLD_MESH_FIGURE_COUNT ? figures[i] : 0;
}

EXPORTED size_t freehold_mesh_statistics(char* text, size_t capacity) { return freehold::mesh::write_statistics(text, capacity); }
EXPORTED uint64_t freehold_mesh_compact() { return freehold::mesh::compact(); }
EXPORTED const char* freehold_mesh_verify() { return freehold::mesh::verify(); }
