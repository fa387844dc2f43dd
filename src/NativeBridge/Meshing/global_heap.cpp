#include "global_heap.h"

#include <algorithm>

namespace freehold::mesh {
namespace {

size_t round_up(size_t size) noexcept { return (size + os::kPageSize - 1) & -os::kPageSize; }

size_t storage_size() noexcept {
  size_t entries = 0;
  for (uint32_t i = 1; i < kClasses; i++) entries += kSizeClasses[i].capacity + ThreadLocalHeap::remote_capacity(i);
  return round_up(sizeof(ThreadLocalHeap)) + round_up(entries * sizeof(void*));
}

}  // namespace

bool GlobalHeap::open(MeshableArena& arena, LargeObjects& large) noexcept {
  arena_ = &arena;
  large_ = &large;
  mini_heap_limit_ = static_cast<MiniHeapId>(arena.size() >> os::kPageShift);
  size_t size = round_up(size_t{mini_heap_limit_} * sizeof(MiniHeap));
  size_t heaps_size = round_up(ThreadLocalHeap::kMaximal * sizeof(ThreadLocalHeap*));
  mini_heaps_ = static_cast<MiniHeap*>(os::reserve(size));
  heaps_ = static_cast<ThreadLocalHeap**>(os::reserve(heaps_size));
  return mini_heaps_ != nullptr && os::commit(mini_heaps_, size) && heaps_ != nullptr && os::commit(heaps_, heaps_size);
}

void GlobalHeap::close() noexcept {
  for (uint32_t i = 0; i < heap_count(); i++) os::unreserve(heaps_[i], storage_size());
  if (heaps_ != nullptr) os::unreserve(heaps_, round_up(ThreadLocalHeap::kMaximal * sizeof(ThreadLocalHeap*)));
  if (mini_heaps_ != nullptr) os::unreserve(mini_heaps_, round_up(size_t{mini_heap_limit_} * sizeof(MiniHeap)));
  mini_heaps_ = nullptr;
  heaps_ = nullptr;
}

ThreadLocalHeap* GlobalHeap::take_heap(uint64_t seed) noexcept {
  os::LockGuard guard(heaps_lock_);
  if (unused_heaps_ != nullptr) {
    ThreadLocalHeap* heap = unused_heaps_;
    unused_heaps_ = heap->next_unused;
    return heap;
  }
  uint32_t count = heap_count();
  if (count == ThreadLocalHeap::kMaximal) return nullptr;
  void* memory = os::reserve(storage_size());
  if (memory == nullptr || !os::commit(memory, storage_size())) {
    if (memory != nullptr) os::unreserve(memory, storage_size());
    return nullptr;
  }
  auto* heap = new (memory) ThreadLocalHeap;
  heap->id = count + 1;
  heap->random = Random(seed + heap->id * 0x9e3779b97f4a7c15);
  void** entries = storage_of(*heap);
  for (uint32_t i = 1; i < kClasses; i++) {
    heap->vectors[i].open(entries, kSizeClasses[i].capacity);
    entries += kSizeClasses[i].capacity;
  }
  for (uint32_t i = 1; i < kClasses; i++) {
    heap->remote[i].open(entries, ThreadLocalHeap::remote_capacity(i));
    entries += ThreadLocalHeap::remote_capacity(i);
  }
  heaps_[count] = heap;
  heap_count_.store(count + 1, std::memory_order_release);
  return heap;
}

void** GlobalHeap::storage_of(const ThreadLocalHeap& heap) noexcept {
  return reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(&heap) + round_up(sizeof(ThreadLocalHeap)));
}

void GlobalHeap::give_heap_back(ThreadLocalHeap* heap) noexcept {
  heap->announced_count.store(0, std::memory_order_release);
  os::LockGuard guard(heaps_lock_);
  heap->next_unused = unused_heaps_;
  unused_heaps_ = heap;
}

