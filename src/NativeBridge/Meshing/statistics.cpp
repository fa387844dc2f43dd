#include "statistics.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "Platform/memory_budget.h"
#include "heap.h"

namespace freehold::mesh {
namespace {

// As much as fits; counts the rest. printf may allocate.
class Writer {
 public:
  Writer(char* text, size_t capacity) noexcept : text_(text), capacity_(capacity) {}
  void put(char c) noexcept {
    if (length_ + 1 < capacity_) text_[length_] = c;
    length_++;
  }
  void put(const char* text) noexcept {
    while (*text != 0) put(*text++);
  }
  void number(uint64_t value) noexcept {
    char digits[20];
    int count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count > 0) put(digits[--count]);
  }
  void field(const char* name, uint64_t value) noexcept {
    name_of(name);
    number(value);
  }
  void field(const char* name, const char* value) noexcept {
    name_of(name);
    put('"');
    for (; *value != 0; value++) {
      if (*value == '"' || *value == '\\') put('\\');
      put(static_cast<unsigned char>(*value) < ' ' ? '?' : *value);
    }
    put('"');
  }
  void name_of(const char* name) noexcept {
    if (separate_) put(',');
    separate_ = true;
    put('"');
    put(name);
    put("\":");
  }
  void open(char bracket) noexcept {
    put(bracket);
    separate_ = false;
  }
  void close(char bracket) noexcept {
    put(bracket);
    separate_ = true;
  }
  void next() noexcept {
    if (separate_) put(',');
    separate_ = false;
  }
  size_t end() noexcept {
    if (capacity_ != 0) text_[length_ < capacity_ ? length_ : capacity_ - 1] = 0;
    return length_;
  }

 private:
  char* text_;
  size_t capacity_, length_ = 0;
  bool separate_ = false;
};

uint64_t kilobytes(const char* text, const char* name) noexcept {
  const char* found = strstr(text, name);
  return found != nullptr ? strtoull(found + strlen(name), nullptr, 10) << 10 : 0;
}

char other_name[256];

// A loaded object that brings a malloc of its own: its functions may be called by what is bound to it, and their memory must not come here.
int look_for_allocator(dl_phdr_info* info, size_t, void* found) noexcept {
  static constexpr const char* kKnown[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "libsnmalloc", "libhoard", "libmesh.so", "libscudo"};
  const char* name = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  name = name != nullptr ? name + 1 : "";
  for (const char* known : kKnown) {
    if (strncmp(name, known, strlen(known)) != 0) continue;
    strncpy(static_cast<char*>(found), name, sizeof other_name - 1);
    return 1;
  }
  return 0;
}

const char* name_of(BarrierKind kind) noexcept {
  switch (kind) {
    case BarrierKind::kUserfaultfd: return "userfaultfd";
    case BarrierKind::kUserMode: return "user";
    case BarrierKind::kMprotect: return "mprotect";
    default: return "none";
  }
}

// The budget of the process, which all of its heaps share.
void write_budget(Writer& w) noexcept {
  static constexpr const char* kSteps[] = {"spare", "compact", "reclaim"};
  freehold::os::BudgetFigures figures = freehold::os::budget_figures();
  w.name_of("budget");
  w.open('{');
  w.field("limit", freehold::os::memory_limit());
  w.field("held", freehold::os::held_by_all());
  w.field("rounds", figures.rounds);
  w.field("waits", figures.waits);
  w.field("given_up", figures.given_up);
  w.name_of("turns");
  w.open('[');
  freehold::os::BudgetTurn turns[freehold::os::kBudgetTurns];
  unsigned count = freehold::os::last_budget_turns(turns);
  for (unsigned i = 0; i < count; i++) {
    w.next();
    w.open('{');
    w.field("round", turns[i].round);
    w.field("step", kSteps[static_cast<int>(turns[i].step)]);
    w.field("owner", turns[i].owner);
    w.field("asker", turns[i].asker);
    w.field("held", turns[i].held);
    w.field("given", turns[i].given);
    w.field("nanoseconds", turns[i].nanoseconds);
    w.close('}');
  }
  w.close(']');
  w.close('}');
}

}  // namespace

