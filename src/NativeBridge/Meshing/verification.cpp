#include "verification.h"

#include "heap.h"
#include "no_signals.h"

namespace freehold::mesh {

// ---- The meshable arena ----

Violation MeshableArena::verify_list(const List& list, uint32_t pages, FreeSpans* found, uint64_t* sum) const noexcept {
  uint32_t fresh = fresh_page(), before = 0;
  uint64_t seen = 0;
  for (uint32_t page = list.first; page != 0; before = page, page = links_[page].next) {
    if (page + uint64_t{pages} > fresh) return {"a list of free spans leads to a page that was never used", "page", page, nullptr};
    seen += pages;
    // More than there are: the list is a circle, or crosses another one.
    if (found->addresses + seen > fresh) return {"the lists of free spans have more pages than were ever used", "page", page, address(page)};
    if (links_[page].previous != before) return {"a free span does not know the one before it", "page", page, address(page)};
    for (uint32_t i = 0; i < pages; i++) {
      if (word(page + i).bits != 0) return {"a page of a free span has an owner", "page", page + i, address(page + i)};
      if (!is_frozen(page + i) && links_[page + i].distance != 0)
        return {"a page of a free span has the memory of another one", "page", page + i, address(page + i)};
    }
  }
  if (list.last != before) return {"a list of free spans has another end", "pages of a span", pages, nullptr};
  found->addresses += seen;
  *sum += seen;
  return {};
}

Violation MeshableArena::verify(FreeSpans* found) const noexcept {
  uint32_t fresh = fresh_page(), end = static_cast<uint32_t>(meshable_size_ >> os::kPageShift);
  if (fresh == 0 || fresh > end) return {"the arena's first unused page is outside of it", "page", fresh, nullptr};
  uint64_t clean = 0;
  for (uint32_t pages = 1; pages <= kMaximalSpan; pages++) {
    if (Violation violation = verify_list(dirty_[pages], pages, found, &found->dirty); violation.is_found()) return violation;
    if (Violation violation = verify_list(clean_[pages], pages, found, &clean); violation.is_found()) return violation;
  }
  found->addresses += lost_pages_;
  for (uint32_t page = 1; page <= fresh; page++) found->mappings += links_[page].distance != links_[page - 1].distance;
  return {};
}

// ---- Large objects ----

Violation LargeObjects::verify(Runs* found) const noexcept {
  if (fresh_ < begin_ || fresh_ > committed_ || committed_ > end_) return {"the ends of the large objects are out of order", "page", fresh_, nullptr};
  uint64_t free_runs = 0, dirty_runs = 0;
  for (uint32_t page = begin_, pages; page < fresh_; page += pages) {
    const Run& first = run(page);
    auto wrong = [&](const char* what) noexcept { return Violation{what, "run at page", page, arena_->address(page)}; };
    pages = first.pages;
    if (!first.first || pages == 0 || pages > fresh_ - page) return wrong("no run begins where the one before it ends");
    for (uint32_t i = 1; i < pages; i++) {
      const Run& inside = run(page + i);
      if (inside.first || inside.free != (first.free && i == pages - 1)) return wrong("a page inside of a run looks like the begin or the end of one");
    }
    PageWord word = arena_->word(page);
    if (first.free) {
      free_runs++;
      dirty_runs += first.dirty;
      found->dirty += first.dirty ? pages : 0;
      if (run(page + pages - 1).pages != pages) return wrong("the end of a free run has another length");
      if (word.bits != 0) return wrong("a free run has an owner");
      continue;
    }
    found->used += pages;
    if (word.kind() == PageWord::kLarge) {
      if (word.index() != page) return wrong("the page of a large object names another one");
    } else if (word.kind() != 0 && word.kind() < kClasses && !is_meshable(word.kind())) {
      found->spans += pages;  // its MiniHeap knows the rest
    } else {
      return wrong("a used run has no owner");
    }
  }
  if (Violation violation = verify_lists(free_runs, dirty_runs); violation.is_found()) return violation;
  uint64_t counted = live_pages_.load(std::memory_order_relaxed);
  if (counted != found->used) return {"the count of pages of large objects is wrong", "pages counted", counted, nullptr};
  return {};
}

Violation LargeObjects::verify_lists(uint64_t free_runs, uint64_t dirty_runs) const noexcept {
  auto wrong = [&](const char* what, uint32_t page) noexcept { return Violation{what, "run at page", page, page < end_ ? arena_->address(page) : nullptr}; };
  auto is_free = [&](uint32_t page) noexcept { return page >= begin_ && page < fresh_ && run(page).first && run(page).free; };
  uint64_t listed = 0;
  for (uint32_t bin = 0; bin < kBins; bin++) {
    if (((occupied_[bin / 64] >> bin % 64 & 1) != 0) != (bins_[bin] != 0)) return {"what is known of a bin of free runs is wrong", "bin", bin, nullptr};
    for (uint32_t page = bins_[bin], before = 0; page != 0; before = page, page = run(page).next) {
      if (!is_free(page)) return wrong("a list of free runs leads to what is none", page);
      if (++listed > free_runs) return wrong("the lists of free runs have more than there are", page);
      if (bin_of(run(page).pages) != bin) return wrong("a free run is in the list of another length", page);
      if (run(page).previous != before) return wrong("a free run does not know the one before it", page);
    }
  }
  if (listed != free_runs) return {"a free run is in no list", "free runs listed", listed, nullptr};
  listed = 0;
  uint32_t last = 0;
  for (uint32_t page = newest_, before = 0; page != 0; before = page, page = run(page).older) {
    if (!is_free(page) || !run(page).dirty) return wrong("the list of runs that wait for their next use leads to what is none", page);
    if (++listed > dirty_runs) return wrong("the list of runs that wait for their next use has more than there are", page);
    if (run(page).newer != before) return wrong("a run that waits for its next use does not know the one before it", page);
    last = page;
  }
  if (listed != dirty_runs) return {"a run that waits for its next use is in no list", "runs listed", listed, nullptr};
  if (oldest_ != last) return wrong("the list of runs that wait for their next use has another end", oldest_);
  return {};
}

// ---- MiniHeaps ----

namespace {

// The slot that begins there, or the number of slots: none does.
uint32_t find_slot(const SizeClass& c, uint64_t offset) noexcept {
  auto slot = static_cast<uint32_t>(offset * c.reciprocal >> 48);
  return slot < c.slots && slot * uint64_t{c.size} == offset ? slot : c.slots;
}

}  // namespace

bool GlobalHeap::is_settled() const noexcept {
  for (uint32_t i = 0; i < heap_count(); i++) {
    if (heaps_[i]->making.load(std::memory_order_acquire) != 0) return false;
  }
  return true;
}

// What a MiniHeap says of its own span.
Violation GlobalHeap::verify_span(MiniHeapId id) const noexcept {
  const MiniHeap& mini_heap = mini_heaps_[id];
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed), page = mini_heap.page;
  uint8_t bin = mini_heap.bin.load(std::memory_order_acquire);
  auto wrong = [&](const char* what) noexcept {
    return Violation{what, "MiniHeap", id, page < arena_->size() >> os::kPageShift ? arena_->address(page) : nullptr};
  };
  if (size_class == 0 || size_class >= kClasses) return wrong("a span has no size class");
  const SizeClass& c = kSizeClasses[size_class];
  if (bin >= kBins && bin != MiniHeap::kFull && bin != MiniHeap::kMember) return wrong("a span is in a bin that does not exist");
  if (is_meshable(size_class) ? page == 0 || page + uint64_t{c.pages} > arena_->fresh_page() : !large_->is_used_run(page, c.pages))
    return wrong("a span has no pages");
  for (uint32_t i = 0; i < c.pages; i++) {
    PageWord word = arena_->word(page + i);
    if (word.index() != id || word.kind() != size_class) return wrong("a span's page does not name its MiniHeap");
    if (word.owner() == 0 || word.owner() > heap_count()) return wrong("a span's page names a thread's heap that does not exist");
  }
  Bits free = mini_heap.free(), valid = Bits::first(c.slots);
  for (int i = 0; i < 4; i++) {
    if ((free.words[i] & ~valid.words[i]) != 0) return wrong("a slot behind the last one of its span is free");
  }
  uint64_t discarded = mini_heap.discarded, before = mini_heap.free_before;
  if ((discarded & ~free.words[0]) != 0 || (is_meshable(size_class) && discarded != 0)) return wrong("the pages of a slot in use were given back");
  if ((before & ~free.words[0]) != 0) return wrong("a slot in use is said to have been free for a while");
  return {};
}

