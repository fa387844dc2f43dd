// A service that never moves an object, for programs whose errors shall not depend on places, and as the shortest example of the interface.
//
// Blocks are powers of two, each size in a range of its own: from an address to its block it takes a shift. Blocks of a size are made one behind the other, and freed
// ones are given out again, the last one first.
#include <string.h>

#include <atomic>

#include "os.h"
#include "services.h"

namespace freehold::bridge {

namespace {

constexpr uint32_t kLeastBits = 4, kMostBits = 32, kRangeBits = 34, kSizes = kMostBits - kLeastBits + 1;
constexpr uint64_t kAll = uint64_t{kSizes} << kRangeBits, kAlignment = 64 * 1024;

struct Size {
  // Of each block: its object, 0: free.
  std::atomic<uint32_t>* ids;
  uint32_t* next_free;  // of free blocks, their numbers plus one
  uint32_t free, used;
};

// The blocks of a size are guarded by the lock, but the ids of blocks that are in use.
OwnedLock lock;
uint8_t* start;
Size sizes[kSizes];

uint32_t bits_of(size_t size) noexcept {
  uint32_t bits = size <= 1 ? 0 : 64 - static_cast<uint32_t>(__builtin_clzl(size - 1));
  return bits < kLeastBits ? kLeastBits : bits;
}
uint8_t* block(uint32_t bits, uint32_t number) noexcept { return start + (uint64_t{bits - kLeastBits} << kRangeBits) + (uint64_t{number} << bits); }

struct Place {
  uint32_t bits, number;
};
bool is_in(const void* address) noexcept {
  return start != nullptr && static_cast<const uint8_t*>(address) - start < static_cast<ptrdiff_t>(kAll) && address >= start;
}
Place place_of(const void* address) noexcept {
  auto offset = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - start);
  auto bits = static_cast<uint32_t>(offset >> kRangeBits) + kLeastBits;
  return {bits, static_cast<uint32_t>((offset & ((uint64_t{1} << kRangeBits) - 1)) >> bits)};
}
Size& size_of(Place place) noexcept { return sizes[place.bits - kLeastBits]; }

int init() noexcept {
  if (!add_service_lock(lock)) return 1;
  auto* memory = static_cast<uint8_t*>(os::map(kAll + kAlignment));
  if (memory == nullptr) return 1;
  for (uint32_t i = 0; i < kSizes; i++) {
    size_t blocks = size_t{1} << (kRangeBits - kLeastBits - i), bytes = blocks * sizeof(uint32_t);
    if (bytes < os::kPageSize) bytes = os::kPageSize;
    sizes[i].ids = static_cast<std::atomic<uint32_t>*>(os::map(bytes));
    sizes[i].next_free = static_cast<uint32_t*>(os::map(bytes));
    if (sizes[i].ids == nullptr || sizes[i].next_free == nullptr) return 1;
  }
  start = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory) + kAlignment - 1) & ~(kAlignment - 1));
  return 0;
}
void deinit() noexcept {}

void* alloc(uint32_t id, size_t size, size_t* alignment, int zeroed) noexcept {
  uint32_t bits = bits_of(size > *alignment ? size : *alignment);
  Size& own = sizes[bits - kLeastBits];
  lock.lock();
  uint32_t number = own.free;
  bool is_new = number == 0;
  if (!is_new) {
    own.free = own.next_free[--number];
  } else if (own.used < uint64_t{1} << (kRangeBits - bits)) {
    number = own.used++;
  } else {
    lock.unlock();
    return nullptr;
  }
  own.ids[number].store(id, std::memory_order_relaxed);
  lock.unlock();
  *alignment = bits >= 16 ? kAlignment : size_t{1} << bits;
  uint8_t* made = block(bits, number);
  if (zeroed != 0 && !is_new) memset(made, 0, size);
  return made;
}

void* resize(uint32_t, void* at, size_t size) noexcept {
  size_t now = size_t{1} << place_of(at).bits;
  return size <= now && size > now / 4 ? at : nullptr;
}

int release(uint32_t id, void* address) noexcept {
  if (!is_in(address)) return 0;
  Place place = place_of(address);
  Size& own = size_of(place);
  if (block(place.bits, place.number) != address || own.ids[place.number].load(std::memory_order_relaxed) != id) return 0;
  // Of two threads that free one object at once, one does it.
  if (!own.ids[place.number].compare_exchange_strong(id, 0, std::memory_order_relaxed)) return 0;
  if (place.bits >= 17) os::discard(address, size_t{1} << place.bits);
  lock.lock();
  own.next_free[place.number] = own.free;
  own.free = place.number + 1;
  lock.unlock();
  return 1;
}

size_t usable_size(void* address) noexcept { return is_in(address) ? size_t{1} << place_of(address).bits : 0; }

uint32_t find(void* address, void** at) noexcept {
  *at = nullptr;
  if (!is_in(address)) return 0;
  Place place = place_of(address);
  *at = block(place.bits, place.number);
  return size_of(place).ids[place.number].load(std::memory_order_relaxed);
}

void barrier(int) noexcept {}

}  // namespace

const freehold_service plain_service = {FREEHOLD_SERVICE_VERSION, "plain", init, deinit, alloc, resize, release, usable_size, find, barrier};

}  // namespace freehold::bridge
