// Walking objects: in each chunk they follow each other without gaps, so that a known start and the objects' sizes find all others.
// Safe beside threads that allocate, delete and release: a walk stops at memory that is not an object yet, and at a page that went away.
#pragma once

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/object.h"

namespace freehold::heap {

enum class Step { kObject, kFiller, kEnd };  // kEnd: no object yet, or the memory is gone

// Step and header are not neighbours: gcc tests neighbours with one load of both, behind two stores, which the processor cannot forward.
struct Walked {
  Step step;
  size_t size;
  uint32_t header;
  const core::MethodTable* type;  // of an object
};

// A deleted object whose first words lie at the end of a page and the others, from `word` on, on a page without memory: it covers the rest of its page. Where the word
// lies on the same page as the ones before, that page has just gone away: nobody knows how large the object was.
inline Walked cut_off(const uint8_t* cursor, uint64_t head, const uint8_t* word) noexcept {
  if ((head & core::kDeletedBit) == 0 || reinterpret_cast<uintptr_t>(word) % core::kPageSize != 0) return {Step::kEnd, 0, 0, nullptr};
  return {Step::kFiller, core::kPageSize - reinterpret_cast<uintptr_t>(cursor) % core::kPageSize, static_cast<uint32_t>(head), nullptr};
}

// Whether the word behind `cursor` is the first of a window where no object goes on that starts at `cursor`: the window was not handed out (and may
// hold what a block's last life left there), or belongs to another chunk.
[[gnu::noinline]] bool ends_with_window(const uint8_t* cursor) noexcept;

// The runtime's allocation helpers store the type of an array before its length. Whether an array that says 0 may be one of those: a walk must not go
// on behind it, where its elements will be. `size` is that of an empty one. While the threads are stopped (set_threads_stopped) it is finished, and says so by now.
[[gnu::noinline]] bool may_be_unfinished(const uint8_t* cursor, size_t size) noexcept;
void set_threads_stopped(bool stopped) noexcept;

// What starts at `cursor`, which must be the start of an object, a filler, or memory not used yet.
[[gnu::always_inline]] inline Walked look_at(const uint8_t* cursor) noexcept {
  uint64_t head, type;
  if (!core::try_load(reinterpret_cast<const uint64_t*>(cursor), &head)) return {Step::kEnd, 0, 0, nullptr};
  if ((head & core::kFillerBit) != 0) return {Step::kFiller, static_cast<size_t>(head >> 32), static_cast<uint32_t>(head), nullptr};
  if (reinterpret_cast<uintptr_t>(cursor + core::kHeaderSize) % core::kWindowSize == 0 && ends_with_window(cursor)) [[unlikely]]
    return {Step::kEnd, 0, 0, nullptr};
  if (!core::try_load(reinterpret_cast<const uint64_t*>(cursor + core::kHeaderSize), &type)) return cut_off(cursor, head, cursor + core::kHeaderSize);
  if (type == 0) return {Step::kEnd, 0, 0, nullptr};
  const auto* table = reinterpret_cast<const core::MethodTable*>(type);
  size_t size = table->base_size;
  if (table->has_component_size()) {
    uint32_t length;
    if (!core::try_load(reinterpret_cast<const uint32_t*>(cursor + 2 * core::kHeaderSize), &length))
      return cut_off(cursor, head, cursor + 2 * core::kHeaderSize);
    size += static_cast<size_t>(table->component_size()) * length;
    if (length == 0 && (head & core::kDeletedBit) == 0 && may_be_unfinished(cursor, core::align_up(size, core::kObjectAlignment))) [[unlikely]]
      return {Step::kEnd, 0, 0, nullptr};
  }
  return {Step::kObject, core::align_up(size, core::kObjectAlignment), static_cast<uint32_t>(head), table};
}

// What the object before was: neighbours mostly have one type. Guessing the size from it takes two dependent loads off the way from one object to the next,
// so that the processor has several headers on their way from memory at a time: a third of the time, where they are not in the cache.
struct Guess {
  uint64_t type = 0;
  size_t size = 0;
};
[[gnu::always_inline]] inline Walked look_at(const uint8_t* cursor, Guess& guess) noexcept {
  uint64_t head, type = 0;
  bool guessed = core::try_load(reinterpret_cast<const uint64_t*>(cursor), &head) && (head & core::kFillerBit) == 0 &&
                 reinterpret_cast<uintptr_t>(cursor + core::kHeaderSize) % core::kWindowSize != 0 &&
                 core::try_load(reinterpret_cast<const uint64_t*>(cursor + core::kHeaderSize), &type) && type == guess.type && type != 0;
  if (guessed) return {Step::kObject, guess.size, static_cast<uint32_t>(head), reinterpret_cast<const core::MethodTable*>(type)};
  Walked walked = look_at(cursor);
  if (walked.step == Step::kObject && !walked.type->has_component_size()) guess = {reinterpret_cast<uint64_t>(walked.type), walked.size};
  return walked;
}

// Where to begin a walk of a page: the start of the object that covers its first byte, or of the first object behind that when what covers it is
// dead and has no memory. Null when no object reaches there yet. Remembers what it learns on the way.
uint8_t* first_object(size_t page) noexcept;
// Before the memory of the pages before `page` is given back: notes where the objects go on.
void keep_first_object(size_t page) noexcept;

struct PageCount {
  size_t deleted_units;
  bool all_deleted;  // the whole page is covered by deleted objects and fillers
};
// Reads the truth of a page from its objects.
PageCount count_page(size_t page) noexcept;

// Whether deleted objects and fillers cover the whole page: count_page(page).all_deleted, in less time.
bool is_all_deleted(size_t page) noexcept;

// Whether an object, a filler or zeros are at `cursor`, and not what a block's last life left there.
bool is_walkable(const core::BlockRecord& block, const uint8_t* cursor) noexcept;

enum class Pages { kLive, kWithMemory };  // kWithMemory: dead ones too, as long as they can be read

// Calls function(uint8_t* start, const Walked&) for each object and filler of a block of the lower half that begins on such a page, in the order of
// their addresses. False: somewhere there was no object yet, or not any more; what follows on that page was left out.
template <Pages which = Pages::kLive, typename Function>
bool walk_block(size_t block, Function function) noexcept;

// Calls function(core::Object*, size_t size) for the objects of a frozen segment, which stay: `first` is the address of one, not of its header.
template <typename Function>
void walk_frozen(uint8_t* first, uint8_t* end, Function function) noexcept {
  for (uint8_t* cursor = first; cursor < end;) {
    auto* object = reinterpret_cast<core::Object*>(cursor);
    if (object->type == nullptr) return;
    size_t size = object->size();
    function(object, size);
    cursor += size;
  }
}

// The object that contains an address, or null. For diagnosis, and for interior references.
core::Object* find_object(uintptr_t address) noexcept;

template <Pages which, typename Function>
bool walk_block(size_t block, Function function) noexcept {
  const core::BlockRecord& record = core::arena.blocks[block];
  const std::atomic<uint64_t>* excepted = which == Pages::kLive ? record.dead : record.released;
  bool complete = true;
  Guess guess;
  for (size_t in_block = 0; in_block < core::kPagesPerBlock; in_block++) {
    if ((excepted[in_block / 64].load(std::memory_order_acquire) >> (in_block % 64) & 1) != 0) continue;
    size_t page = block * core::kPagesPerBlock + in_block;
    uint8_t* begin = core::arena.page_start(page);
    uint8_t* cursor = first_object(page);
    if (cursor == nullptr) complete = false;
    // A page lies in one window: asked once, unless objects make pages ready one by one, or begin before.
    constexpr size_t kPagesPerWindow = core::kWindowSize / core::kPageSize;
    bool ready = record.kind != core::BlockKind::kLarge && (record.initialised.load(std::memory_order_acquire) >> (in_block / kPagesPerWindow) & 1) != 0;
    while (cursor != nullptr && cursor < begin + core::kPageSize) {
      Walked walked = (ready && cursor >= begin) || is_walkable(record, cursor) ? look_at(cursor, guess) : Walked{Step::kEnd, 0, 0, nullptr};
      if (walked.step == Step::kEnd || walked.size == 0) {
        complete = false;
        break;
      }
      // Neighbours are often as large: their headers come from memory while this one is looked at. Smaller strides the processor guesses itself, but not across pages.
      constexpr size_t kAhead = 6, kLargeStride = 128, kSmallAhead = 1024;
      __builtin_prefetch(cursor + (walked.size >= kLargeStride ? kAhead * walked.size : kSmallAhead));
      // What reaches in from the page before was told there.
      if (cursor >= begin) function(cursor, walked);
      cursor += walked.size;
    }
  }
  return complete;
}

}  // namespace freehold::heap
