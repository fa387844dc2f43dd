// What a heap holds, as records of a stream: objects with their types, sizes and references, what was deleted and still has memory, and roots by kind. No contents: neither numbers nor texts.
// docs/internals/heap-dump.md has the format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "diag/dump_stream.h"
#include "os/growing_memory.h"

namespace freehold::diag {

inline constexpr char kDumpMagic[8] = {'F', 'H', 'D', 'U', 'M', 'P', '\r', '\n'};
inline constexpr uint32_t kDumpVersion = 1;

enum class DumpedRoot : uint8_t { kStack = 0, kThreadStatic = 1, kHandle = 2, kPinnedHandle = 3, kCountedHandle = 4, kFinalizer = 5 };

struct DumpCounts {
  uint64_t objects = 0, references = 0, roots = 0, types = 0;
};

// The types in the order in which objects of them were found: that is their number.
class DumpedTypes {
 public:
  static constexpr size_t kMost = size_t{1} << 19;

  DumpedTypes() noexcept;
  ~DumpedTypes();
  DumpedTypes(const DumpedTypes&) = delete;
  DumpedTypes& operator=(const DumpedTypes&) = delete;

  bool has_memory() const noexcept { return slots_ != nullptr && list_.start() != nullptr; }
  // kMost: there is no memory, or there are too many.
  size_t number_of(const core::MethodTable* type) noexcept;
  const core::MethodTable* const* types() noexcept { return reinterpret_cast<const core::MethodTable* const*>(list_.start()); }
  size_t count() const noexcept { return count_; }

 private:
  static constexpr size_t kSlots = 2 * kMost;

  uint32_t* slots_;  // number + 1
  os::GrowingMemory list_;
  const core::MethodTable* last_ = nullptr;
  size_t last_number_ = 0, count_ = 0;
};

// What the layer above knows of roots. `address` may lie within an object if `interior`.
using RootDumped = void (*)(DumpedRoot kind, uint64_t thread, uintptr_t address, bool interior, void* argument);
using DependentDumped = void (*)(uintptr_t primary, uintptr_t secondary, void* argument);
struct DumpSupport {
  int32_t (*process)();  // whose heap it is: a child of a fork writes
  void (*for_each_root)(RootDumped fn, void* argument);
  void (*for_each_dependent)(DependentDumped fn, void* argument);
  void (*for_each_frozen)(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument);
};

// The header of the file, and all records but those of the types' names and of the end. The threads are stopped, and no phase of maintenance, round nor remap runs. False: there was no memory, or who
// reads has gone.
bool write_heap(DumpStream& stream, const DumpSupport& support, DumpedTypes& types, DumpCounts* counts) noexcept;
// Then the name of each type, in their order, and the end.
void write_type_name(DumpStream& stream, const char* name, size_t length) noexcept;
void write_end(DumpStream& stream, const DumpCounts& counts) noexcept;

}  // namespace freehold::diag