MiniHeapId GlobalHeap::take_id() noexcept {
  os::LockGuard guard(ids_lock_);
  MiniHeapId id = unused_;
  if (id != 0) {
    unused_ = mini_heaps_[id].next;
    return id;
  }
  id = mini_heap_end_.load(std::memory_order_relaxed);
  if (id == mini_heap_limit_) return 0;
  mini_heaps_[id].bin.store(MiniHeap::kUnused, std::memory_order_relaxed);
  mini_heap_end_.store(id + 1, std::memory_order_release);
  return id;
}

// A span all of whose slots are taken by the caller.
MiniHeapId GlobalHeap::make_span(uint32_t size_class, uint32_t owner, bool* used) noexcept {
  const SizeClass& c = kSizeClasses[size_class];
  MiniHeapId id = take_id();
  if (id == 0) return 0;
  MiniHeap& mini_heap = mini_heaps_[id];
  uint32_t page = 0;
  if (is_meshable(size_class)) {
    page = arena_->allocate_span(c.pages, used);
  } else {
    bool zero;
    void* memory = large_->allocate(size_t{c.pages} << os::kPageShift, os::kPageSize, size_class, owner, id, &zero);
    if (memory != nullptr) page = static_cast<uint32_t>(arena_->page_of(memory));
  }
  if (page == 0) {
    os::LockGuard guard(ids_lock_);
    mini_heap.next = unused_;
    unused_ = id;
    return 0;
  }
  for (auto& word : mini_heap.free_words) word.store(0, std::memory_order_relaxed);
  mini_heap.leader.store(id, std::memory_order_relaxed);
  mini_heap.size_class.store(static_cast<uint8_t>(size_class), std::memory_order_relaxed);
  mini_heap.members = 0;
  mini_heap.discarded = mini_heap.free_before = 0;
  mini_heap.page = page;
  mini_heap.next = mini_heap.previous = mini_heap.next_member = 0;
  if (is_meshable(size_class)) arena_->set_words(page, c.pages, PageWord::of(size_class, owner, id));
  mini_heap.bin.store(MiniHeap::kFull, std::memory_order_release);
  return id;
}

void GlobalHeap::release_span(MiniHeap& mini_heap) noexcept {
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed), page = mini_heap.page, pages = kSizeClasses[size_class].pages;
  mini_heap.bin.store(MiniHeap::kUnused, std::memory_order_seq_cst);
  if (is_meshable(size_class)) {
    arena_->set_words(page, pages, {0});
    arena_->free_span(page, pages);
  } else {
    large_->free(page);
  }
  os::LockGuard guard(ids_lock_);
  mini_heap.next = unused_;
  unused_ = id_of(mini_heap);
}

// The member's objects are all gone: its addresses become an ordinary free span.
void GlobalHeap::release_member(MiniHeap& leader, MiniHeap& member) noexcept {
  MiniHeap* before = &leader;
  while (before->next_member != id_of(member)) before = &mini_heaps_[before->next_member];
  before->next_member = member.next_member;
  leader.members--;
  member.bin.store(MiniHeap::kUnused, std::memory_order_seq_cst);
  uint32_t pages = kSizeClasses[member.size_class.load(std::memory_order_relaxed)].pages;
  arena_->set_words(member.page, pages, {0});
  arena_->free_alias(member.page, pages);
  saved_pages.fetch_sub(kSizeClasses[member.size_class.load(std::memory_order_relaxed)].pages, std::memory_order_relaxed);
  os::LockGuard guard(ids_lock_);
  member.next = unused_;
  unused_ = id_of(member);
}

Bits GlobalHeap::free_of(const MiniHeap& leader) const noexcept {
  Bits bits = leader.free();
  for (MiniHeapId id = leader.next_member; id != 0; id = mini_heaps_[id].next_member) {
    Bits other = mini_heaps_[id].free();
    for (int i = 0; i < 4; i++) bits.words[i] &= other.words[i];
  }
  return bits;
}

