// The address space of the meshing malloc, and what is known of each of its pages. Two halves: meshable spans, whose memory is a file so that a page can have
// two addresses; and all else, memory of this process. Spans are handed out and taken back here; LargeObjects does so for the second half.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mini_heap.h"
#include "os.h"
#include "verification.h"

namespace freehold::mesh {

// What free must know of an address: one load. Stored when a span is made or gets another owner.
struct PageWord {
  static constexpr uint32_t kLarge = 0xff;
  uint64_t bits;
  static PageWord of(uint32_t kind, uint32_t owner, uint32_t index) noexcept { return {kind | uint64_t{owner} << 8 | uint64_t{index} << 24}; }
  uint32_t kind() const noexcept { return bits & 0xff; }                         // a size class, kLarge for the first page of a large object, 0: neither
  uint32_t owner() const noexcept { return bits >> 8 & 0xffff; }                 // the thread-local heap that frees into its shuffle vectors; a hint
  uint32_t index() const noexcept { return static_cast<uint32_t>(bits >> 24); }  // of the MiniHeap or LargeObject
};

class MeshableArena {
 public:
  // False: no address space. Without a file (`meshable` then is false) the spans are memory of this process.
  bool open(size_t address_space, bool meshing) noexcept;
  void close() noexcept;  // for tests

  uintptr_t start() const noexcept { return start_; }
  size_t size() const noexcept { return size_; }
  size_t meshable_size() const noexcept { return meshable_size_; }
  bool contains(const void* address) const noexcept { return reinterpret_cast<uintptr_t>(address) - start_ < size_; }
  bool is_meshable() const noexcept { return view_ != nullptr; }
  PageWord word(const void* address) const noexcept { return word((reinterpret_cast<uintptr_t>(address) - start_) >> os::kPageShift); }
  PageWord word(size_t page) const noexcept { return {words_[page].load(std::memory_order_relaxed)}; }
  void set_words(size_t page, size_t count, PageWord word) noexcept {
    for (size_t i = 0; i < count; i++) words_[page + i].store(word.bits, std::memory_order_relaxed);
  }
  uint8_t* address(size_t page) const noexcept { return reinterpret_cast<uint8_t*>(start_ + (page << os::kPageShift)); }
  size_t page_of(const void* address) const noexcept { return (reinterpret_cast<uintptr_t>(address) - start_) >> os::kPageShift; }

  // A span of the meshable half, up to kMaximalSpan pages. 0: none, or it would exceed the limit. Its contents are arbitrary.
  // `used` (if not null): its pages were in use not long ago, and are present.
  uint32_t allocate_span(uint32_t pages, bool* used = nullptr) noexcept;
  void free_span(uint32_t page, uint32_t pages) noexcept;
  // Gives the memory of spans back that became free at `time` (milliseconds) or before.
  void purge(uint32_t time) noexcept;

  // Mesh: the addresses of `page`, which name the pages of `current`, become names of those of `target`. False: everything is as it was.
  bool alias(uint32_t target, uint32_t page, uint32_t pages, uint32_t current) noexcept;
  // The end of an alias: the span gets its own pages back, and is free.
  void free_alias(uint32_t page, uint32_t pages) noexcept;
  // Gives the memory back that was made for these addresses, which name other memory now.
  bool remove_meshed(uint32_t page, uint32_t pages) noexcept;
  // The kernel's mappings of the spans: one for each run of addresses that name consecutive pages of the file.
  int64_t mappings() const noexcept { return mappings_.load(std::memory_order_relaxed); }

