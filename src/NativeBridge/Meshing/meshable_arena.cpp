#include "meshable_arena.h"

#include <algorithm>

#include "budget.h"
#include "knobs.h"

namespace freehold::mesh {
namespace {

uint32_t now() noexcept { return static_cast<uint32_t>(os::milliseconds()); }

}  // namespace

bool MeshableArena::open(size_t address_space, bool meshing) noexcept {
  constexpr size_t kLeast = size_t{64} << 20;
  // A third for spans, two for the rest; half of it where a limit (ulimit -v) refuses so much.
  // Pages have numbers of 32 bits.
  constexpr size_t kMost = (size_t{1} << (32 + os::kPageShift)) - (size_t{1} << 22);
  for (size_t spans = std::min(address_space, kMost) / 3 & -(size_t{1} << 21); spans >= kLeast; spans = spans / 2 & -(size_t{1} << 21)) {
    size_t total = spans * 3, pages = total >> os::kPageShift;
    size_t words_size = pages * sizeof(std::atomic<uint64_t>),
           links_size = ((spans >> os::kPageShift) + 1) * sizeof(Link);  // the last page has a neighbour, too
    size_t tables = (words_size + links_size + os::kPageSize - 1) & -os::kPageSize;
    auto* memory = static_cast<uint8_t*>(os::reserve(total + (size_t{1} << 21)));
    auto* table = static_cast<uint8_t*>(os::reserve(tables));
    if (memory != nullptr && table != nullptr && os::commit(table, tables)) {
      start_ = (reinterpret_cast<uintptr_t>(memory) + (size_t{1} << 21) - 1) & -(uintptr_t{1} << 21);
      size_ = total;
      meshable_size_ = spans;
      words_ = reinterpret_cast<std::atomic<uint64_t>*>(table);
      links_ = reinterpret_cast<Link*>(table + words_size);
      break;
    }
    if (memory != nullptr) os::unreserve(memory, total + (size_t{1} << 21));
    if (table != nullptr) os::unreserve(table, tables);
  }
  if (size_ == 0) return false;
  page_limit_ = knobs.limit >> os::kPageShift;
  auto* spans = reinterpret_cast<uint8_t*>(start_);
  if (meshing && (file_ = os::create_memory(meshable_size_)) >= 0) {
    view_ = static_cast<uint8_t*>(os::reserve(meshable_size_));
    if (view_ == nullptr || !os::map_file(view_, meshable_size_, file_, 0, true) || !os::map_file(spans, meshable_size_, file_, 0, true)) {
      if (view_ != nullptr) os::unreserve(view_, meshable_size_);
      view_ = nullptr;
      os::close(file_);
      file_ = -1;
    } else {
      os::exclude_from_dumps(view_, meshable_size_, true);
      os::exclude_from_dumps(spans, meshable_size_, true);
    }
  }
  return view_ != nullptr || os::commit(spans, meshable_size_);
}

void MeshableArena::close() noexcept {
  if (view_ != nullptr) os::unreserve(view_, meshable_size_);
  if (file_ >= 0) os::close(file_);
  if (size_ != 0) {
    os::unreserve(reinterpret_cast<void*>(start_), size_);
    size_t tables = (size_ >> os::kPageShift) * sizeof(std::atomic<uint64_t>) + ((meshable_size_ >> os::kPageShift) + 1) * sizeof(Link);
    os::unreserve(words_, (tables + os::kPageSize - 1) & -os::kPageSize);
  }
  start_ = size_ = meshable_size_ = 0;
  view_ = nullptr;
  file_ = -1;
}

void MeshableArena::push(List& list, uint32_t page, uint32_t since) noexcept {
  links_[page].next = list.first;
  links_[page].previous = 0;
  links_[page].since = since;
  if (list.first != 0) links_[list.first].previous = page;
  else list.last = page;
  list.first = page;
}

void MeshableArena::unlink(List& list, uint32_t page) noexcept {
  Link& link = links_[page];
  if (link.previous != 0) links_[link.previous].next = link.next;
  else list.first = link.next;
  if (link.next != 0) links_[link.next].previous = link.previous;
  else list.last = link.previous;
}

uint32_t MeshableArena::take(List& list) noexcept {
  uint32_t page = list.first;
  if (page != 0) unlink(list, page);
  return page;
}

bool MeshableArena::use_pages(uint64_t pages) noexcept {
  uint64_t used = used_pages_.fetch_add(pages, std::memory_order_relaxed) + pages;
  if (used <= page_limit_ && (used + dirty_pages()) << os::kPageShift <= budget::room()) return true;
  release_pages(pages);
  return false;
}

bool MeshableArena::clip_to_used(uintptr_t* start, uintptr_t* end) const noexcept {
  auto view = reinterpret_cast<uintptr_t>(view_);
  if (view_ != nullptr && *start - view < meshable_size_) {
    *end = *start;
    return true;
  }
  if (*start - start_ >= size_) return false;
  if (*start - start_ < meshable_size_) *end = std::min(*end, reinterpret_cast<uintptr_t>(address(fresh_page())));
  return true;
}

bool MeshableArena::is_over_limit(uint64_t more) const noexcept {
  return used_pages() + dirty_pages() + more > page_limit_ || held_bytes() + (more << os::kPageShift) > budget::room();
}

uint32_t MeshableArena::allocate_span(uint32_t pages, bool* used) noexcept {
  if (used != nullptr) *used = false;
  os::LockGuard guard(lock_);
  if (!use_pages(pages)) return 0;
  uint32_t page = take(dirty_[pages]);
  if (page != 0) {
    add_dirty_pages(-static_cast<int64_t>(pages));
    if (used != nullptr) *used = true;
    return page;
  }
  if ((page = take(clean_[pages])) != 0) return page;
  page = fresh_.load(std::memory_order_relaxed);
  if (page + pages > meshable_size_ >> os::kPageShift) {
    release_pages(pages);
    return 0;
  }
  fresh_.store(page + pages, std::memory_order_relaxed);
  if (view_ != nullptr && page + pages > dumped_) {
    uint32_t end = std::min<uint32_t>((page + pages + kGrowth) & -kGrowth, static_cast<uint32_t>(meshable_size_ >> os::kPageShift));
    os::exclude_from_dumps(address(dumped_), size_t{end - dumped_} << os::kPageShift, false);
    dumped_ = end;
  }
  return page;
}

void MeshableArena::free_span(uint32_t page, uint32_t pages) noexcept {
  os::LockGuard guard(lock_);
  release_pages(pages);
  add_dirty_pages(pages);
  push(dirty_[pages], page, now());
}

void MeshableArena::purge(uint32_t time) noexcept {
  constexpr uint32_t kBatch = 256;
  uint32_t batch[kBatch];
  for (uint32_t pages = 1; pages <= kMaximalSpan; pages++) {
    uint32_t count;
    do {
      os::LockGuard guard(lock_);
      for (count = 0; count < kBatch; count++) {
        uint32_t page = dirty_[pages].last;
        if (page == 0 || static_cast<int32_t>(time - links_[page].since) < 0) break;
        unlink(dirty_[pages], page);
        batch[count] = page;
      }
      std::sort(batch, batch + count);
      for (uint32_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && batch[i + run] == batch[i] + run * pages && is_frozen(batch[i + run]) == is_frozen(batch[i]); run++) {}
        size_t size = size_t{run * pages} << os::kPageShift;
        // What was frozen has copies of this process; the file's pages may be another's as well.
        bool gone = view_ != nullptr && !is_frozen(batch[i]) ? os::remove(address(batch[i]), size) : os::discard(address(batch[i]), size);
        // Where the kernel refuses, they are as clean as they will get.
        static_cast<void>(gone);
        for (uint32_t k = 0; k < run; k++) push(clean_[pages], batch[i + k], 0);
        add_dirty_pages(-static_cast<int64_t>(run * pages));
      }
    } while (count == kBatch);
  }
}

