// The arena: one reservation that holds every object, cut into segments, blocks and pages, and the tables that describe them.
//
//   segment  4 GB, aligned    generation 0 is its first half, generation 1 half of the rest, … (Kedia et al., section 3)
//   block    2 MB             unit of physical memory: frames are taken, recycled and given back by the block
//   page     4 KB             unit of bookkeeping: deleted bytes, first object
//
// The lower half of the arena holds blocks of small objects, runs of pages for large ones and pinned objects; the upper half
// objects of more than kHugeObject bytes, each on blocks of its own. Addresses are handed out once, and again after an address scan has shown that nothing
// names what was there (heap/addresses.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/kernel.h"

namespace freehold::core {

inline constexpr size_t kPageSize = os::kPageSize;
inline constexpr size_t kBlockSize = size_t{2} << 20;
inline constexpr size_t kSegmentSize = size_t{4} << 30;
inline constexpr size_t kPagesPerBlock = kBlockSize / kPageSize;
inline constexpr size_t kBlocksPerSegment = kSegmentSize / kBlockSize;
inline constexpr size_t kBlocksInGeneration0 = kBlocksPerSegment / 2;
inline constexpr size_t kBlocksPerGroup = 16;  // neighbours whose part of each table fills pages: it goes with the last of them
inline constexpr size_t kGroupSize = kBlocksPerGroup * kBlockSize;
inline constexpr size_t kUnit = 8;  // sizes within a page are counted in units of 8 bytes
inline constexpr size_t kUnitsPerPage = kPageSize / kUnit;
// A window is what is zeroed at a time ahead of the bump pointer: small enough to stay in the first-level cache.
inline constexpr size_t kWindowSize = size_t{32} << 10;
inline constexpr size_t kWindowsPerBlock = kBlockSize / kWindowSize;
static_assert(kWindowsPerBlock == 64, "one bit each in BlockRecord::initialised");
inline constexpr size_t kLargeObject = size_t{32} << 10;  // above: pages of its own
inline constexpr size_t kHugeObject = size_t{1} << 20;    // above: blocks of its own

// Generation of an address: the number of leading one bits of its 32-bit offset in the segment.
constexpr int generation_of(uintptr_t offset_in_segment) noexcept { return __builtin_clz(~static_cast<uint32_t>(offset_in_segment) | 1); }

// What is known of a page. Any thread reads and writes both words without a lock: `deleted` is a hint, and all writers of `first` write the same.
struct PageRecord {
  uint16_t deleted;  // units deleted here; at kUnitsPerPage the page may be dead. May lose updates: the objects' deleted bits are the truth.
  // 0 = not known yet; 1 + units from the start of the object that covers the page's first byte to that byte; or kStartsLater + units from
  // the page's first byte to the first object that starts here, when what covers the first byte is dead and its header has no memory.
  uint16_t first;
  static constexpr uint16_t kStartsLater = 0x8000;
};
static_assert(sizeof(PageRecord) == 4);
static_assert(kLargeObject / kUnit + 1 < PageRecord::kStartsLater, "PageRecord::first reaches back over the largest object that shares pages");

enum class BlockState : uint8_t {
  kGone = 0,    // never used (beyond the frontier), or dead and without memory
  kLive,        // holds objects
  kPooled,      // every object is dead; its frames wait for their next use, or for the last pin
  kMoved,       // its frames were moved away; an empty mapping is left
  kEvacuating,  // its live objects are being promoted: it may be read, and whoever writes faults and waits
  kForwarded,   // its live objects were promoted: no access, heap/forwarding.h knows where they are
};

// kGuarded: a page for each object (heap/guarded_objects.h).
enum class BlockKind : uint8_t { kNone = 0, kSmall, kLarge, kPinned, kHuge, kHugeTail, kGuarded };

// What is known of a block. `state` changes under the blocks' lock; the bitmaps only gain bits while the block lives.
struct alignas(64) BlockRecord {
  std::atomic<BlockState> state;
  std::atomic<BlockKind> kind;        // written before `state` says kLive; once more, where a kGuarded block is given up and becomes kSmall
  bool dirty;                         // its memory came from another block and is zeroed window by window
  std::atomic<bool> partly_released;  // some dead pages have no memory any more: its frames cannot be recycled
  uint16_t splits;                    // kernel mappings that released pages made of the block's one (mprotect); under the blocks' lock
  std::atomic<bool> populated;        // kLarge: every page has memory, or is dead; for others `initialised` tells. kGuarded: userfaultfd watches those
  std::atomic<bool> release_waits;    // dead pages keep their memory, since something in the block may be pinned
  std::atomic<uint16_t> dead_pages;   // bits set in `dead`; from kDeadPagesClosed on the block is out of the accounts
  uint16_t dead_last_round;           // what `dead_pages` was; under the lock of maintenance
  uint32_t next;                      // list of pooled, of moved or of dead and pinned blocks; kHugeTail: distance to the first block of the run
  // Windows taken by the owner of their chunk, just before it initialises them, or by the maintenance thread, which makes them a filler when the
  // owner idles. Whoever sets the bit has the window.
  std::atomic<uint64_t> claimed;
  std::atomic<uint64_t> initialised;   // windows that are zeroed and handed out, or fillers: what may be walked
  std::atomic<uint64_t> chunk_starts;  // windows where a chunk begins, hence an object
  union {                              // written before `state` says kLive, or kForwarded
    uint32_t huge_pages;               // kHuge: pages that the object needs
    uint32_t forwarding;               // kForwarded: its table (heap/forwarding.h). It stays when the block has become something else: readers may be behind
  };
  std::atomic<uint32_t>
      users;  // who allocates from it, and whether it has ended (heap/block_ends.h: keep_record): 1 before `state` says kLive, then atomic additions
  uint64_t claimed_last_round;      // what `claimed` was; under the lock of maintenance
  std::atomic<uint8_t> stack_pins;  // 1: a thread may have pinned an object here (heap/pins.h)
  bool backed;                      // it has memory to its end, used or not: frames of another block, or a huge page if the kernel has one. Written, as
                                    // `dirty` and `kind` are, before `state` says kLive
  // The round of promotion that has chosen it, 0: none. Written by the promoting thread.
  std::atomic<uint16_t> chosen;
  std::atomic<uint32_t> handle_pins;                    // handles that pin an object here
  std::atomic<uint64_t> dead[kPagesPerBlock / 64];      // pages whose objects are all deleted: set by fetch_or, each page once
  std::atomic<uint64_t> released[kPagesPerBlock / 64];  // dead pages without memory
  std::atomic<uint64_t> pinned[kPagesPerBlock / 64];    // debug mode, kGuarded: first pages of objects that a thread or a handle may have pinned
};
inline constexpr uint16_t kDeadPagesClosed = 1 << 15;
static_assert(sizeof(BlockRecord) == 256 && kPagesPerBlock < kDeadPagesClosed);
static_assert(kBlocksPerGroup * sizeof(BlockRecord) % kPageSize == 0 && kBlocksPerGroup * kPagesPerBlock % kPageSize == 0 &&
              kBlocksInGeneration0 % kBlocksPerGroup == 0);

// What Arena::gone says of a group beyond the number of its blocks that are gone. All addresses of it are then without memory, and nobody gets one again
// but by copying a name that there was before.
struct GroupState {
  static constexpr uint8_t kAllGone = kBlocksPerGroup;
  static constexpr uint8_t kWithoutTables = 17;  // and its part of the tables is gone too: nobody is going to write there
  static constexpr uint8_t kAsked = 18;          // an address scan is under way, and has met none of this group (heap/addresses.h)
  static constexpr uint8_t kUnnamed = 19;        // nothing names it: its addresses may be handed out again
  static constexpr uint8_t kMask = 31;
  static constexpr uint8_t kContinues = 0x80;  // upper half: an object that begins before the group reaches into it, or the last one to be there did
  // Who changes it: note_gone up to kWithoutTables, by atomic additions. From there on only an address scan, and whoever tells it of a name (all of them store the same,
  // and the stop that ends a scan leaves none of them on the way), and under the lock of heap/addresses.cpp who hands a kUnnamed group out, which is in use from then on.
};

// On a cache line of its own: each deletion reads it, and its neighbours in memory are written all the time.
struct alignas(64) Arena {
  uintptr_t start;      // aligned to kSegmentSize
  size_t size;          // bytes, a multiple of 2 * kSegmentSize
  PageRecord* pages;    // of the lower half
  BlockRecord* blocks;  // of the whole arena
  uint8_t* cards;       // a byte for each page of the whole arena (heap/cards.h)
  std::atomic<uint8_t>*
      gone;  // of each group, how many blocks are gone: note_gone adds; a walk that sees fewer visits blocks that are kGone. And more (GroupState)
  std::atomic<uint64_t>*
      finalizable;  // a bit for each block: an object whose type has a finalizer was ever put there. Set before anybody else sees that object, never cleared