void GlobalHeap::take_from_bin(MiniHeap& leader) noexcept {
  uint32_t size_class = leader.size_class.load(std::memory_order_relaxed), bin = leader.bin.load(std::memory_order_relaxed);
  if (bin >= kBins) return;
  if (leader.next != 0) mini_heaps_[leader.next].previous = leader.previous;
  if (leader.previous != 0) mini_heaps_[leader.previous].next = leader.next;
  else bins_[size_class][bin] = leader.next;
  partial_[size_class].fetch_sub(1, std::memory_order_relaxed);
  leader.bin.store(MiniHeap::kFull, std::memory_order_seq_cst);
}

void GlobalHeap::list(MiniHeap& leader, uint32_t free_slots) noexcept {
  uint32_t size_class = leader.size_class.load(std::memory_order_relaxed);
  uint32_t bin = std::min(free_slots * kBins / kSizeClasses[size_class].slots, kBins - 1);
  if (leader.bin.load(std::memory_order_relaxed) == bin) return;
  take_from_bin(leader);
  leader.previous = 0;
  leader.next = bins_[size_class][bin];
  if (leader.next != 0) mini_heaps_[leader.next].previous = id_of(leader);
  bins_[size_class][bin] = id_of(leader);
  partial_[size_class].fetch_add(1, std::memory_order_relaxed);
  leader.bin.store(static_cast<uint8_t>(bin), std::memory_order_seq_cst);
}

void GlobalHeap::settle(MiniHeap& mini_heap) noexcept {
  MiniHeap& leader = mini_heaps_[mini_heap.leader.load(std::memory_order_relaxed)];
  if (&leader != &mini_heap && mini_heap.is_empty()) release_member(leader, mini_heap);
  uint32_t free_slots = free_of(leader).count();
  if (free_slots == kSizeClasses[leader.size_class.load(std::memory_order_relaxed)].slots) {
    // Nothing lives in the pages. Members whose last slot was freed just now are released by those who freed it, or here.
    while (leader.next_member != 0) release_member(leader, mini_heaps_[leader.next_member]);
    take_from_bin(leader);
    release_span(leader);
  } else if (free_slots == 0) {
    take_from_bin(leader);
  } else {
    list(leader, free_slots);
  }
}

// Called after the free bit was set. A span must not stay full for those who look for slots, nor keep its pages when nothing lives in it. The bit comes before
// these reads, and whoever changes `leader` or `bin` reads the bits again afterwards (settle, refill, SplitMesher): at least one side observes the other's store.
void GlobalHeap::note_freed(MiniHeap& mini_heap) noexcept {
  const MiniHeap& leader = mini_heaps_[mini_heap.leader.load(std::memory_order_seq_cst)];
  if (leader.bin.load(std::memory_order_seq_cst) != MiniHeap::kFull && !mini_heap.is_empty()) return;
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed);
  os::LockGuard guard(locks_[size_class]);
  // It may have been released meanwhile by another thread that freed, and even used again.
  if (mini_heap.bin.load(std::memory_order_acquire) == MiniHeap::kUnused || mini_heap.size_class.load(std::memory_order_relaxed) != size_class) return;
  settle(mini_heap);
}

uint32_t GlobalHeap::slot_of(const MiniHeap& mini_heap, const void* object) const noexcept {
  const SizeClass& c = kSizeClasses[mini_heap.size_class.load(std::memory_order_relaxed)];
  auto offset = static_cast<uint64_t>(static_cast<const uint8_t*>(object) - arena_->address(mini_heap.page));
  auto slot = static_cast<uint32_t>(offset * c.reciprocal >> 48);
  if (slot >= c.slots || slot * uint64_t{c.size} != offset) os::fail_fast("free of an address at which no object begins", object);
  return slot;
}

