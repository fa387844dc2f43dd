#include "heap/stack_store.h"

#include <string.h>

#include <atomic>

#include "Platform/lock.h"
#include "core/module_state.h"
#include "os/kernel.h"

namespace freehold::heap {
namespace {

// The store is an array of words that only grows. A stack is the index of its first word:
//
//   word 0      u32 stack with the same hash that came before (0: none) · u32 count
//   word 1 …    return addresses, innermost first
constexpr size_t kWords = kStackBytes / sizeof(uint64_t);
constexpr size_t kCommitBytes = size_t{1} << 20;
constexpr size_t kBuckets = size_t{1} << 15;
constexpr uint32_t kFirst = 2;  // behind kNoStack and kStackLost

os::Lock lock;  // guards what follows; a stack that is known by its number can be read without
struct State {
  std::atomic<uint64_t*> words{nullptr};
  size_t words_used = 0;  // from kFirst on: all of this is zero at first, as it is large
  size_t bytes_committed = 0;
  uint32_t buckets[kBuckets] = {};  // the last stack of each hash

  void release() noexcept {
    if (uint64_t* store = words.load(std::memory_order_relaxed); store != nullptr) os::unreserve(store, kStackBytes);
  }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

size_t bucket_of(const uintptr_t* addresses, size_t count) noexcept {
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++) hash = (hash ^ addresses[i]) * 0x9e3779b97f4a7c15;
  return hash >> (64 - __builtin_ctzl(kBuckets));
}

// Memory for the words before `end`. Caller holds the lock.
bool commit_until(size_t end) noexcept {
  uint64_t* store = state.words.load(std::memory_order_relaxed);
  if (store == nullptr) {
    store = static_cast<uint64_t*>(os::reserve(kStackBytes, os::kPageSize, 0));
    if (store == nullptr) return false;
    state.words.store(store, std::memory_order_release);
  }
  for (; state.bytes_committed < end * sizeof(uint64_t); state.bytes_committed += kCommitBytes) {
    if (state.bytes_committed == kStackBytes || !os::commit(reinterpret_cast<uint8_t*>(store) + state.bytes_committed, kCommitBytes)) return false;
  }
  return true;
}

}  // namespace

uint32_t remember_stack(const uintptr_t* addresses, size_t count) noexcept {
  static_assert(sizeof(uintptr_t) == sizeof(uint64_t));
  if (count == 0) return kNoStack;
  uint32_t& last = state.buckets[bucket_of(addresses, count)];
  os::LockGuard guard(lock);
  uint64_t* store = state.words.load(std::memory_order_relaxed);
  for (uint32_t stack = last; stack != kNoStack; stack = static_cast<uint32_t>(store[stack])) {
    if (store[stack] >> 32 == count && memcmp(store + stack + 1, addresses, count * sizeof(uint64_t)) == 0) return stack;
  }
  size_t first = kFirst + state.words_used;
  if (first + 1 + count > kWords || !commit_until(first + 1 + count)) return kStackLost;
  store = state.words.load(std::memory_order_relaxed);
  auto stack = static_cast<uint32_t>(first);
  store[stack] = uint64_t{count} << 32 | last;
  memcpy(store + stack + 1, addresses, count * sizeof(uint64_t));
  state.words_used += 1 + count;
  return last = stack;
}

size_t read_stack(uint32_t stack, uintptr_t* addresses, size_t capacity) noexcept {
  const uint64_t* store = state.words.load(std::memory_order_acquire);
  if (stack < kFirst || store == nullptr) return 0;
  size_t count = store[stack] >> 32;
  if (count > capacity) count = capacity;
  memcpy(addresses, store + stack + 1, count * sizeof(uint64_t));
  return count;
}

}  // namespace freehold::heap