// What a MiniHeap says of the one that it has its pages from. Its own span is in order.
Violation GlobalHeap::verify_leader(MiniHeapId id) const noexcept {
  const MiniHeap& mini_heap = mini_heaps_[id];
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed);
  auto wrong = [&](const char* what) noexcept { return Violation{what, "MiniHeap", id, arena_->address(mini_heap.page)}; };
  MiniHeapId leader = mini_heap.leader.load(std::memory_order_relaxed);
  bool is_member = mini_heap.bin.load(std::memory_order_relaxed) == MiniHeap::kMember;
  if ((leader != id) != is_member) return wrong("a span is a member without a leader, or leads as a member");
  if (leader == 0 || leader >= mini_heap_end()) return wrong("a member's leader was never made");
  const MiniHeap& leads = mini_heaps_[leader];
  uint8_t bin = leads.bin.load(std::memory_order_relaxed);
  if (bin == MiniHeap::kUnused || bin == MiniHeap::kMember || leads.size_class.load(std::memory_order_relaxed) != size_class)
    return wrong("a member's leader does not lead");
  for (uint32_t i = 0; is_meshable(size_class) && i < kSizeClasses[size_class].pages; i++) {
    uint32_t page = mini_heap.page + i;
    if (!arena_->is_frozen(page) && arena_->distance(page) != static_cast<int32_t>(leads.page) - static_cast<int32_t>(mini_heap.page)) {
      return wrong("a span's addresses are said to name other pages than its leader's");
    }
  }
  return {};
}