void GlobalHeap::free(void* object, PageWord word) noexcept {
  MiniHeap& mini_heap = mini_heaps_[word.index()];
  uint32_t slot = slot_of(mini_heap, object);
  uint64_t bit = uint64_t{1} << slot % 64;
  if ((mini_heap.free_words[slot / 64].fetch_or(bit, std::memory_order_seq_cst) & bit) != 0) os::fail_fast("double free", object);
  note_freed(mini_heap);
}

void GlobalHeap::flush_remote(ThreadLocalHeap& heap, uint32_t size_class) noexcept {
  // What a thread frees of another one's comes from few spans, in random order: gathered, each span takes one atomic operation for a word of its bits, and one look at whether it is to be
  // listed, instead of one for each object.
  constexpr uint32_t kGroups = 8;
  // Bits are cleared when a group begins: all of them at once would be a slow store that the first reads wait for.
  MiniHeapId ids[kGroups] = {};
  Bits freed[kGroups];
  auto free_group = [&](uint32_t group) noexcept {
    MiniHeap& mini_heap = mini_heaps_[ids[group]];
    for (int k = 0; k < 4; k++) {
      uint64_t bits = freed[group].words[k];
      if (bits != 0 && (mini_heap.free_words[k].fetch_or(bits, std::memory_order_seq_cst) & bits) != 0) {
        os::fail_fast("double free in a span that begins at", arena_->address(mini_heap.page));
      }
    }
    note_freed(mini_heap);
  };
  // The slot is found without the MiniHeap where a span is a page: its line is one that the owner's thread writes to.
  const SizeClass& c = kSizeClasses[size_class];
  auto slot_in_page = [&](const void* object) noexcept {
    uint64_t offset = reinterpret_cast<uintptr_t>(object) & (os::kPageSize - 1);
    auto slot = static_cast<uint32_t>(offset * c.reciprocal >> 48);
    if (slot >= c.slots || slot * uint64_t{c.size} != offset) os::fail_fast("free of an address at which no object begins", object);
    return slot;
  };
  ShuffleVector& vector = heap.remote[size_class];
  while (!vector.is_empty()) {
    void* object = vector.pop();
    PageWord word = arena_->word(object);
    // Freed by another thread too, and its span has become another one since.
    if (word.kind() != size_class) os::fail_fast("double free", object);
    MiniHeapId id = word.index();
    uint32_t group = id % kGroups;
    if (ids[group] != id) {
      if (ids[group] != 0) free_group(group);
      ids[group] = id;
      freed[group] = {};
    }
    uint32_t slot = c.pages == 1 ? slot_in_page(object) : slot_of(mini_heaps_[id], object);
    uint64_t bit = uint64_t{1} << slot % 64;
    if ((freed[group].words[slot / 64] & bit) != 0) os::fail_fast("double free", object);
    freed[group].words[slot / 64] |= bit;
  }
  for (uint32_t group = 0; group < kGroups; group++) {
    if (ids[group] != 0) free_group(group);
  }
}

void GlobalHeap::flush(ThreadLocalHeap& heap, uint32_t size_class, uint32_t count) noexcept {
  ShuffleVector& vector = heap.vectors[size_class];
  void** entries = vector.entries();
  // Neighbours in the vector are often of one span: one atomic operation for each word of its bits.
  for (uint32_t i = 0; i < count;) {
    MiniHeapId id = arena_->word(entries[i]).index();
    MiniHeap& mini_heap = mini_heaps_[id];
    Bits freed = {};
    for (; i < count; i++) {
      if (arena_->word(entries[i]).index() != id) break;
      uint32_t slot = slot_of(mini_heap, entries[i]);
      uint64_t bit = uint64_t{1} << slot % 64;
      if ((freed.words[slot / 64] & bit) != 0) os::fail_fast("double free", entries[i]);
      freed.words[slot / 64] |= bit;
    }
    for (int k = 0; k < 4; k++) {
      if (freed.words[k] != 0 && (mini_heap.free_words[k].fetch_or(freed.words[k], std::memory_order_seq_cst) & freed.words[k]) != 0) {
        os::fail_fast("double free in a span that begins at", arena_->address(mini_heap.page));
      }
    }
    note_freed(mini_heap);
  }
  vector.drop_first(count);
}

