#include "stack_store.h"

#include <execinfo.h>
#include <string.h>

#include <atomic>

#include "os.h"

namespace freehold::bridge::stack_store {

namespace {

constexpr size_t kWords = kStackBytes / sizeof(uintptr_t), kBuckets = size_t{1} << 20, kMostProbes = 64;

// A stack: its hash, the count of addresses, and these. Its number is where it begins; the first words are no stack.
uintptr_t* words;
std::atomic<uint32_t>* buckets;  // open addressing: numbers of stacks
std::atomic<size_t> used{kLost + 1};
size_t most = kWords;

uint64_t hash_of(void* const* addresses, size_t count) noexcept {
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(addresses[i])) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

bool is_same(uint32_t stack, uint64_t hash, void* const* addresses, size_t count) noexcept {
  return words[stack] == hash && words[stack + 1] == count && memcmp(words + stack + 2, addresses, count * sizeof *addresses) == 0;
}

uint32_t add(uint64_t hash, void* const* addresses, size_t count) noexcept {
  size_t at = used.load(std::memory_order_relaxed);
  do {
    if (at + count + 2 > most) return kLost;
  } while (!used.compare_exchange_weak(at, at + count + 2, std::memory_order_relaxed));
  words[at] = hash;
  words[at + 1] = count;
  memcpy(words + at + 2, addresses, count * sizeof *addresses);
  return static_cast<uint32_t>(at);
}

}  // namespace

bool initialize() noexcept {
  words = static_cast<uintptr_t*>(os::map(kStackBytes));
  buckets = static_cast<std::atomic<uint32_t>*>(os::map(kBuckets * sizeof(uint32_t)));
  // The C library loads what unwinds at the first use.
  void* first[1];
  backtrace(first, 1);
  return words != nullptr && buckets != nullptr;
}

size_t walk(void** addresses, size_t capacity) noexcept {
  int count = backtrace(addresses, static_cast<int>(capacity));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

uint32_t remember() noexcept {
  void* addresses[kDepth];
  size_t count = walk(addresses, kDepth);
  if (count == 0) return kNone;
  uint64_t hash = hash_of(addresses, count);
  uint32_t made = kNone;
  for (size_t probe = 0; probe < kMostProbes; probe++) {
    std::atomic<uint32_t>& bucket = buckets[(hash + probe) & (kBuckets - 1)];
    uint32_t stack = bucket.load(std::memory_order_acquire);
    if (stack == kNone) {
      if (made == kNone) made = add(hash, addresses, count);
      if (made == kLost || bucket.compare_exchange_strong(stack, made, std::memory_order_acq_rel)) return made;
    }
    if (is_same(stack, hash, addresses, count)) return stack;
  }
  return made != kNone ? made : add(hash, addresses, count);
}

size_t read(uint32_t stack, const uintptr_t** addresses) noexcept {
  if (stack <= kLost) return 0;
  *addresses = words + stack + 2;
  return words[stack + 1];
}

void limit(size_t bytes) noexcept { most = used.load(std::memory_order_relaxed) + bytes / sizeof(uintptr_t); }

}  // namespace freehold::bridge::stack_store