// The chain that a MiniHeap is in: no circle, all of it members of its leader. Everybody's leader is in order.
Violation GlobalHeap::verify_chain(MiniHeapId id) const noexcept {
  const MiniHeap& mini_heap = mini_heaps_[id];
  uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed), count = 0;
  auto wrong = [&](const char* what) noexcept { return Violation{what, "MiniHeap", id, arena_->address(mini_heap.page)}; };
  MiniHeapId leader = mini_heap.leader.load(std::memory_order_relaxed);
  bool found = false;
  for (MiniHeapId other = leader; other != 0; other = mini_heaps_[other].next_member, count++) {
    if (other >= mini_heap_end()) return wrong("a chain of meshed spans leads to what was never made");
    if (count > SplitMesher::kMaximalMembers) return wrong("a chain of meshed spans is too long, or a circle");
    if (mini_heaps_[other].leader.load(std::memory_order_relaxed) != leader) return wrong("a chain of meshed spans has one of another leader");
    found |= other == id;
  }
  if (!found) return wrong("a leader does not know its member");
  if (leader != id) return {};
  if (count != mini_heap.members + 1u) return wrong("a leader's count of its members is wrong");
  // No slot of the shared pages lives twice. Bits are only cleared with the class's lock: what is full by now was full before.
  Bits valid = Bits::first(kSizeClasses[size_class].slots), live = {};
  for (MiniHeapId other = id; other != 0; other = mini_heaps_[other].next_member) {
    Bits lives = mini_heaps_[other].free();
    for (int i = 0; i < 4; i++) {
      lives.words[i] = ~lives.words[i] & valid.words[i];
      if ((lives.words[i] & live.words[i]) != 0) return wrong("a slot of meshed spans lives twice");
      live.words[i] |= lives.words[i];
    }
  }
  if (mini_heap.bin.load(std::memory_order_relaxed) < kBins && live == valid) return wrong("a span without a free slot is among those that have some");
  return {};
}

Violation GlobalHeap::verify_bins(uint32_t size_class, uint32_t partial) const noexcept {
  uint32_t listed = 0;
  for (uint32_t bin = 0; bin < kBins; bin++) {
    MiniHeapId before = 0;
    for (MiniHeapId id = bins_[size_class][bin]; id != 0; before = id, id = mini_heaps_[id].next) {
      if (id >= mini_heap_end()) return {"a list of spans with free slots leads to what was never made", "MiniHeap", id, nullptr};
      const MiniHeap& mini_heap = mini_heaps_[id];
      if (mini_heap.bin.load(std::memory_order_relaxed) != bin || mini_heap.size_class.load(std::memory_order_relaxed) != size_class) {
        return {"a span is in the list of another bin or class", "MiniHeap", id, nullptr};
      }
      if (++listed > partial) return {"the lists of spans with free slots have more than there are", "MiniHeap", id, nullptr};
      if (mini_heap.previous != before) return {"a span does not know the one before it in its list", "MiniHeap", id, nullptr};
    }
  }
  if (listed != partial) return {"a span with free slots is in no list", "size of the slots", kSizeClasses[size_class].size, nullptr};
  if (partial != partial_spans(size_class)) return {"the count of spans with free slots is wrong", "size of the slots", kSizeClasses[size_class].size, nullptr};
  return {};
}

