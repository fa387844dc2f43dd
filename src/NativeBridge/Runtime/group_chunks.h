// Memory of the groups of a heap profile (docs/internals/grouping.md): chunks of 1 MB, each of one group, in which objects lie one behind the other in the order of their
// allocation. A freed object's place is not used again; a chunk is, when all its objects are freed or moved away.
//
// A chunk, in its own memory: a bit for each 16 bytes says where objects begin, and behind the objects, from the end downwards, are their ids in order. So from
// an address to its object it is a look for the last bit before it, and a count of bits.
//
// One thread allocates in a chunk, its owner. Frees are by any thread. Who finds an object while others come and go sees it whole or not at all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "spans.h"

namespace freehold::bridge {

inline constexpr uint32_t kMostGroups = 63;
inline constexpr size_t kLargestGrouped = 4 * 1024;
inline constexpr size_t kChunk = size_t{1} << 20;

class GroupChunk {
 public:
  enum class State : uint32_t { kOwned, kOpen, kFull };  // kOpen: it has room, and no owner

  // Of memory with any contents. Its state is the heap's to set.
  void initialize(uint32_t group) noexcept;
  uint32_t group() const noexcept { return group_; }

  // By the owner. Null: full.
  void* allocate(uint32_t id, size_t size) noexcept;
  // By the owner: all its objects are gone, and it begins anew.
  bool reset_if_empty() noexcept;

  // The object that an address in the chunk lies in, its start and its size. 0: none.
  uint32_t find(uintptr_t address, void** start, size_t* size) noexcept;
  // Before it is freed. False: another thread was faster.
  bool take(void* start, uint32_t id) noexcept;
  // True: it could be the last one. The chunk may be gone at once.
  bool free(void* start, size_t size) noexcept;
  std::atomic<uint32_t>& id_of(void* start) noexcept;

  // The heap's lock guards these. `settle`: what was freed before, by whomever, is seen; what is freed later sees what has been allocated.
  State state;
  bool settle_and_see_if_empty() noexcept;
  // Bytes of freed objects, and those that no object was ever in.
  size_t waste() const noexcept { return kChunk - first() - ids_size() - live_bytes(); }
  size_t room() const noexcept { return kChunk - bump_ - ids_size(); }
  bool has_room() const noexcept { return room() >= kLargestGrouped + sizeof(uint32_t); }

  uint32_t live_objects() const noexcept {
    return objects_.load(std::memory_order_relaxed) - static_cast<uint32_t>(freed_.load(std::memory_order_relaxed) >> 32);
  }
  uint32_t live_bytes() const noexcept { return bump_ - first() - static_cast<uint32_t>(freed_.load(std::memory_order_relaxed)); }

  // With all threads stopped. Visits (start, size, id) of each object.
  template <typename Visitor>
  void for_each(Visitor visit) noexcept {
    for (uint32_t granule = first() / kGranule; granule * kGranule < bump_; granule++) {
      void* start;
      size_t size;
      if (!begins_at(granule)) continue;
      uint32_t id = find(reinterpret_cast<uintptr_t>(this) + granule * kGranule, &start, &size);
      if (id != 0) visit(start, size, id);
    }
  }

 private:
  static constexpr uint32_t kGranule = 16, kBits = 64, kWords = kChunk / kGranule / kBits;
  static constexpr uint32_t first() noexcept { return static_cast<uint32_t>((sizeof(GroupChunk) + 63) & ~size_t{63}); }

  bool begins_at(uint32_t granule) const noexcept { return (starts_[granule / kBits].load(std::memory_order_acquire) >> granule % kBits & 1) != 0; }
  uint32_t ids_size() const noexcept { return objects_.load(std::memory_order_relaxed) * static_cast<uint32_t>(sizeof(uint32_t)); }
  std::atomic<uint32_t>& id(uint32_t ordinal) noexcept {
    return (reinterpret_cast<std::atomic<uint32_t>*>(reinterpret_cast<uint8_t*>(this) + kChunk))[-1 - static_cast<int>(ordinal)];
  }
  uint32_t ordinal_of(uint32_t granule) const noexcept;

  uint32_t group_;
  std::atomic<uint32_t> bump_;     // written by the owner: where the next object begins
  std::atomic<uint32_t> objects_;  // written by the owner: how many have been allocated
  std::atomic<uint64_t> freed_;    // objects above, bytes below
  std::atomic<uint64_t> starts_[kWords];
  uint16_t before_[kWords];  // objects that begin in front of the word; valid when the word is not zero
};
static_assert(sizeof(GroupChunk) < 12 * 1024);

// The number of the group that the allocation under way belongs to; 0: none. Compiled code writes the word (CallSites/groups.cpp).
uint32_t current_group() noexcept;

}  // namespace freehold::bridge