void GlobalHeap::set_owner(const MiniHeap& mini_heap, uint32_t owner) noexcept {
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed);
  if (arena_->word(mini_heap.page).owner() == owner) return;
  arena_->set_words(mini_heap.page, kSizeClasses[size_class].pages, PageWord::of(size_class, owner, id_of(mini_heap)));
}

// With the class's lock: all free slots of a span in a bin.
uint32_t GlobalHeap::take_slots(MiniHeap& leader, ThreadLocalHeap& heap) noexcept {
  uint32_t size_class = leader.size_class.load(std::memory_order_relaxed), size = kSizeClasses[size_class].size, taken = 0;
  take_from_bin(leader);
  ShuffleVector& vector = heap.vectors[size_class];
  Bits free = free_of(leader);
  uint8_t* start = arena_->address(leader.page);
  for (uint32_t i = 0; i < 4; i++) {
    if (free.words[i] == 0) continue;
    leader.free_words[i].fetch_and(~free.words[i], std::memory_order_seq_cst);
    for (uint64_t bits = free.words[i]; bits != 0; bits &= bits - 1, taken++) {
      vector.push(start + size_t{64 * i + static_cast<uint32_t>(__builtin_ctzll(bits))} * size);
    }
  }
  leader.discarded = leader.free_before = 0;
  set_owner(leader, heap.id);
  // It is full, unless something was freed just now by a thread that still saw it in its bin.
  if (free_of(leader).any()) settle(leader);
  return taken;
}

void GlobalHeap::put_in_order(uint32_t size_class) noexcept {
  for (uint32_t bin = 0; bin < kBins; bin++) {
    for (MiniHeapId id = bins_[size_class][bin], next; id != 0; id = next) {
      MiniHeap& leader = mini_heaps_[id];
      next = leader.next;
      uint32_t free_slots = free_of(leader).count();
      // What is empty or full by now is about to be settled by who made it so.
      if (free_slots != 0) list(leader, free_slots);
    }
  }
}

bool GlobalHeap::refill(ThreadLocalHeap& heap, uint32_t size_class) noexcept {
  const SizeClass& c = kSizeClasses[size_class];
  ShuffleVector& vector = heap.vectors[size_class];
  bool shuffled = is_meshable(size_class);
  uint32_t wanted = std::max(c.capacity / 2, c.slots), target = std::min(vector.batch * c.slots, wanted), spans = 0;
  {
    os::LockGuard guard(locks_[size_class]);
    for (uint32_t bin = 0; bin < kBins; bin++) {
      while (bins_[size_class][bin] != 0 && vector.count() < target && vector.room() >= c.slots) {
        uint32_t taken = take_slots(mini_heaps_[bins_[size_class][bin]], heap);
        if (shuffled) vector.shuffle_last(taken, heap.random);
        spans++;
      }
    }
  }
  if (spans == 0) {
    uint32_t first = 0, last = 0;
    while (vector.count() < target && vector.room() >= c.slots) {
      bool used = false;
      // A span that is being made is in no record yet, and no class's lock is held.
      heap.making.store(1, std::memory_order_relaxed);
      MiniHeapId id = make_span(size_class, heap.id, &used);
      heap.making.store(0, std::memory_order_release);
      if (id == 0) break;
      uint32_t page = mini_heaps_[id].page;
      // New neighbours are made present together: one system call instead of a fault each. Those that were in use are present.
      if (shuffled && vector.batch >= 4 && !used) {
        if (page != last && first != last) os::populate(arena_->address(first), size_t{last - first} << os::kPageShift);
        if (page != last) first = page;
        last = page + c.pages;
      }
      uint8_t* start = arena_->address(page);
      for (uint32_t i = c.slots; i-- > 0;) vector.push(start + size_t{i} * c.size);
      if (shuffled) vector.shuffle_last(c.slots, heap.random);
      spans++;
    }
    if (first != last) os::populate(arena_->address(first), size_t{last - first} << os::kPageShift);
  }
  // A thread that comes often asks for more at once.
  if (vector.batch * c.slots < wanted) vector.batch *= 2;
  return !vector.is_empty();
}

