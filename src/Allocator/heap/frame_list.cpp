#include "heap/frame_list.h"

#include <string.h>

namespace freehold::heap {

namespace {

bool reach(os::GrowingMemory& memory, size_t size) noexcept { return (memory.start() != nullptr || memory.reserve()) && memory.reach(size); }

}  // namespace

void FrameList::clear() noexcept {
  frame_count_ = place_count_ = 0;
  last_is_listed_ = false;
  is_complete_ = true;
  memset(filter_, 0, sizeof filter_);
}

void FrameList::add(const FrameSeen& frame) noexcept {
  last_is_listed_ = reach(frames_, (frame_count_ + 1) * sizeof(FrameSeen));
  if (!last_is_listed_) {
    is_complete_ = false;
    return;
  }
  frames()[frame_count_++] = frame;
  size_t bit = filter_bit(frame.thread, static_cast<uint32_t>(frame.stack_pointer), static_cast<uint32_t>(frame.method));
  filter_[bit / 64] |= uint64_t{1} << bit % 64;
}

void FrameList::add_place(const void* place) noexcept {
  if (!last_is_listed_ || !reach(places_, (place_count_ + 1) * sizeof(Place))) return;
  places()[place_count_++] = {place, frame_count_ - 1};
}

size_t FrameList::find(uint64_t thread, uint32_t stack_pointer, uint32_t method) const noexcept {
  size_t bit = filter_bit(thread, stack_pointer, method);
  if ((filter_[bit / 64] >> bit % 64 & 1) == 0) return kNone;
  for (size_t i = 0; i < frame_count_; i++) {
    const FrameSeen& frame = frames()[i];
    if (static_cast<uint32_t>(frame.stack_pointer) == stack_pointer && static_cast<uint32_t>(frame.method) == method && frame.thread == thread) return i;
  }
  return kNone;
}

size_t FrameList::frame_of(const void* place) const noexcept {
  for (size_t i = 0; i < place_count_; i++)
    if (places()[i].place == place) return places()[i].frame;
  return kNone;
}

}  // namespace freehold::heap
