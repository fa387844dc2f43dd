#include "large_objects.h"

#include <algorithm>

namespace freehold::mesh {
namespace {

constexpr uint32_t kGrowthPages = 16'384;  // accessible memory grows by 64 MB

uint32_t now() noexcept { return static_cast<uint32_t>(os::milliseconds()); }

}  // namespace

bool LargeObjects::open(MeshableArena& arena) noexcept {
  arena_ = &arena;
  begin_ = fresh_ = committed_ = static_cast<uint32_t>(arena.meshable_size() >> os::kPageShift);
  end_ = static_cast<uint32_t>(arena.size() >> os::kPageShift);
  size_t size = (size_t{end_ - begin_} * sizeof(Run) + os::kPageSize - 1) & -os::kPageSize;
  runs_ = static_cast<Run*>(os::reserve(size));
  return runs_ != nullptr && os::commit(runs_, size);
}

void LargeObjects::close() noexcept {
  if (runs_ != nullptr) os::unreserve(runs_, (size_t{end_ - begin_} * sizeof(Run) + os::kPageSize - 1) & -os::kPageSize);
  runs_ = nullptr;
}

// Eight bins for each doubling; the pages of a run in a higher bin than another's are more.
uint32_t LargeObjects::bin_of(uint32_t pages) noexcept {
  if (pages < 8) return pages;
  uint32_t log = 31 - static_cast<uint32_t>(__builtin_clz(pages));
  return std::min(8 * (log - 2) + (pages >> (log - 3) & 7), kBins - 1);
}

void LargeObjects::insert(uint32_t page, uint32_t pages, bool dirty, uint32_t since) noexcept {
  Run& first = run(page);
  uint32_t bin = bin_of(pages);
  run(page + pages - 1).free = true;
  run(page + pages - 1).pages = pages;
  first = {pages, bins_[bin], 0, 0, 0, since, true, true, dirty, false};
  if (first.next != 0) run(first.next).previous = page;
  bins_[bin] = page;
  occupied_[bin / 64] |= uint64_t{1} << bin % 64;
  if (!dirty) return;
  arena_->add_dirty_pages(pages);
  first.older = newest_;
  if (newest_ != 0) run(newest_).newer = page;
  else oldest_ = page;
  newest_ = page;
}

void LargeObjects::take_out(uint32_t page) noexcept {
  Run& first = run(page);
  uint32_t bin = bin_of(first.pages);
  if (first.next != 0) run(first.next).previous = first.previous;
  if (first.previous != 0) run(first.previous).next = first.next;
  else bins_[bin] = first.next;
  if (bins_[bin] == 0) occupied_[bin / 64] &= ~(uint64_t{1} << bin % 64);
  if (first.dirty) {
    arena_->add_dirty_pages(-static_cast<int64_t>(first.pages));
    if (first.newer != 0) run(first.newer).older = first.older;
    else newest_ = first.older;
    if (first.older != 0) run(first.older).newer = first.newer;
    else oldest_ = first.newer;
  }
  run(page + first.pages - 1).free = false;
  first.free = first.first = false;
}

// A free run in which so many pages begin at a multiple of the alignment, or 0.
uint32_t LargeObjects::find(uint32_t pages, uint32_t alignment) noexcept {
  auto fits = [&](uint32_t page) noexcept {
    uint64_t number = arena_->start() / os::kPageSize + page;
    return run(page).pages >= pages + static_cast<uint32_t>(-number & (alignment - 1));
  };
  uint32_t bin = bin_of(pages), looked_at = 0;
  for (uint32_t page = bins_[bin]; page != 0 && looked_at < 16; page = run(page).next, looked_at++) {
    if (fits(page)) return page;
  }
  for (bin++; bin < kBins;) {
    uint64_t word = occupied_[bin / 64] >> bin % 64;
    if (word == 0) {
      bin = (bin / 64 + 1) * 64;
      continue;
    }
    bin += static_cast<uint32_t>(__builtin_ctzll(word));
    looked_at = 0;
    for (uint32_t page = bins_[bin]; page != 0 && looked_at < 16; page = run(page).next, looked_at++) {
      if (fits(page)) return page;
    }
    bin++;
  }
  return 0;
}

bool LargeObjects::grow(uint32_t end) noexcept {
  if (end > end_ || end < fresh_) return false;
  if (end > committed_) {
    uint32_t target = std::min((end + kGrowthPages - 1) / kGrowthPages * kGrowthPages, end_);
    if (!os::commit(arena_->address(committed_), size_t{target - committed_} << os::kPageShift)) {
      if (!os::commit(arena_->address(committed_), size_t{end - committed_} << os::kPageShift)) return false;
      target = end;
    }
    committed_ = target;
  }
  return true;
}

void* LargeObjects::allocate(size_t size, size_t alignment, uint32_t kind, uint32_t owner, uint32_t index, bool* zero) noexcept {
  if (size > arena_->size() || alignment > arena_->size()) return nullptr;
  auto pages = static_cast<uint32_t>(std::max<size_t>((size + os::kPageSize - 1) >> os::kPageShift, 1));
  auto aligned_to = static_cast<uint32_t>(std::max<size_t>(alignment >> os::kPageShift, 1));
  os::LockGuard guard(lock_);
  if (!arena_->use_pages(pages)) return nullptr;
  uint32_t page = find(pages, aligned_to), available, since = 0;
  bool dirty = false;
  if (page != 0) {
    available = run(page).pages;
    dirty = run(page).dirty;
    since = run(page).since;
    take_out(page);
  } else {
    page = fresh_;
    uint64_t number = arena_->start() / os::kPageSize + page;
    uint64_t needed = pages + (-number & (aligned_to - 1));
    if (needed > end_ - page || !grow(page + static_cast<uint32_t>(needed))) {
      arena_->release_pages(pages);
      return nullptr;
    }
    available = static_cast<uint32_t>(needed);
    fresh_ = page + available;
  }
  uint64_t number = arena_->start() / os::kPageSize + page;
  auto before = static_cast<uint32_t>(-number & (aligned_to - 1));
  if (before != 0) insert(page, before, dirty, since);
  page += before;
  available -= before;
  if (available > pages) insert(page + pages, available - pages, dirty, since);
  run(page) = {pages, 0, 0, 0, 0, 0, false, true, false, false};
  live_pages_.fetch_add(pages, std::memory_order_relaxed);
  // A span's every page is looked up, a large object's first one only.
  arena_->set_words(page, kind == PageWord::kLarge ? 1 : pages, PageWord::of(kind, owner, kind == PageWord::kLarge ? page : index));
  *zero = !dirty;
  return arena_->address(page);
}

void LargeObjects::free(uint32_t page) noexcept {
  os::LockGuard guard(lock_);
  uint32_t pages = run(page).pages;
  uint32_t looked_up = arena_->word(page).kind() == PageWord::kLarge ? 1 : pages;
  arena_->set_words(page, looked_up, {0});
  arena_->release_pages(pages);
  live_pages_.fetch_sub(pages, std::memory_order_relaxed);
  run(page).first = false;
  // A new mapping becomes one with its neighbours, and has no memory.
  bool dirty = !run(page).moved || !os::commit(arena_->address(page), size_t{pages} << os::kPageShift);
  uint32_t next = page + pages;
  if (next < fresh_ && run(next).free && run(next).first) {
    uint32_t more = run(next).pages;
    dirty |= run(next).dirty;
    take_out(next);
    pages += more;
  }
  if (page > begin_ && run(page - 1).free) {
    uint32_t more = run(page - 1).pages;
    dirty |= run(page - more).dirty;
    take_out(page - more);
    page -= more;
    pages += more;
  }
  insert(page, pages, dirty, now());
  // Not more than a quarter of what is used, or 64 MB, waits for its next use.
  uint64_t allowed = std::max<uint64_t>(arena_->used_pages() / 4, 16'384);
  if (arena_->is_over_limit(allowed - std::min(allowed, arena_->dirty_pages()))) allowed = 0;
  while (oldest_ != 0 && arena_->dirty_pages() > allowed) purge_run(oldest_);
}

size_t LargeObjects::size_of(uint32_t page) const noexcept { return size_t{run(page).pages} << os::kPageShift; }

bool LargeObjects::resize(uint32_t page, size_t size) noexcept {
  if (size > arena_->size()) return false;
  auto pages = static_cast<uint32_t>((size + os::kPageSize - 1) >> os::kPageShift);
  os::LockGuard guard(lock_);
  uint32_t current = run(page).pages, next = page + current;
  if (pages < current) {
    run(page).pages = pages;
    arena_->release_pages(current - pages);
    live_pages_.fetch_sub(current - pages, std::memory_order_relaxed);
    uint32_t rest = current - pages;
    if (next < fresh_ && run(next).free && run(next).first) {
      rest += run(next).pages;
      take_out(next);
    }
    insert(page + pages, rest, true, now());
    return true;
  }
  uint32_t more = pages - current;
  if (more == 0) return true;
  if (next < fresh_) {
    if (!run(next).free || !run(next).first || run(next).pages < more || !arena_->use_pages(more)) return false;
    uint32_t left = run(next).pages - more, since = run(next).since;
    bool dirty = run(next).dirty;
    take_out(next);
    if (left != 0) insert(next + more, left, dirty, since);
  } else {
    if (more > end_ - next || !grow(next + more) || !arena_->use_pages(more)) return false;
    fresh_ = next + more;
  }
  run(page).pages = pages;
  live_pages_.fetch_add(more, std::memory_order_relaxed);
  return true;
}

void LargeObjects::purge_run(uint32_t page) noexcept {
  uint32_t pages = run(page).pages;
  take_out(page);
  // Where the kernel refuses, the memory is not zero and stays: it will not be asked for again.
  bool gone = os::discard(arena_->address(page), size_t{pages} << os::kPageShift);
  if (!gone) __builtin_memset(arena_->address(page), 0, size_t{pages} << os::kPageShift);
  insert(page, pages, false, 0);
}

void LargeObjects::purge(uint32_t time) noexcept {
  os::LockGuard guard(lock_);
  while (oldest_ != 0 && static_cast<int32_t>(time - run(oldest_).since) >= 0) purge_run(oldest_);
}

}  // namespace freehold::mesh