// Each page that has an owner is one of that owner's span. The converse is verify_span's.
Violation GlobalHeap::verify_pages() const noexcept {
  for (uint32_t page = 0, end = arena_->fresh_page(); page < end; page++) {
    PageWord word = arena_->word(page);
    if (word.bits == 0) continue;
    bool good = word.kind() != 0 && word.kind() < kClasses && is_meshable(word.kind()) && word.index() != 0 && word.index() < mini_heap_end();
    if (good) {
      const MiniHeap& mini_heap = mini_heaps_[word.index()];
      good = mini_heap.bin.load(std::memory_order_acquire) != MiniHeap::kUnused && page - mini_heap.page < kSizeClasses[word.kind()].pages;
    }
    if (!good) return {"a page names a span that it is not in", "page", page, arena_->address(page)};
  }
  return {};
}

Violation GlobalHeap::verify_vector(const ThreadLocalHeap& heap, const ShuffleVector& vector, uint32_t size_class) const noexcept {
  auto wrong = [&](const char* what, const void* slot) noexcept { return Violation{what, "thread's heap", heap.id, slot}; };
  void* const* entries = vector.entries();
  for (uint32_t i = 0, count = vector.count(); i < count; i++) {
    void* slot = entries[i];
    if (!arena_->contains(slot)) return wrong("a thread keeps a slot that is outside of the heap", slot);
    PageWord word = arena_->word(slot);
    if (word.kind() != size_class) return wrong("a thread keeps a slot of another size", slot);
    const MiniHeap& mini_heap = mini_heaps_[word.index()];
    uint32_t number = find_slot(kSizeClasses[size_class], static_cast<uint64_t>(static_cast<const uint8_t*>(slot) - arena_->address(mini_heap.page)));
    if (number == kSizeClasses[size_class].slots) return wrong("a thread keeps an address at which no slot begins", slot);
    if ((mini_heap.free().words[number / 64] >> number % 64 & 1) != 0) return wrong("a slot that a thread keeps is free in its span too", slot);
    for (uint32_t k = 0; k < i; k++) {
      if (entries[k] == slot) return wrong("a thread keeps a slot twice: was an object freed twice?", slot);
    }
  }
  return {};
}

// What other threads keep changes while this runs: of theirs only the ends are looked at, and that dead ones keep nothing.
Violation GlobalHeap::verify_heaps(const ThreadLocalHeap& own) const noexcept {
  auto wrong = [](const char* what, uint32_t id) noexcept { return Violation{what, "thread's heap", id, nullptr}; };
  uint32_t count = heap_count(), unused = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ThreadLocalHeap& heap = *heaps_[i];
    if (heap.id != i + 1) return wrong("a thread's heap has another number", i + 1);
    void* const* entries = storage_of(heap);
    for (uint32_t c = 1; c < kClasses; c++) {
      if (!heap.vectors[c].is_valid(entries, kSizeClasses[c].capacity)) return wrong("a shuffle vector has other ends", heap.id);
      entries += kSizeClasses[c].capacity;
    }
    for (uint32_t c = 1; c < kClasses; c++) {
      if (!heap.remote[c].is_valid(entries, ThreadLocalHeap::remote_capacity(c))) return wrong("a list of other threads' objects has other ends", heap.id);
      entries += ThreadLocalHeap::remote_capacity(c);
    }
  }
  for (const ThreadLocalHeap* heap = unused_heaps_; heap != nullptr; heap = heap->next_unused) {
    if (heap->id == 0 || heap->id > count || heaps_[heap->id - 1] != heap) return wrong("the list of unused heaps leads to what is none", heap->id);
    if (++unused > count) return wrong("the list of unused heaps is a circle", heap->id);
    for (uint32_t c = 1; c < kClasses; c++) {
      if (!heap->vectors[c].is_empty() || !heap->remote[c].is_empty()) return wrong("the heap of no thread keeps slots", heap->id);
    }
  }
  if (own.id == ThreadLocalHeap::kNobody) return {};
  for (uint32_t c = 1; c < kClasses; c++) {
    if (Violation violation = verify_vector(own, own.vectors[c], c); violation.is_found()) return violation;
    if (Violation violation = verify_vector(own, own.remote[c], c); violation.is_found()) return violation;
  }
  return {};
}

