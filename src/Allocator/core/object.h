// Layout of an object and its header, as NativeAOT 9 lays them out (runtime-facts, part 2), and the bits that Freehold keeps in it.
//
//   p-8  u32  the runtime's padding, ours:  bit 0 deleted · bit 1 filler · bit 2 shared · bits 3..31 offset in the lower generation / 8
//   p-4  u32  sync word: the runtime's; bit 30 (finalizer run) is set by compare-and-swap. In a filler: its size in bytes.
//   p    u64  MethodTable
//
// An object owns [p-8, p-8+size); objects follow each other without gaps. The deleted bit is written with plain stores: setting it twice is
// harmless, and the runtime never touches this half of the header. The shared bit is set by compare-and-swap, and never cleared.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::core {

inline constexpr size_t kHeaderSize = 8;
inline constexpr size_t kMinimumObjectSize = 24;
inline constexpr size_t kObjectAlignment = 8;

inline constexpr uint32_t kDeletedBit = 1u << 0;
inline constexpr uint32_t kFillerBit = 1u << 1;
inline constexpr uint32_t kSharedBit = 1u << 2;  // the framework has it for all who ask: only a reclaim ends its life

inline constexpr uint32_t kSyncPostponed = 1u << 31;  // deleted, but its lock is in use: it goes when the lock is free
inline constexpr uint32_t kSyncFinalizerRun = 1u << 30;
inline constexpr uint32_t kSyncIsHashOrIndex = 1u << 27;
inline constexpr uint32_t kSyncIsHash = 1u << 26;
inline constexpr uint32_t kSyncHashOrIndex = (1u << 26) - 1;  // what the two before tell of: a hash code, or an index of the runtime's table of locks
constexpr bool has_lock(uint32_t sync) noexcept { return (sync & (kSyncIsHashOrIndex | kSyncIsHash)) == kSyncIsHashOrIndex; }

struct MethodTable {
  uint32_t flags;
  uint32_t base_size;
  const MethodTable* related;
  uint16_t vtable_slots;
  uint16_t interfaces;
  uint32_t hash;

  static constexpr uint32_t kIsDynamic = 0x80000;
  static constexpr uint32_t kHasFinalizer = 0x100000;
  static constexpr uint32_t kHasPointers = 0x01000000;
  static constexpr uint32_t kHasComponentSize = 0x80000000;

  bool has_finalizer() const noexcept { return (flags & kHasFinalizer) != 0; }
  bool has_pointers() const noexcept { return (flags & kHasPointers) != 0; }
  bool has_component_size() const noexcept { return (flags & kHasComponentSize) != 0; }
  // What the compiler makes of static fields has none: no type of the program's, and without what a System.Type needs.
  bool is_type() const noexcept { return (flags >> 26 & 0x1f) != 0; }
  uint16_t component_size() const noexcept { return static_cast<uint16_t>(flags); }
};
static_assert(sizeof(MethodTable) == 24);

constexpr size_t align_up(size_t value, size_t alignment) noexcept { return (value + alignment - 1) & ~(alignment - 1); }

struct Object {
  const MethodTable* type;
  uint32_t length;  // of arrays and strings

  uint32_t* header() noexcept { return reinterpret_cast<uint32_t*>(this) - 2; }
  uint32_t* sync_word() noexcept { return reinterpret_cast<uint32_t*>(this) - 1; }
  uint8_t* start() noexcept { return reinterpret_cast<uint8_t*>(this) - kHeaderSize; }
  static Object* at(void* start) noexcept { return reinterpret_cast<Object*>(static_cast<uint8_t*>(start) + kHeaderSize); }

  size_t size() const noexcept {
    size_t bytes = type->base_size;
    if (type->has_component_size()) bytes += static_cast<size_t>(type->component_size()) * length;
    return align_up(bytes, kObjectAlignment);
  }
};

}  // namespace freehold::core
