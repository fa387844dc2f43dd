#include "handle_table.h"

#include <errno.h>

#include "os.h"

namespace freehold::bridge {

HandleTable table;

namespace {

// The newest ids of the queue, in its order, round and round, with the notes that they had. Under the table's lock.
struct Freed {
  uint32_t id, note;
} newest[HandleTable::kRemembered];
size_t appended = 0;

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
    if (unused_count_ != 0) {
      ids[taken] = unused_;
      unused_ = notes_[unused_].load(std::memory_order_relaxed);
      unused_count_--;
    } else if (waiting_ > quarantine_ || (frontier >= limit_ && waiting_ != 0)) {
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
    newest[appended++ % kRemembered] = {ids[i], note(ids[i]).load(std::memory_order_relaxed)};
    if (waiting_++ == 0) {
      first_ = ids[i];
    } else {
      notes_[last_].store(ids[i], std::memory_order_relaxed);
    }
    last_ = ids[i];
  }
  lock_.unlock();
}

void HandleTable::give_back_unused(const uint32_t* ids, size_t count) noexcept {
  lock_.lock();
  for (size_t i = 0; i < count; i++) {
    note(ids[i]).store(unused_, std::memory_order_relaxed);
    unused_ = ids[i];
    unused_count_++;
  }
  lock_.unlock();
}

void HandleTable::change_size(uint32_t id, size_t size) noexcept {
  // Another thread may pin it meanwhile.
  uint32_t now = note(id).load(std::memory_order_relaxed);
  while (!note(id).compare_exchange_weak(now, (now & ~kSizeBits) | packed_size(size), std::memory_order_relaxed)) {}
}

size_t HandleTable::size_of_queued(uint32_t id) noexcept {
  bool was_free = lock_.lock_unless_mine();
  size_t size = 0;
  // Older ones have been taken.
  size_t count = waiting_ < kRemembered ? waiting_ : kRemembered;
  for (size_t i = 1; i <= count && size == 0; i++) {
    const Freed& freed = newest[(appended - i) % kRemembered];
    if (freed.id == id) size = unpacked_size(freed.note);
  }
  if (was_free) lock_.unlock();
  return size;
}

}  // namespace freehold::bridge
