#include "evacuation.h"

#include "heap.h"
#include "os.h"

namespace freehold::bridge {

Evacuation::Evacuation(uint32_t size_class) noexcept : size_class_(size_class) {
  Spans& spans = heap.spans();
  uint32_t slots = Spans::slots_in(size_class);
  heap.lock();
  size_t count = 0, room = 0;
  for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) {
    count++;
    room += slots - spans.numbered(at)->live;
  }
  size_t counters = slots + 2;
  if (room >= 2 * slots) {
    bytes_ = ((count + counters) * sizeof(uint32_t) + os::kPageSize - 1) & ~(os::kPageSize - 1);
    sorted_ = static_cast<uint32_t*>(os::map(bytes_));
  }
  if (sorted_ != nullptr) {
    uint32_t* place = sorted_ + count;
    for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) place[spans.numbered(at)->live + 1]++;
    for (size_t i = 1; i < counters; i++) place[i] += place[i - 1];
    for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) sorted_[place[spans.numbered(at)->live]++] = at;
    to_ = count;
  }
  heap.unlock();
}

Evacuation::~Evacuation() {
  if (sorted_ != nullptr) os::unmap(sorted_, bytes_);
}

bool Evacuation::has_room(uint32_t number) const noexcept {
  Span* span = heap.spans().numbered(number);
  return span->kind == SpanKind::kSmall && span->size_class == size_class_ && span->free_slot != kNoSlot;
}

bool Evacuation::move_until(uint64_t deadline) noexcept {
  Spans& spans = heap.spans();
  uint32_t slots = Spans::slots_in(size_class_);
  size_t cost = 0;
  auto is_late = [&](size_t more) {
    cost += more;
    if (cost < kLookEvery) return false;
    cost = 0;
    return os::nanoseconds() >= deadline;
  };
  while (from_ + 1 < to_) {
    Span* source = spans.numbered(sorted_[from_]);
    if (source->kind != SpanKind::kSmall || source->size_class != size_class_ || slot_ == slots) {
      from_++;
      slot_ = 0;
      if (is_late(kSpanCosts)) break;
      continue;
    }
    uint32_t slot = slot_++, id = spans.word(source, slot).load(std::memory_order_relaxed);
    if ((id & kFreeSlot) != 0) continue;
    while (from_ + 1 < to_ && !has_room(sorted_[to_ - 1])) to_--;
    if (from_ + 1 >= to_) break;
    if (heap.move(id, spans.slot(source, slot), spans.numbered(sorted_[to_ - 1])) && (source->kind != SpanKind::kSmall || source->live == 0)) emptied_ += kUnit;
    if (is_late(size_of_class(size_class_) + kMoveCosts)) break;
  }
  return from_ + 1 < to_;
}

}  // namespace freehold::bridge