void GlobalHeap::discard_free_slots(uint32_t size_class, bool all) noexcept {
  const SizeClass& c = kSizeClasses[size_class];
  os::LockGuard guard(locks_[size_class]);
  for (uint32_t bin = 0; bin < kBins; bin++) {
    for (MiniHeapId id = bins_[size_class][bin]; id != 0; id = mini_heaps_[id].next) {
      MiniHeap& mini_heap = mini_heaps_[id];
      auto free = static_cast<uint8_t>(mini_heap.free().words[0]);
      // What has become free since the last look may soon be used again.
      uint8_t old = all ? free : free & mini_heap.free_before;
      mini_heap.free_before = free;
      for (uint32_t slot = 0; slot < c.slots && slot < 8; slot++) {
        if ((old & ~mini_heap.discarded & 1u << slot) == 0) continue;
        auto first = reinterpret_cast<uintptr_t>(arena_->address(mini_heap.page)) + size_t{slot} * c.size;
        uintptr_t from = (first + os::kPageSize - 1) & -os::kPageSize, to = (first + c.size) & -os::kPageSize;
        if (from < to) os::discard(reinterpret_cast<void*>(from), to - from);
        mini_heap.discarded |= static_cast<uint8_t>(1u << slot);
      }
    }
  }
}

void GlobalHeap::lock_everything() noexcept {
  heaps_lock_.lock();
  for (os::Lock& lock : locks_) lock.lock();
  arena_->lock().lock();
  large_->lock().lock();
  ids_lock_.lock();
}

bool GlobalHeap::try_lock_everything(uint64_t end) noexcept {
  os::Lock* all[kClasses + 4];
  uint32_t count = 0, held = 0;
  all[count++] = &heaps_lock_;
  for (os::Lock& lock : locks_) all[count++] = &lock;
  all[count++] = &arena_->lock();
  all[count++] = &large_->lock();
  all[count++] = &ids_lock_;
  while (held < count) {
    if (all[held]->try_lock()) {
      held++;
    } else if (os::nanoseconds() > end) {
      while (held > 0) all[--held]->unlock();
      return false;
    } else {
      os::pause(50);
    }
  }
  return true;
}

void GlobalHeap::unlock_everything() noexcept {
  ids_lock_.unlock();
  large_->lock().unlock();
  arena_->lock().unlock();
  for (os::Lock& lock : locks_) lock.unlock();
  heaps_lock_.unlock();
}

ClassFigures GlobalHeap::figures_of(uint32_t size_class) noexcept {
  ClassFigures figures = {};
  os::LockGuard guard(locks_[size_class]);
  for (MiniHeapId id = 1, end = mini_heap_end(); id < end; id++) {
    const MiniHeap& mini_heap = mini_heaps_[id];
    if (mini_heap.bin.load(std::memory_order_acquire) == MiniHeap::kUnused || mini_heap.size_class.load(std::memory_order_relaxed) != size_class) continue;
    uint32_t free = mini_heap.free().count();
    figures.spans++;
    figures.aliases += mini_heap.leader.load(std::memory_order_relaxed) != id;
    figures.slots += kSizeClasses[size_class].slots;
    figures.free_slots += free;
    figures.partial_spans += mini_heap.bin.load(std::memory_order_relaxed) < kBins;
  }
  return figures;
}

uint64_t GlobalHeap::cached_slots(uint32_t size_class) const noexcept {
  uint64_t count = 0;
  for (uint32_t i = 0; i < heap_count(); i++) count += heaps_[i]->vectors[size_class].count() + heaps_[i]->remote[size_class].count();
  return count;
}

}  // namespace freehold::mesh
