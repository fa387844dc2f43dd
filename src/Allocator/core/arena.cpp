// Reservation of the arena and of its tables.
#include "core/arena.h"

namespace freehold::core {
namespace {

// Far from where the kernel maps libraries and stacks, and from the fixed addresses of sanitizers.
constexpr uintptr_t kHint = uintptr_t{16} << 40;
constexpr size_t kSmallestArena = size_t{64} << 30;

struct SegmentRecord {
  std::atomic<uint16_t> gone;  // blocks of generation 0 that are gone for good
  bool committed;              // its part of the tables is; written under the blocks' lock
};
SegmentRecord* segments = nullptr;

constexpr size_t align_to_page(size_t bytes) noexcept { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }
size_t block_table_bytes(size_t blocks) noexcept { return blocks * sizeof(BlockRecord); }
size_t page_table_bytes(size_t blocks) noexcept { return blocks * kPagesPerBlock * sizeof(PageRecord); }
size_t card_table_bytes(size_t blocks) noexcept { return blocks * kPagesPerBlock; }

}  // namespace

bool create_arena(size_t most) noexcept {
  for (size_t size = most; size >= kSmallestArena; size /= 2) {
    void* start = os::reserve(size, kSegmentSize, kHint);
    if (start == nullptr) continue;
    size_t blocks = size / kBlockSize, segment_bytes = align_to_page(size / kSegmentSize * sizeof(SegmentRecord));
    void* pages = os::reserve(page_table_bytes(blocks / 2), kPageSize, 0);
    void* records = os::reserve(block_table_bytes(blocks), kPageSize, 0);
    void* cards = os::reserve(card_table_bytes(blocks), kPageSize, 0);
    void* committed = os::reserve(segment_bytes, kPageSize, 0);
    if (pages != nullptr && records != nullptr && cards != nullptr && committed != nullptr && os::commit(committed, segment_bytes)) {
      arena = {reinterpret_cast<uintptr_t>(start), size, static_cast<PageRecord*>(pages), static_cast<BlockRecord*>(records), static_cast<uint8_t*>(cards)};
      segments = static_cast<SegmentRecord*>(committed);
      return true;
    }
    if (pages != nullptr) os::unreserve(pages, page_table_bytes(blocks / 2));
    if (records != nullptr) os::unreserve(records, block_table_bytes(blocks));
    if (cards != nullptr) os::unreserve(cards, card_table_bytes(blocks));
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
  os::unreserve(segments, align_to_page(arena.size / kSegmentSize * sizeof(SegmentRecord)));
  arena = {};
}

bool commit_tables(size_t block, size_t count) noexcept {
  for (size_t segment = block / kBlocksPerSegment; segment <= (block + count - 1) / kBlocksPerSegment; segment++) {
    if (segments[segment].committed) continue;
    if (!os::commit(reinterpret_cast<uint8_t*>(arena.blocks) + block_table_bytes(kBlocksPerSegment) * segment, block_table_bytes(kBlocksPerSegment))) return false;
    if (!os::commit(arena.cards + card_table_bytes(kBlocksPerSegment) * segment, card_table_bytes(kBlocksPerSegment))) return false;
    if (segment < arena.size / kSegmentSize / 2 &&
        !os::commit(reinterpret_cast<uint8_t*>(arena.pages) + page_table_bytes(kBlocksPerSegment) * segment, page_table_bytes(kBlocksPerSegment))) {
      return false;
    }
    segments[segment].committed = true;
  }
  return true;
}

void release_tables(size_t block, size_t count) noexcept {
  auto discard_inside = [](void* table, size_t from, size_t to) noexcept {
    from = align_to_page(from);
    to &= ~(kPageSize - 1);
    if (from < to) os::discard(static_cast<uint8_t*>(table) + from, to - from);
  };
  discard_inside(arena.cards, card_table_bytes(block), card_table_bytes(block + count));
  discard_inside(arena.blocks, block_table_bytes(block), block_table_bytes(block + count));
  if (block + count <= arena.block_count() / 2) discard_inside(arena.pages, page_table_bytes(block), page_table_bytes(block + count));
}

void note_gone(size_t block, size_t count) noexcept {
  size_t segment = block / kBlocksPerSegment;
  if (block % kBlocksPerSegment >= kBlocksInGeneration0 || block >= arena.block_count() / 2) {
    if (count > 1) release_tables(block, count);
    return;
  }
  if (segments[segment].gone.fetch_add(static_cast<uint16_t>(count), std::memory_order_acq_rel) + count == kBlocksInGeneration0) {
    release_tables(segment * kBlocksPerSegment, kBlocksInGeneration0);
  } else if (count > 1) {
    release_tables(block, count);
  }
}

}  // namespace freehold::core
