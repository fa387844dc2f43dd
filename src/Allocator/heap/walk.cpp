#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::kPageSize;
using core::kUnit;
using core::try_load;

namespace {

std::atomic<bool> threads_stopped{false};

uint16_t load_first(size_t page) noexcept { return __atomic_load_n(&arena.pages[page].first, __ATOMIC_RELAXED); }

void learn_first(size_t page, uint16_t first) noexcept {
  uint16_t unknown = 0;
  if (load_first(page) == 0) __atomic_compare_exchange_n(&arena.pages[page].first, &unknown, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Notes for each page whose first byte lies in [start, start + size) how far back the object begins.
// Never over what is known: after a kStartsLater, the header that the distance leads to may have no memory.
void remember(const uint8_t* start, size_t size, size_t from_page) noexcept {
  auto begin = reinterpret_cast<uintptr_t>(start);
  size_t block_end_page = (from_page / core::kPagesPerBlock + 1) * core::kPagesPerBlock;
  for (uintptr_t page_start = core::align_up(begin, kPageSize); page_start < begin + size; page_start += kPageSize) {
    size_t distance = (page_start - begin) / kUnit + 1;
    size_t page = arena.page_index(page_start);
    if (distance >= core::PageRecord::kStartsLater || page >= block_end_page) return;
    learn_first(page, static_cast<uint16_t>(distance));
  }
}

// From the object at `cursor` to the one that covers `target`, the first byte of `page`.
uint8_t* walk_to(const core::BlockRecord& block, uint8_t* cursor, const uint8_t* target, size_t page) noexcept {
  while (cursor <= target) {
    // Whatever comes to lie here, now or later, starts here. To be noted before the way to this place loses its memory.
    // Large objects say so themselves, when their memory is ready.
    if (cursor == target && block.kind != core::BlockKind::kLarge) learn_first(page, 1);
    if (!is_walkable(block, cursor)) return nullptr;
    Walked object = look_at(cursor);
    if (object.step == Step::kEnd || object.size == 0) return nullptr;
    remember(cursor, object.size, page);
    if (cursor + object.size > target) return cursor;
    cursor += object.size;
  }
  return nullptr;
}

}  // namespace

bool ends_with_window(const uint8_t* cursor) noexcept {
  uintptr_t offset = reinterpret_cast<uintptr_t>(cursor) + core::kHeaderSize - arena.start;
  if (offset % core::kBlockSize == 0) return true;
  const core::BlockRecord& block = arena.blocks[offset / core::kBlockSize];
  size_t window = offset % core::kBlockSize / core::kWindowSize;
  return (block.initialised.load(std::memory_order_acquire) >> window & 1) == 0 || (block.chunk_starts.load(std::memory_order_acquire) >> window & 1) != 0;
}

bool may_be_unfinished(const uint8_t* cursor, size_t size) noexcept {
  if (threads_stopped.load(std::memory_order_acquire)) {
    // All arrays are finished, but this one's length may have been read before, by a walk beside the stop.
    uint32_t length;
    return !try_load(reinterpret_cast<const uint32_t*>(cursor + 2 * core::kHeaderSize), &length) || length != 0;
  }
  const uint8_t* next = cursor + size;
  // At the end of what its chunk has initialised there is no room for elements.
  uintptr_t offset = reinterpret_cast<uintptr_t>(next) % core::kWindowSize;
  if (offset == 0 && ends_with_window(next - core::kHeaderSize)) return false;
  if (offset == core::kWindowSize - core::kHeaderSize && ends_with_window(next)) return false;
  uint64_t head, type;
  uint32_t length;
  if (!try_load(reinterpret_cast<const uint64_t*>(next), &head) || !try_load(reinterpret_cast<const uint64_t*>(next + core::kHeaderSize), &type)) return false;
  // The length is stored before any element: if there is none yet, what was just read are no elements.
  if (!try_load(reinterpret_cast<const uint32_t*>(cursor + 2 * core::kHeaderSize), &length) || length != 0) return true;
  return type == 0 && (head & core::kFillerBit) == 0;
}

void set_threads_stopped(bool stopped) noexcept { threads_stopped.store(stopped, std::memory_order_release); }

bool is_walkable(const core::BlockRecord& block, const uint8_t* cursor) noexcept {
  size_t offset = (reinterpret_cast<uintptr_t>(cursor) - arena.start) % core::kBlockSize;
  if ((block.initialised.load(std::memory_order_acquire) >> (offset / core::kWindowSize) & 1) == 0) return false;
  // Large objects: memory is made ready page by page, each run marks its first page.
  return block.kind != core::BlockKind::kLarge || offset % kPageSize != 0 || load_first(arena.page_index(reinterpret_cast<uintptr_t>(cursor))) != 0;
}

uint8_t* first_object(size_t page) noexcept {
  const core::BlockRecord& block = arena.blocks[page / core::kPagesPerBlock];
  size_t first_page = page / core::kPagesPerBlock * core::kPagesPerBlock, known = page;
  uint16_t first;  // read once: a block that goes meanwhile may take its table with it
  while ((first = load_first(known)) == 0) {
    if (known == first_page) return nullptr;
    known--;
  }
  uint8_t* target = arena.page_start(page);
  if (first >= core::PageRecord::kStartsLater) {
    uint8_t* start = arena.page_start(known) + (first - core::PageRecord::kStartsLater) * kUnit;
    return known == page ? start : walk_to(block, start, target, page);
  }
  return walk_to(block, arena.page_start(known) - (first - 1) * kUnit, target, page);
}

void keep_first_object(size_t page) noexcept {
  uint8_t* target = arena.page_start(page);
  uint8_t* start = first_object(page);
  if (start == nullptr || start >= target) return;
  Walked object = look_at(start);
  if (object.step == Step::kEnd) return;
  // A filler may reach over several pages; where it covers all of one, no object starts there.
  size_t units = static_cast<size_t>(start + object.size - target) / kUnit;
  while (true) {
    size_t here = units < kPageSize / kUnit ? units : kPageSize / kUnit;
    __atomic_store_n(&arena.pages[page].first, static_cast<uint16_t>(core::PageRecord::kStartsLater + here), __ATOMIC_RELAXED);
    units -= here;
    if (units == 0 || ++page % core::kPagesPerBlock == 0) return;
  }
}

namespace {

using Pair = long long __attribute__((vector_size(16)));

// A header and the type behind it in one load. False when the page is gone.
[[gnu::always_inline]] inline bool try_load_pair(const uint8_t* start, Pair* value) noexcept {
  Pair loaded;
  asm volatile goto("1: movups (%1), %0\n\t" FREEHOLD_RECOVERY_ENTRY : "=x"(loaded) : "r"(start) : "memory" : fault);
  *value = loaded;
  return true;
fault:
  return false;
}

// Whether deleted objects of the first one's type, with nothing else in their headers, follow each other from `cursor` to `end`: true for most
// pages that die. What is read at a wrong guess of an object's size is compared only.
[[gnu::always_inline]] inline bool is_uniform_run_deleted(const uint8_t* cursor, const uint8_t* end) noexcept {
  Pair first, differences = {};
  if (!try_load_pair(cursor, &first) || first[0] != core::kDeletedBit) return false;
  const auto* type = reinterpret_cast<const core::MethodTable*>(first[1]);
  if (type->has_component_size()) return false;
  size_t size = type->base_size;
  cursor += size;
  // Four at a time as long as all of them start on the page.
  for (; cursor + 3 * size < end; cursor += 4 * size) {
    Pair a, b, c, d;
    if (!try_load_pair(cursor, &a) || !try_load_pair(cursor + size, &b) || !try_load_pair(cursor + 2 * size, &c) || !try_load_pair(cursor + 3 * size, &d))
      return false;
    differences |= ((a ^ first) | (b ^ first)) | ((c ^ first) | (d ^ first));
  }
  for (; cursor < end; cursor += size) {
    Pair a;
    if (!try_load_pair(cursor, &a)) return false;
    differences |= a ^ first;
  }
  return (differences[0] | differences[1]) == 0;
}

}  // namespace

bool is_all_deleted(size_t page) noexcept {
  const core::BlockRecord& block = arena.blocks[page / core::kPagesPerBlock];
  uint8_t* begin = arena.page_start(page);
  uint8_t* end = begin + kPageSize;
  uint16_t first = load_first(page);
  uint8_t* cursor = first != 0 && first < core::PageRecord::kStartsLater ? begin - (first - 1) * kUnit : first_object(page);
  // A page lies in one window, so that this holds for all of its objects.
  if (cursor == nullptr || block.kind == core::BlockKind::kLarge || !is_walkable(block, cursor) || !is_walkable(block, begin))
    return count_page(page).all_deleted;
  if (is_uniform_run_deleted(cursor, end)) return true;
  // As look_at does with a Guess, without its question about windows: deletion comes this way, and a pair of 24 bytes would take 4% longer.
  uint64_t last_type = 0;
  size_t last_size = 0;
  while (cursor < end) {
    uint64_t head, type = 0;
    if (!try_load(reinterpret_cast<const uint64_t*>(cursor), &head)) return false;
    if ((head & (core::kDeletedBit | core::kFillerBit)) == 0) return false;
    uint8_t* next;
    if ((head & core::kFillerBit) == 0 && try_load(reinterpret_cast<const uint64_t*>(cursor + core::kHeaderSize), &type) && type == last_type) {
      next = cursor + last_size;
    } else {
      Walked object = look_at(cursor);
      if (object.step == Step::kEnd || object.size == 0) return false;
      const auto* table = reinterpret_cast<const core::MethodTable*>(type);
      last_type = object.step == Step::kObject && !table->has_component_size() ? type : 0;
      last_size = object.size;
      next = cursor + object.size;
    }
    if (next > end) remember(cursor, static_cast<size_t>(next - cursor), page);
    if (next == end && (page + 1) % core::kPagesPerBlock != 0) learn_first(page + 1, 1);
    cursor = next;
  }
  return true;
}

PageCount count_page(size_t page) noexcept {
  const core::BlockRecord& block = arena.blocks[page / core::kPagesPerBlock];
  uint8_t* begin = arena.page_start(page);
  uint8_t* end = begin + kPageSize;
  uint8_t* cursor = first_object(page);
  PageCount count = {0, true};
  if (cursor == nullptr) return {0, false};
  if (cursor > begin) count.deleted_units = static_cast<size_t>(cursor - begin) / kUnit;
  while (cursor < end) {
    if (!is_walkable(block, cursor)) return {count.deleted_units, false};
    Walked object = look_at(cursor);
    if (object.step == Step::kEnd || object.size == 0) return {count.deleted_units, false};
    uint8_t* object_end = cursor + object.size;
    if (object.step == Step::kFiller || (object.header & core::kDeletedBit) != 0) {
      uint8_t* from = cursor < begin ? begin : cursor;
      uint8_t* to = object_end > end ? end : object_end;
      count.deleted_units += static_cast<size_t>(to - from) / kUnit;
    } else {
      count.all_deleted = false;
    }
    if (object_end > end) remember(cursor, object.size, page);
    if (object_end == end && (page + 1) % core::kPagesPerBlock != 0 && block.kind != core::BlockKind::kLarge) learn_first(page + 1, 1);
    cursor = object_end;
  }
  return count;
}

core::Object* find_object(uintptr_t address) noexcept {
  if (!arena.contains(address)) return nullptr;
  size_t block_index = arena.block_index(address);
  if (!arena.in_lower_half(address)) {
    const core::BlockRecord& record = arena.blocks[block_index];
    core::BlockState state = record.state.load(std::memory_order_acquire);
    if (state != core::BlockState::kLive && state != core::BlockState::kPooled) return nullptr;
    return core::Object::at(arena.block_start(record.kind == core::BlockKind::kHugeTail ? block_index - record.next : block_index));
  }
  const core::BlockRecord& block = arena.blocks[block_index];
  if (block.state.load(std::memory_order_acquire) == core::BlockState::kGone) return nullptr;
  uint8_t* cursor = first_object(arena.page_index(address));
  while (cursor != nullptr && reinterpret_cast<uintptr_t>(cursor) <= address) {
    if (!is_walkable(block, cursor)) return nullptr;
    Walked object = look_at(cursor);
    if (object.step == Step::kEnd || object.size == 0) return nullptr;
    if (reinterpret_cast<uintptr_t>(cursor) + object.size > address) return object.step == Step::kObject ? core::Object::at(cursor) : nullptr;
    cursor += object.size;
  }
  return nullptr;
}

}  // namespace freehold::heap