Violation GlobalHeap::verify(const ThreadLocalHeap& own, SpanSums* found) const noexcept {
  uint32_t partial[kClasses] = {};
  MiniHeapId end = mini_heap_end(), unused = 0, in_use = 0;
  if (end > mini_heap_limit_) return {"the number of MiniHeaps is beyond what there can be", "MiniHeap", end, nullptr};
  for (MiniHeapId id = 1; id < end; id++) {
    const MiniHeap& mini_heap = mini_heaps_[id];
    uint8_t bin = mini_heap.bin.load(std::memory_order_acquire);
    if (bin == MiniHeap::kUnused) continue;
    in_use++;
    if (Violation violation = verify_span(id); violation.is_found()) return violation;
    if (Violation violation = verify_leader(id); violation.is_found()) return violation;
    uint32_t size_class = mini_heap.size_class.load(std::memory_order_relaxed), pages = kSizeClasses[size_class].pages;
    partial[size_class] += bin < kBins;
    if (!is_meshable(size_class)) found->large += pages;
    else found->addresses += pages, (bin == MiniHeap::kMember ? found->saved : found->memory) += pages;
  }
  for (MiniHeapId id = 1; id < end; id++) {
    if (mini_heaps_[id].bin.load(std::memory_order_acquire) == MiniHeap::kUnused) continue;
    if (Violation violation = verify_chain(id); violation.is_found()) return violation;
  }
  for (uint32_t i = 1; i < kClasses; i++) {
    if (Violation violation = verify_bins(i, partial[i]); violation.is_found()) return violation;
  }
  for (MiniHeapId id = unused_; id != 0; id = mini_heaps_[id].next) {
    if (id >= end || mini_heaps_[id].bin.load(std::memory_order_relaxed) != MiniHeap::kUnused)
      return {"the list of unused MiniHeaps leads to one that is used", "MiniHeap", id, nullptr};
    if (++unused > end) return {"the list of unused MiniHeaps is a circle", "MiniHeap", id, nullptr};
  }
  // A span that is being made has pages and an id, and no MiniHeap that says so yet.
  if (is_settled()) {
    if (in_use + unused + 1 != end) return {"a MiniHeap is neither used nor in the list of unused ones", "MiniHeaps", end - 1, nullptr};
    if (Violation violation = verify_pages(); violation.is_found()) return violation;
  }
  return verify_heaps(own);
}

// ---- All of it ----

namespace {

Violation compare(const char* what, uint64_t counted, uint64_t found) noexcept {
  if (counted == found) return {};
  return {what, "what is counted", counted, nullptr};
}

// With all locks.
Violation verify_all(Heap& heap, const ThreadLocalHeap& own) noexcept {
  SpanSums spans;
  FreeSpans free_spans;
  Runs runs;
  // Runs first: spans that do not mesh are runs.
  if (Violation violation = heap.large.verify(&runs); violation.is_found()) return violation;
  if (Violation violation = heap.arena.verify(&free_spans); violation.is_found()) return violation;
  if (Violation violation = heap.global.verify(own, &spans); violation.is_found()) return violation;
  // The sums mean something only when nobody is between two records.
  if (!heap.global.is_settled()) return {};
  for (const Violation& violation : {
           compare("a page is neither in a span nor in a list of free spans, or in two of them", heap.arena.fresh_page() - 1,
                   spans.addresses + free_spans.addresses),
           compare("a run is said to be a span, and no MiniHeap has it", runs.spans, spans.large),
           compare("the count of used pages is wrong", heap.arena.used_pages(), spans.memory + runs.used),
           compare("the count of pages that wait for their next use is wrong", heap.arena.dirty_pages(), free_spans.dirty + runs.dirty),
           compare("the count of the kernel's mappings is wrong", static_cast<uint64_t>(heap.arena.mappings()), free_spans.mappings),
           compare("the count of pages that meshing saves is wrong", static_cast<uint64_t>(heap.global.saved_pages.load(std::memory_order_relaxed)),
                   spans.saved),
       }) {
    if (violation.is_found()) return violation;
  }
  return {};
}

// Of the thread that has asked: it may print it when another one asks too.
thread_local constinit char description[192] __attribute__((tls_model("initial-exec"))) = {};

}  // namespace

const char* verify() noexcept {
  if (heap.state.load(std::memory_order_acquire) != 2) return nullptr;
  Violation violation;
  // A thread that makes a span goes on when the locks are free. Where some always do, the sums are left out.
  constexpr int kTries = 50;
  bool settled = false;
  for (int i = 0; i < kTries && !settled; i++) {
    NoSignals no_signals;
    heap.mesher.lock().lock();
    heap.global.lock_everything();
    settled = heap.global.is_settled();
    if (settled || i == kTries - 1) violation = verify_all(heap, *thread_heap);
    heap.global.unlock_everything();
    heap.mesher.lock().unlock();
    if (!settled) os::pause(50);
  }
  return freehold::os::describe(violation, description, sizeof description);
}

}  // namespace freehold::mesh
