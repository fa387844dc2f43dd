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
  memset(first_, 0, sizeof first_);
}

void FrameList::add(const FrameSeen& frame) noexcept {
  last_is_listed_ = reach(frames_, (frame_count_ + 1) * sizeof(Frame));
  if (!last_is_listed_) {
    is_complete_ = false;
    return;
  }
  uint32_t& first = first_[hash_of(frame.thread, static_cast<uint32_t>(frame.stack_pointer), static_cast<uint32_t>(frame.method))];
  frames()[frame_count_++] = {frame, first};
  first = static_cast<uint32_t>(frame_count_);
}

void FrameList::add_place(const void* place) noexcept {
  if (!last_is_listed_ || !reach(places_, (place_count_ + 1) * sizeof(Place))) return;
  places()[place_count_++] = {place, frame_count_ - 1};
}

size_t FrameList::find(uint64_t thread, uint32_t stack_pointer, uint32_t method) const noexcept {
  for (size_t i = first_[hash_of(thread, stack_pointer, method)]; i != 0; i = frames()[i - 1].next) {
    const FrameSeen& frame = frames()[i - 1].seen;
    if (static_cast<uint32_t>(frame.stack_pointer) == stack_pointer && static_cast<uint32_t>(frame.method) == method && frame.thread == thread) return i - 1;
  }
  return kNone;
}

size_t FrameList::frame_of(const void* place) const noexcept {
  for (size_t i = 0; i < place_count_; i++)
    if (places()[i].place == place) return places()[i].frame;
  return kNone;
}

}  // namespace freehold::heap