Statistics read_statistics() noexcept {
  Statistics s = {};
  s.barrier = name_of(heap.barrier.kind());
  s.other_allocator = "";
  char text[4096];
  if (os::read_file("/proc/self/smaps_rollup", text, sizeof text) > 0) {
    s.resident_bytes = kilobytes(text, "Rss:");
    s.proportional_bytes = kilobytes(text, "Pss:");
  }
  if (dl_iterate_phdr(look_for_allocator, other_name) != 0) s.other_allocator = other_name;
  if (heap.state.load(std::memory_order_acquire) != 2) return s;
  for (uint32_t i = 1; i < kClasses; i++) {
    ClassFigures f = heap.global.figures_of(i);
    uint64_t cached = heap.global.cached_slots(i), taken = f.slots - f.free_slots;
    s.spans += f.spans;
    s.aliases += f.aliases;
    s.cached_bytes += cached * kSizeClasses[i].size;
    s.live_bytes += (taken > cached ? taken - cached : 0) * kSizeClasses[i].size;
    s.free_bytes += f.free_slots * kSizeClasses[i].size;
    s.saved_bytes += (f.aliases * kSizeClasses[i].pages) << os::kPageShift;
    if (!is_meshable(i)) s.large_bytes -= (f.spans * kSizeClasses[i].pages) << os::kPageShift;
  }
  s.large_bytes += heap.large.live_bytes();
  s.live_bytes += s.large_bytes;
  s.used_bytes = heap.arena.used_pages() << os::kPageShift;
  s.dirty_bytes = heap.arena.dirty_pages() << os::kPageShift;
  const MeshFigures& mesh = heap.mesher.figures();
  s.meshes = mesh.meshes;
  s.passes = mesh.passes;
  s.refused = mesh.refused;
  s.copied_bytes = mesh.bytes_copied;
  s.mesh_nanoseconds = mesh.nanoseconds;
  s.longest_nanoseconds = mesh.longest_nanoseconds;
  s.threads = heap.global.heap_count();
  return s;
}

size_t write_statistics(char* text, size_t capacity) noexcept {
  Statistics s = read_statistics();
  Writer w(text, capacity);
  w.open('{');
  w.field("live_bytes", s.live_bytes);
  w.field("cached_bytes", s.cached_bytes);
  w.field("free_bytes", s.free_bytes);
  w.field("large_bytes", s.large_bytes);
  w.field("used_bytes", s.used_bytes);
  w.field("dirty_bytes", s.dirty_bytes);
  w.field("saved_bytes", s.saved_bytes);
  w.field("proportional_bytes", s.proportional_bytes);
  w.field("resident_bytes", s.resident_bytes);
  w.field("spans", s.spans);
  w.field("aliases", s.aliases);
  w.field("mappings", static_cast<uint64_t>(heap.arena.mappings()));
  w.field("mapping_budget", static_cast<uint64_t>(heap.mesher.budget()));
  w.field("meshes", s.meshes);
  w.field("passes", s.passes);
  w.field("refused", s.refused);
  w.field("copied_bytes", s.copied_bytes);
  w.field("mesh_nanoseconds", s.mesh_nanoseconds);
  w.field("longest_pass_nanoseconds", s.longest_nanoseconds);
  w.field("thread_heaps", s.threads);
  w.field("barrier", s.barrier);
  w.field("other_allocator", s.other_allocator);
  w.name_of("classes");
  w.open('[');
  bool open = heap.state.load(std::memory_order_acquire) == 2;
  for (uint32_t i = 1; open && i < kClasses; i++) {
    ClassFigures f = heap.global.figures_of(i);
    if (f.spans == 0) continue;
    w.next();
    w.open('{');
    w.field("size", kSizeClasses[i].size);
    w.field("spans", f.spans);
    w.field("partial", f.partial_spans);
    w.field("aliases", f.aliases);
    w.field("slots", f.slots);
    w.field("free", f.free_slots);
    w.field("cached", heap.global.cached_slots(i));
    w.close('}');
  }
  w.close(']');
  write_budget(w);
  w.close('}');
  return w.end();
}

}  // namespace freehold::mesh