  bool contains(uintptr_t address) const noexcept { return address - start < size; }
  bool in_lower_half(uintptr_t address) const noexcept { return address - start < size / 2; }
  size_t page_index(uintptr_t address) const noexcept { return (address - start) / kPageSize; }
  size_t block_index(uintptr_t address) const noexcept { return (address - start) / kBlockSize; }
  uint8_t* page_start(size_t page) const noexcept { return reinterpret_cast<uint8_t*>(start + page * kPageSize); }
  uint8_t* block_start(size_t block) const noexcept { return reinterpret_cast<uint8_t*>(start + block * kBlockSize); }
  size_t block_count() const noexcept { return size / kBlockSize; }
};

// Set once by create_arena, before any other thread exists.
inline constinit Arena arena = {};

// Whether all objects of a page are known to be deleted. Once true it stays so while its block lives.
inline bool is_page_dead(size_t page) noexcept {
  size_t in_block = page % kPagesPerBlock;
  return (arena.blocks[page / kPagesPerBlock].dead[in_block / 64].load(std::memory_order_relaxed) >> (in_block % 64) & 1) != 0;
}

// How many units of a page are dead, as far as is noted: the counter's updates may be lost, and a page that dies as a whole has none (heap/unreached_pages.h).
inline size_t noted_dead_units(size_t page) noexcept {
  size_t units = __atomic_load_n(&arena.pages[page].deleted, __ATOMIC_RELAXED);
  return units < kUnitsPerPage && !is_page_dead(page) ? units : kUnitsPerPage;
}

inline void note_finalizable(size_t block) noexcept {
  uint64_t bit = uint64_t{1} << (block % 64);
  std::atomic<uint64_t>& word = arena.finalizable[block / 64];
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
}
inline bool may_have_finalizable(size_t block) noexcept { return (arena.finalizable[block / 64].load(std::memory_order_relaxed) >> (block % 64) & 1) != 0; }

// Reserves the arena (the largest that the process may have, at most `most` bytes) and its tables. False: no address space.
bool create_arena(size_t most) noexcept;
void destroy_arena() noexcept;  // tests only

// Makes the tables for [block, block + count) usable. False when the kernel refuses memory. Caller holds the lock of heap/addresses.cpp.
bool commit_tables(size_t block, size_t count) noexcept;
// Makes the tables of a group zero that is kUnnamed: what the kernel did not take back of them says nothing of the next blocks. The same lock.
void clear_tables(size_t group) noexcept;
// `count` blocks are gone, or will not be used: each is told once in its life. The last of a group takes the group's part of the tables with it, which
// reads as zero from then on, and that says kGone. Any thread.
void note_gone(size_t block, size_t count) noexcept;

// A group's GroupState, or the number of its blocks that are gone.
inline uint8_t group_state(size_t group) noexcept { return arena.gone[group].load(std::memory_order_relaxed) & GroupState::kMask; }
// Whether all blocks of the group that `block` is the first of are gone.
inline bool is_group_gone(size_t block) noexcept { return group_state(block / kBlocksPerGroup) >= GroupState::kAllGone; }

}  // namespace freehold::core