  // Before a fork, all locks held: the spans become copies on write, so that parent and child do not share what either writes later.
  // `leader_of(page)` is where a span's pages are. False: some could not.
  template <typename LeaderOf>
  bool freeze(LeaderOf leader_of) noexcept {
    if (!is_meshable()) return true;
    uint32_t end = fresh_.load(std::memory_order_relaxed), run = private_end_;
    bool good = run >= end || os::is_memory(file_);
    for (uint32_t page = run; good && page < end;) {
      PageWord word{words_[page].load(std::memory_order_relaxed)};
      uint32_t pages = word.kind() == 0 ? 1 : kSizeClasses[word.kind()].pages;
      uint32_t target = word.kind() == 0 ? page : leader_of(word);
      if (target != page) {
        good = (run == page || map_private(run, page - run, run)) && map_private(page, pages, target);
        run = page + pages;
        if (good) private_end_ = run;
      }
      page += pages;
    }
    good = good && (run >= end || map_private(run, end - run, run));
    if (good && run < end) private_end_ = end;
    return good;
  }
  // After freeze: the spans up to here never mesh again.
  void set_frozen() noexcept {
    frozen_.store(std::max(frozen_.load(std::memory_order_relaxed), fresh_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  }
  bool is_frozen(uint32_t page) const noexcept { return page < frozen_.load(std::memory_order_relaxed); }
  // In the child, where freeze failed: the spans become copies now.
  void copy_spans() noexcept;
  int file() const noexcept { return file_; }
  // In the child: spans made from now on are in a file of its own. False: there is none, they are memory of this process and do not mesh.
  bool renew_file() noexcept;

  // With the lock: the free spans, and what is known of the pages that spans had. What is wrong, if anything is.
  Violation verify(FreeSpans* found) const noexcept;
  // With the lock: whether the page's address names the page of the file that is so many pages further on.
  int32_t distance(uint32_t page) const noexcept { return links_[page].distance; }

  // Of a mapping of the process: true if it is the arena's. Then it is cut to what was ever used; nothing is left of other names of the same pages.
  bool clip_to_used(uintptr_t* start, uintptr_t* end) const noexcept;

  // Counts pages against the limit, and against what the process's budget of memory leaves. False: they would exceed it.
  bool use_pages(uint64_t pages) noexcept;
  // What is used and what waits for its next use is more than that.
  bool is_over_limit(uint64_t more) const noexcept;
  uint64_t held_bytes() const noexcept { return (used_pages() + dirty_pages()) << os::kPageShift; }
  void release_pages(uint64_t pages) noexcept { used_pages_.fetch_sub(pages, std::memory_order_relaxed); }
  uint64_t used_pages() const noexcept { return used_pages_.load(std::memory_order_relaxed); }
  // Free, but not given back yet.
  void add_dirty_pages(int64_t pages) noexcept { dirty_pages_.fetch_add(static_cast<uint64_t>(pages), std::memory_order_relaxed); }
  uint64_t dirty_pages() const noexcept { return dirty_pages_.load(std::memory_order_relaxed); }
  uint64_t page_limit() const noexcept { return page_limit_; }
  uint32_t fresh_page() const noexcept { return fresh_.load(std::memory_order_relaxed); }
  os::Lock& lock() noexcept { return lock_; }

  static constexpr uint32_t kMaximalSpan = 8;

 private:
  static constexpr uint32_t kGrowth = 4096;  // pages that become part of core dumps at a time

  // Free spans of one length, chained through links_: the first became free last.
  struct List {
    uint32_t first = 0, last = 0;
  };
  struct Link {
    uint32_t next, previous;
    uint32_t since;    // when it became free, in milliseconds
    int32_t distance;  // of any page: from it to the page of the file that it names; 0: its own
  };
  Violation verify_list(const List& list, uint32_t pages, FreeSpans* found, uint64_t* sum) const noexcept;
  void push(List& list, uint32_t page, uint32_t since) noexcept;
  void unlink(List& list, uint32_t page) noexcept;
  uint32_t take(List& list) noexcept;
  void set_distance(uint32_t page, uint32_t pages, int32_t distance) noexcept;
  bool map_private(uint32_t page, uint32_t pages, uint32_t target) noexcept;

  uintptr_t start_ = 0;
  size_t size_ = 0, meshable_size_ = 0;
  std::atomic<uint64_t>* words_ = nullptr;
  Link* links_ = nullptr;           // one for each page, used for the first page of free spans
  uint8_t* view_ = nullptr;         // all files by other addresses, each page where it was made: names that no mesh changes
  int file_ = -1;                   // of the spans made since the process began
  os::Lock lock_;                   // the free spans, and what follows but for reads
  std::atomic<uint32_t> fresh_{1};  // pages from here on were never used; page 0 never is
  uint32_t dumped_ = 0;
  std::atomic<uint32_t> frozen_{0};
  uint32_t private_end_ = 0;  // the spans up to here are copies on write. What is frozen above was to be, and is shared with the file still. Under all locks
  uint64_t lost_pages_ = 0;   // addresses that the kernel would not give pages of their own again
  List dirty_[kMaximalSpan + 1], clean_[kMaximalSpan + 1];
  std::atomic<int64_t> mappings_{1};
  std::atomic<uint64_t> used_pages_{0}, dirty_pages_{0};  // of both halves. Changed with the lock of one of them, or the mesher's and a class's
  uint64_t page_limit_ = UINT64_MAX;
};

}  // namespace freehold::mesh
