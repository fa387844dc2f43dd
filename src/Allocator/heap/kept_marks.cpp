#include "heap/kept_marks.h"

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/references.h"
#include "heap/accounting.h"
#include "heap/forwarding.h"
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

KeptMarks::KeptMarks() noexcept : stack_(most_objects(), kStep), candidates_(most_objects(), kStep), finalized_(most_objects(), kStep) {}

KeptMarks::~KeptMarks() {
  if (bits_ != nullptr) os::unreserve(bits_, bytes_of_bits());
  if (blocks_ != nullptr) os::unreserve(blocks_, bytes_of_blocks());
}

bool KeptMarks::reserve() noexcept {
  if (bits_ != nullptr) return true;
  blocks_ = blocks_ != nullptr ? blocks_ : static_cast<uint64_t*>(os::reserve(bytes_of_blocks(), os::kPageSize, 0));
  if (blocks_ == nullptr || !os::commit(blocks_, bytes_of_blocks())) return false;
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
  if (!stack_.push(reinterpret_cast<Object*>(address))) complete_ = false;
  return true;
}

bool KeptMarks::drain(uint64_t at_most) noexcept {
  uint64_t end = at_most == UINT64_MAX ? UINT64_MAX : scanned_ + at_most;
  while (!stack_.is_empty()) {
    if (scanned_ > end) return false;
    Object* object = stack_.pop();
    scanned_++;
    Walked walked = look_at(object->start());
    if (walked.step != Step::kObject) continue;
    core::for_each_reference(object, walked.type, walked.size, [this](uint64_t* slot) noexcept {
      uint64_t value;
      if (core::try_load(slot, &value)) keep(value);
    });
  }
  return true;
}

bool KeptMarks::is_kept(uintptr_t address) const noexcept {
  if (bits_ == nullptr || !arena.contains(address)) return false;
  size_t block = arena.block_index(address), unit = shades::unit_of(address);
  return (blocks_[block / 64] >> (block % 64) & 1) != 0 && (bits_[unit / 64] >> (unit % 64) & 1) != 0;
}

}  // namespace freehold::heap