// Neighbours whose distances are equal are one mapping.
void MeshableArena::set_distance(uint32_t page, uint32_t pages, int32_t distance) noexcept {
  os::LockGuard guard(lock_);
  auto boundaries = [&]() noexcept {
    return (links_[page - 1].distance != links_[page].distance) + (links_[page + pages - 1].distance != links_[page + pages].distance);
  };
  int before = boundaries();
  for (uint32_t i = 0; i < pages; i++) links_[page + i].distance = distance;
  mappings_.fetch_add(boundaries() - before, std::memory_order_relaxed);
}

bool MeshableArena::alias(uint32_t target, uint32_t page, uint32_t pages, uint32_t current) noexcept {
  size_t size = size_t{pages} << os::kPageShift;
  if (os::alias(address(target), address(page), size)) {
    set_distance(page, pages, static_cast<int32_t>(target) - static_cast<int32_t>(page));
    return true;
  }
  // A failed mremap may have unmapped what was there. The second attempt needs no more than that gave back.
  if (!os::is_mapped(address(page), size) && !os::alias(view_ + (size_t{current} << os::kPageShift), address(page), size)) {
    os::fail_fast("the kernel took a span's mapping and gives none", address(page));
  }
  return false;
}

void MeshableArena::free_alias(uint32_t page, uint32_t pages) noexcept {
  size_t size = size_t{pages} << os::kPageShift;
  if (is_frozen(page)) {
    // The view's file is another process's as well.
    bool own = os::commit(address(page), size);
    os::LockGuard guard(lock_);
    if (own) push(clean_[pages], page, 0);
    else lost_pages_ += pages;
    return;
  }
  // The view's mapping is not in core dumps, and so its alias neither.
  if (os::alias(view_ + (size_t{page} << os::kPageShift), address(page), size)) {
    os::exclude_from_dumps(address(page), size, false);
    set_distance(page, pages, 0);
    os::LockGuard guard(lock_);
    push(clean_[pages], page, 0);
    return;
  }
  // These addresses stay names of the leader's pages, and nobody uses them again.
  os::LockGuard guard(lock_);
  lost_pages_ += pages;
}

