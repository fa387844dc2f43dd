#include "handle_table.h"

#include <errno.h>

#include "os.h"

namespace freehold::bridge {

HandleTable table;

namespace {

// What is mapped there already, a program at fixed addresses, stays. A word there is not zero, but no pointer has it.
bool fill_gaps(uintptr_t at, size_t size) noexcept {
  if (os::map_zeroes(size, at)) return true;
  if (errno != EEXIST) return false;
  if (size == os::kPageSize) return true;
  size_t half = size / 2 & ~(os::kPageSize - 1);
  return fill_gaps(at, half) && fill_gaps(at + half, size - half);
}

}  // namespace

bool HandleTable::initialize() noexcept {
  if (os::map(kIdLimit * sizeof(uint64_t), kTableAddress) == nullptr) return false;
  if (!os::map_zeroes(kAddressWords, kTableBase)) return false;
  int saved = errno;
  if (!fill_gaps(kTableBase + kAddressWords, kIdLimit * sizeof(uint64_t) - kAddressWords)) return false;
  errno = saved;
  notes_ = static_cast<std::atomic<uint32_t>*>(os::map(kIdLimit * sizeof(uint32_t)));
  return notes_ != nullptr;
}

size_t HandleTable::take(uint32_t* ids, size_t count) noexcept {
  size_t taken = 0;
  lock_.lock();
  uint64_t frontier = frontier_.load(std::memory_order_relaxed);
  while (taken < count) {
    // When there are no others, the quarantine ends early.
    if (waiting_ > kQuarantine || (frontier >= limit_ && waiting_ != 0)) {
      ids[taken] = first_;
      first_ = notes_[first_].load(std::memory_order_relaxed);
      waiting_--;
    } else if (frontier < limit_) {
      ids[taken] = static_cast<uint32_t>(frontier++);
    } else {
      break;
    }
    taken++;
  }
  frontier_.store(frontier, std::memory_order_relaxed);
  lock_.unlock();
  return taken;
}

void HandleTable::give_back(const uint32_t* ids, size_t count) noexcept {
  lock_.lock();
  for (size_t i = 0; i < count; i++) {
    if (waiting_++ == 0) {
      first_ = ids[i];
    } else {
      notes_[last_].store(ids[i], std::memory_order_relaxed);
    }
    last_ = ids[i];
  }
  lock_.unlock();
}

}  // namespace freehold::bridge
