#include "handle_table.h"

#include "os.h"

namespace freehold::bridge {

HandleTable table;

bool HandleTable::initialize() noexcept {
  if (os::map(kIdLimit * sizeof(uint64_t), kTableAddress) == nullptr) return false;
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
