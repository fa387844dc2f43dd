#include "heap/kept_marks.h"

#include <optional>
#include <utility>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/references.h"
#include "heap/accounting.h"
#include "heap/concurrent_reclaim_counters.h"
#include "heap/forwarding.h"
#include "heap/marking_bounds.h"
#include "heap/phases.h"
#include "heap/shading.h"
#include "heap/walk.h"
#include "os/kernel.h"

uint8_t freehold_registered_again = 0;
FREEHOLD_MODULE_STATE(freehold_registered_again);

namespace freehold::heap {

using core::arena;
using core::Object;

namespace {

constexpr size_t kWordsOfBlock = core::kBlockSize / core::kUnit / 64;
constexpr size_t kStep = size_t{1} << 16;

size_t bytes_of_bits() noexcept { return arena.size / core::kUnit / 8; }
size_t bytes_of_blocks() noexcept { return core::align_up(arena.block_count() / 8, os::kPageSize); }
size_t most_objects() noexcept { return resident_memory() / core::kMinimumObjectSize + 1; }

}  // namespace

KeptMarks::KeptMarks() noexcept : stack_(MarkingBounds::kKept, kStep), candidates_(most_objects(), kStep), finalized_(most_objects(), kStep) {}

KeptMarks::~KeptMarks() {
  if (bits_ != nullptr) os::unreserve(bits_, bytes_of_bits());
  if (blocks_ != nullptr) os::unreserve(blocks_, 2 * bytes_of_blocks());
}

bool KeptMarks::reserve() noexcept {
  if (bits_ != nullptr) return true;
  blocks_ = blocks_ != nullptr ? blocks_ : static_cast<uint64_t*>(os::reserve(2 * bytes_of_blocks(), os::kPageSize, 0));
  if (blocks_ == nullptr || !os::commit(blocks_, 2 * bytes_of_blocks())) return false;
  overflowed_ = blocks_ + bytes_of_blocks() / sizeof(uint64_t);
  bits_ = static_cast<uint64_t*>(os::reserve(bytes_of_bits(), os::kPageSize, 0));
  return bits_ != nullptr;
}

void KeptMarks::add_candidate(Object* object) noexcept {
  uint32_t sync;
  if (!core::try_load(object->sync_word(), &sync)) return;
  if ((sync & core::kSyncFinalizerRun) != 0) {
    if (!finalized_.push(object)) complete_ = false;
  } else {
    if (!candidates_.push(object)) complete_ = false;
    keep(reinterpret_cast<uintptr_t>(object));
  }
}

bool KeptMarks::keep(uintptr_t address) noexcept {
  if (!arena.contains(address)) return false;
  address = current_address(address);
  if (is_marked(address)) return false;
  size_t block = arena.block_index(address), unit = shades::unit_of(address);
  if (!reserve()) return complete_ = false;
  if ((blocks_[block / 64] >> (block % 64) & 1) == 0) {
    if (!os::commit(bits_ + block * kWordsOfBlock, kWordsOfBlock * sizeof(uint64_t))) return complete_ = false;
    blocks_[block / 64] |= uint64_t{1} << (block % 64);
  }
  uint64_t bit = uint64_t{1} << (unit % 64);
  if ((bits_[unit / 64] & bit) != 0) return false;
  bits_[unit / 64] |= bit;
  if (stack_.count() < marking_bounds.kept && stack_.push(reinterpret_cast<Object*>(address))) return true;
  overflowed_[block / 64] |= uint64_t{1} << (block % 64);
  any_overflowed_ = true;
  return true;
}

void KeptMarks::scan(const Object* object, const core::MethodTable* type, size_t size) noexcept {
  core::for_each_reference(object, type, size, [this](uint64_t* slot) noexcept {
    uint64_t value;
    if (core::try_load(slot, &value)) keep(value);
  });
}

// As MarkingTeam::scan_overflowed, of what is kept.
void KeptMarks::scan_overflowed(bool stopped) noexcept {
  any_overflowed_ = false;
  auto scan_kept = [this](uint8_t* start, const Walked& walked) noexcept {
    if (walked.step == Step::kObject && is_kept(reinterpret_cast<uintptr_t>(Object::at(start)))) scan(Object::at(start), walked.type, walked.size);
  };
  for (size_t word = 0; word < arena.block_count() / 64; word++) {
    for (uint64_t bits = std::exchange(overflowed_[word], 0); bits != 0; bits &= bits - 1) {
      size_t block = word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
      std::optional<MaintenancePause> pause;
      if (!stopped) pause.emplace();
      concurrent_reclaim_counters.blocks_again.fetch_add(1, std::memory_order_relaxed);
      uint8_t* start = arena.block_start(block);
      if (arena.in_lower_half(reinterpret_cast<uintptr_t>(start))) walk_block<Pages::kWithMemory>(block, scan_kept);
      else scan_kept(start, look_at(start));
    }
  }
}

bool KeptMarks::drain(uint64_t at_most, bool stopped) noexcept {
  constexpr uint64_t kObjects = core::kBlockSize / core::kMinimumObjectSize;
  uint64_t end = at_most == UINT64_MAX ? UINT64_MAX : scanned_ + at_most;
  while (true) {
    while (!stack_.is_empty()) {
      if (scanned_ > end) return false;
      Object* object = stack_.pop();
      scanned_++;
      Walked walked = look_at(object->start());
      if (walked.step == Step::kObject) scan(object, walked.type, walked.size);
    }
    if (!any_overflowed_) return true;
    if (stopped && at_most < kObjects) return false;
    scan_overflowed(stopped);
  }
}

bool KeptMarks::is_kept(uintptr_t address) const noexcept {
  if (bits_ == nullptr || !arena.contains(address)) return false;
  size_t block = arena.block_index(address), unit = shades::unit_of(address);
  return (blocks_[block / 64] >> (block % 64) & 1) != 0 && (bits_[unit / 64] >> (unit % 64) & 1) != 0;
}

}  // namespace freehold::heap