bool MeshableArena::remove_meshed(uint32_t page, uint32_t pages) noexcept {
  release_pages(pages);
  return os::remove(view_ + (size_t{page} << os::kPageShift), size_t{pages} << os::kPageShift);
}

bool MeshableArena::map_private(uint32_t page, uint32_t pages, uint32_t target) noexcept {
  return os::map_file(address(page), size_t{pages} << os::kPageShift, file_, size_t{target} << os::kPageShift, false);
}

void MeshableArena::copy_spans() noexcept {
  constexpr uint32_t kChunk = 256;  // pages
  auto* chunk = static_cast<uint8_t*>(os::reserve(size_t{kChunk} << os::kPageShift));
  if (chunk == nullptr || !os::commit(chunk, size_t{kChunk} << os::kPageShift)) os::fail_fast("fork: no memory for the child's spans", nullptr);
  uint32_t end = fresh_.load(std::memory_order_relaxed);
  for (uint32_t page = private_end_; page < end; page += kChunk) {
    size_t size = size_t{std::min(kChunk, end - page)} << os::kPageShift;
    __builtin_memcpy(chunk, address(page), size);
    if (!os::commit(address(page), size)) os::fail_fast("fork: no memory for the child's spans", address(page));
    __builtin_memcpy(address(page), chunk, size);
  }
  private_end_ = std::max(private_end_, end);
  os::unreserve(chunk, size_t{kChunk} << os::kPageShift);
}

bool MeshableArena::renew_file() noexcept {
  if (!is_meshable()) return true;
  uint32_t page = fresh_.load(std::memory_order_relaxed);
  size_t offset = size_t{page} << os::kPageShift, size = meshable_size_ - offset;
  if (os::is_memory(file_)) os::close(file_);
  file_ = os::create_memory(meshable_size_);
  dumped_ = page;
  if (file_ >= 0 && os::map_file(view_ + offset, size, file_, offset, true) && os::map_file(address(page), size, file_, offset, true)) {
    os::exclude_from_dumps(view_ + offset, size, true);
    os::exclude_from_dumps(address(page), size, true);
    return true;
  }
  // The parent's file must not be written to: memory of this process instead.
  if (!os::commit(address(page), size)) os::fail_fast("no memory for spans after fork", address(page));
  private_end_ = static_cast<uint32_t>(meshable_size_ >> os::kPageShift);
  frozen_.store(private_end_, std::memory_order_relaxed);
  return false;
}

}  // namespace freehold::mesh
