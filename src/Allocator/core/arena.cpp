// Reservation of the arena and of its tables.
#include "core/arena.h"

#include <string.h>

namespace freehold::core {
namespace {

// Far from where the kernel maps libraries and stacks, and from the fixed addresses of sanitizers.
constexpr uintptr_t kHint = uintptr_t{16} << 40;
constexpr size_t kSmallestArena = size_t{64} << 30;

bool* committed_segments = nullptr;  // whose part of the tables is committed; under the lock of heap/addresses.cpp

constexpr size_t align_to_page(size_t bytes) noexcept { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }
size_t block_table_bytes(size_t blocks) noexcept { return blocks * sizeof(BlockRecord); }
size_t page_table_bytes(size_t blocks) noexcept { return blocks * kPagesPerBlock * sizeof(PageRecord); }
size_t card_table_bytes(size_t blocks) noexcept { return blocks * kPagesPerBlock; }
size_t group_table_bytes(size_t blocks) noexcept { return align_to_page(blocks / kBlocksPerGroup); }
size_t finalizable_table_bytes(size_t blocks) noexcept { return align_to_page(blocks / 8); }
size_t segment_table_bytes(size_t blocks) noexcept { return align_to_page(blocks / kBlocksPerSegment); }

// Gives the tables' memory of whole groups back, beside threads that may still look at one of the blocks: what they find there is kGone, and nothing else
// of it holds. Where the kernel refuses, the states say kGone as well.
void release_tables(size_t block, size_t count) noexcept {
  os::discard(arena.cards + card_table_bytes(block), card_table_bytes(count));
  os::discard(reinterpret_cast<uint8_t*>(arena.blocks) + block_table_bytes(block), block_table_bytes(count));
  if (block < arena.block_count() / 2) os::discard(reinterpret_cast<uint8_t*>(arena.pages) + page_table_bytes(block), page_table_bytes(count));
}

}  // namespace

bool create_arena(size_t most) noexcept {
  for (size_t size = most; size >= kSmallestArena; size /= 2) {
    void* start = os::reserve(size, kSegmentSize, kHint);
    if (start == nullptr) continue;
    size_t blocks = size / kBlockSize, segment_bytes = segment_table_bytes(blocks), group_bytes = group_table_bytes(blocks);
    void* pages = os::reserve(page_table_bytes(blocks / 2), kPageSize, 0);
    void* records = os::reserve(block_table_bytes(blocks), kPageSize, 0);
    void* cards = os::reserve(card_table_bytes(blocks), kPageSize, 0);
    void* gone = os::reserve(group_bytes, kPageSize, 0);
    void* finalizable = os::reserve(finalizable_table_bytes(blocks), kPageSize, 0);
    void* committed = os::reserve(segment_bytes, kPageSize, 0);
    if (pages != nullptr && records != nullptr && cards != nullptr && gone != nullptr && finalizable != nullptr && committed != nullptr &&
        os::commit(gone, group_bytes) && os::commit(finalizable, finalizable_table_bytes(blocks)) && os::commit(committed, segment_bytes)) {
      arena = {reinterpret_cast<uintptr_t>(start),
               size,
               static_cast<PageRecord*>(pages),
               static_cast<BlockRecord*>(records),
               static_cast<uint8_t*>(cards),
               static_cast<std::atomic<uint8_t>*>(gone),
               static_cast<std::atomic<uint64_t>*>(finalizable)};
      committed_segments = static_cast<bool*>(committed);
      return true;
    }
    if (pages != nullptr) os::unreserve(pages, page_table_bytes(blocks / 2));
    if (records != nullptr) os::unreserve(records, block_table_bytes(blocks));
    if (cards != nullptr) os::unreserve(cards, card_table_bytes(blocks));
    if (gone != nullptr) os::unreserve(gone, group_bytes);
    if (finalizable != nullptr) os::unreserve(finalizable, finalizable_table_bytes(blocks));
    if (committed != nullptr) os::unreserve(committed, segment_bytes);
    os::unreserve(start, size);
  }
  return false;
}

void destroy_arena() noexcept {
  size_t blocks = arena.block_count();
  os::unreserve(reinterpret_cast<void*>(arena.start), arena.size);
  os::unreserve(arena.pages, page_table_bytes(blocks / 2));
  os::unreserve(arena.blocks, block_table_bytes(blocks));
  os::unreserve(arena.cards, card_table_bytes(blocks));
  os::unreserve(arena.gone, group_table_bytes(blocks));
  os::unreserve(arena.finalizable, finalizable_table_bytes(blocks));
  os::unreserve(committed_segments, segment_table_bytes(blocks));
  arena = {};
}

bool commit_tables(size_t block, size_t count) noexcept {
  for (size_t segment = block / kBlocksPerSegment; segment <= (block + count - 1) / kBlocksPerSegment; segment++) {
    if (committed_segments[segment]) continue;
    if (!os::commit(reinterpret_cast<uint8_t*>(arena.blocks) + block_table_bytes(kBlocksPerSegment) * segment, block_table_bytes(kBlocksPerSegment)))
      return false;
    if (!os::commit(arena.cards + card_table_bytes(kBlocksPerSegment) * segment, card_table_bytes(kBlocksPerSegment))) return false;
    if (segment < arena.size / kSegmentSize / 2 &&
        !os::commit(reinterpret_cast<uint8_t*>(arena.pages) + page_table_bytes(kBlocksPerSegment) * segment, page_table_bytes(kBlocksPerSegment))) {
      return false;
    }
    committed_segments[segment] = true;
  }
  return true;
}

void clear_tables(size_t group) noexcept {
  size_t block = group * kBlocksPerGroup;
  memset(arena.cards + card_table_bytes(block), 0, card_table_bytes(kBlocksPerGroup));
  memset(reinterpret_cast<uint8_t*>(arena.blocks) + block_table_bytes(block), 0, block_table_bytes(kBlocksPerGroup));
  if (block < arena.block_count() / 2) memset(reinterpret_cast<uint8_t*>(arena.pages) + page_table_bytes(block), 0, page_table_bytes(kBlocksPerGroup));
}

void note_gone(size_t block, size_t count) noexcept {
  size_t first_gone = block, all_gone = 0;  // only the first and the last group may have others that live: the complete ones lie side by side
  for (size_t end = block + count; block < end;) {
    size_t group = block / kBlocksPerGroup, next = (group + 1) * kBlocksPerGroup, here = (next < end ? next : end) - block;
    if ((arena.gone[group].fetch_add(static_cast<uint8_t>(here), std::memory_order_acq_rel) & GroupState::kMask) + here == kBlocksPerGroup) {
      if (all_gone == 0) first_gone = group * kBlocksPerGroup;
      all_gone += kBlocksPerGroup;
    }
    block += here;
  }
  if (all_gone == 0) return;
  release_tables(first_gone, all_gone);
  static_assert(GroupState::kAllGone + 1 == GroupState::kWithoutTables);
  for (size_t group = first_gone / kBlocksPerGroup; group < (first_gone + all_gone) / kBlocksPerGroup; group++)
    arena.gone[group].fetch_add(1, std::memory_order_release);
}

}  // namespace freehold::core
