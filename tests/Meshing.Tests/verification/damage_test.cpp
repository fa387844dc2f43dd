// The verifier finds damage in each kind of record, names it and its place, and finds nothing when the damage is undone. Compiled without access control: the records are private.
#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

// A heap with records of every kind.
class DamageTest : public MeshTest {
 protected:
  void configure(Knobs& k) override { k.decay = INT32_MAX; }
  void SetUp() override {
    MeshTest::SetUp();
    if (heap.barrier.kind() == BarrierKind::kNone) GTEST_SKIP() << "nothing meshes here";
    // Chains of meshed spans, and spans of every bin.
    kept_ = sparse(256, 16'000, 40);
    compact();
    more_ = sparse(64, 20'000, 7);
    // Spans that do not mesh; some slots of them are free, and their pages were given back.
    for (int i = 0; i < 400; i++) pages_.push_back(static_cast<uint64_t*>(allocate(8192)));
    for (size_t i = 0; i < pages_.size(); i += 3) deallocate(std::exchange(pages_[i], nullptr));
    // Large objects; between them runs that wait for their next use, and runs that do not.
    for (int i = 0; i < 12; i++) large_.push_back(allocate(100'000 + static_cast<size_t>(i) * 40'000));
    for (size_t i = 0; i < large_.size(); i += 4) deallocate(std::exchange(large_[i], nullptr));
    compact();
    // Free spans, with memory and without, and unused MiniHeaps.
    for (size_t size : {256, 1024, 1792}) free_all(sparse(size, 8000, 1));
    flush_own();
    purge();
    for (size_t i = 2; i < large_.size(); i += 4) deallocate(std::exchange(large_[i], nullptr));
    free_all(sparse(256, 4000, 1));
    flush_own();
    std::thread([&] {
      free_all(sparse(128, 1000, 1));
      leave_heap();
    }).join();
    free_all(sparse(48, 300, 1));
    remote_ = std::vector<uint64_t*>();
    std::thread([&] {
      remote_ = sparse(96, 20, 1);
      leave_heap();
    }).join();
    for (size_t i = 0; i < 10; i++) deallocate(remote_[i]);
    ASSERT_STREQ(verify() == nullptr ? "" : verify(), "");
  }

  void TearDown() override {
    if (heap.barrier.kind() != BarrierKind::kNone) {
      expect_intact(kept_, 256);
      free_all(kept_);
      free_all(more_);
      for (uint64_t* object : pages_) deallocate(object);
      for (void* object : large_) deallocate(object);
      for (size_t i = 10; i < remote_.size(); i++) deallocate(remote_[i]);
      compact();
      EXPECT_EQ(heap.arena.used_pages(), 0u);
    }
    MeshTest::TearDown();
  }

  // Slots of these classes go back to their spans, so that the spans become free.
  static void flush_own() {
    for (uint32_t c = 1; c < kClasses; c++) heap.global.flush(*thread_heap, c, thread_heap->vectors[c].count());
  }

  // A word gets another value; the verifier says so, with the number of the record if it is given.
  template <typename Word, typename Value>
  static void expect_found(const char* what, Word& word, Value damaged, const std::string& where = "") {
    auto before = static_cast<Value>(word);
    ASSERT_NE(before, damaged) << what << ": that is no damage";
    word = damaged;
    const char* found = verify();
    std::string text = found == nullptr ? "nothing" : found;
    word = before;
    EXPECT_NE(text.find(what), std::string::npos) << "expected: " << what << "; found: " << text;
    EXPECT_NE(text.find(where), std::string::npos) << "expected at: " << where << "; found: " << text;
    EXPECT_EQ(verify(), nullptr) << "undone: " << what;
  }

  template <typename Wanted>
  static MiniHeapId find(Wanted wanted) {
    for (MiniHeapId id = 1; id < heap.global.mini_heap_end(); id++) {
      if (heap.global[id].bin.load() != MiniHeap::kUnused && wanted(heap.global[id])) return id;
    }
    ADD_FAILURE() << "no such MiniHeap";
    return 1;
  }
  static bool leads_partly(const MiniHeap& m) { return m.bin.load() < GlobalHeap::kBins; }
  static MiniHeapId member() {
    return find([](const MiniHeap& m) { return m.bin.load() == MiniHeap::kMember; });
  }
  static MiniHeapId leader_of_many() {
    return find([](const MiniHeap& m) { return m.members >= 2; });
  }
  static MiniHeapId alone() {
    return find([](const MiniHeap& m) { return leads_partly(m) && m.members == 0 && is_meshable(m.size_class) && m.next != 0; });
  }
  static std::string mini_heap(MiniHeapId id) { return "(MiniHeap " + std::to_string(id) + ","; }

  // A free run of the large objects.
  template <typename Wanted>
  static uint32_t find_run(Wanted wanted) {
    LargeObjects& l = heap.large;
    for (uint32_t page = l.begin_; page < l.fresh_; page += l.run(page).pages) {
      if (wanted(l.run(page))) return page;
    }
    ADD_FAILURE() << "no such run";
    return l.begin_;
  }

  std::vector<uint64_t*> kept_, more_, pages_, remote_;
  std::vector<void*> large_;
};

TEST_F(DamageTest, Bits) {
  MiniHeapId id = find([](const MiniHeap& m) { return m.bin.load() != MiniHeap::kMember && kSizeClasses[m.size_class].slots < 256; });
  expect_found("a slot behind the last one of its span is free", heap.global[id].free_words[3], heap.global[id].free_words[3] | uint64_t{1} << 63,
               mini_heap(id));
  // A slot that lives in a member, and by the damage in the leader too.
  id = leader_of_many();
  const MiniHeap& partner = heap.global[heap.global[id].next_member];
  int word = 0;
  while ((~partner.free_words[word].load() & kAllSlots[partner.size_class].words[word]) == 0) word++;
  uint64_t lives = ~partner.free_words[word].load() & kAllSlots[partner.size_class].words[word];
  expect_found("a slot of meshed spans lives twice", heap.global[id].free_words[word], heap.global[id].free_words[word] & ~lives, "MiniHeap");
  // A full span in a bin: each word by itself is in order.
  MiniHeap& one = heap.global[alone()];
  uint64_t before[4];
  for (int i = 0; i < 4; i++) before[i] = one.free_words[i].exchange(0);
  const char* found = verify();
  EXPECT_NE(std::string(found == nullptr ? "nothing" : found).find("without a free slot"), std::string::npos) << found;
  for (int i = 0; i < 4; i++) one.free_words[i] = before[i];
  id = find([](const MiniHeap& m) { return m.discarded != 0; });
  uint64_t slots = heap.global[id].free_words[0];
  expect_found("the pages of a slot in use were given back", heap.global[id].free_words[0], slots & (slots - 1), mini_heap(id));
  expect_found("the pages of a slot in use were given back", one.discarded, 1);
  id = find([](const MiniHeap& m) { return !is_meshable(m.size_class) && (~m.free_words[0] & 0xff) != 0; });
  expect_found("a slot in use is said to have been free for a while", heap.global[id].free_before, 0xff, mini_heap(id));
}

TEST_F(DamageTest, SpanTables) {
  MiniHeapId id = alone();
  MiniHeap& m = heap.global[id];
  MeshableArena& arena = heap.arena;
  expect_found("a span has no size class", m.size_class, 0, mini_heap(id));
  expect_found("a span has no size class", m.size_class, kClasses, mini_heap(id));
  expect_found("a span's page does not name its MiniHeap", m.size_class, m.size_class + 1, mini_heap(id));
  expect_found("a span is in a bin that does not exist", m.bin, GlobalHeap::kBins, mini_heap(id));
  expect_found("a span has no pages", m.page, arena.fresh_page());
  expect_found("a span has no pages", m.page, UINT32_MAX);
  expect_found("a span's page does not name its MiniHeap", m.page, m.page + 1);
  auto& word = arena.words_[m.page];
  PageWord now{word};
  expect_found("a span's page does not name its MiniHeap", word, PageWord::of(now.kind(), now.owner(), now.index() + 1).bits, mini_heap(id));
  expect_found("a span's page does not name its MiniHeap", word, PageWord::of(PageWord::kLarge, now.owner(), now.index()).bits, mini_heap(id));
  expect_found("a span's page names a thread's heap that does not exist", word, PageWord::of(now.kind(), 0x7777, now.index()).bits, mini_heap(id));
  // A span that is not known any more: its pages are nobody's, and it is in a list of the used ones.
  expect_found("", m.bin, MiniHeap::kUnused);
  uint32_t page = arena.clean_[1].first != 0 ? arena.clean_[1].first : arena.dirty_[1].first;
  ASSERT_NE(page, 0u);
  expect_found("a page of a free span has an owner", arena.words_[page], PageWord::of(1, 1, id).bits, "(page " + std::to_string(page));
  MiniHeapId large = find([](const MiniHeap& one) { return !is_meshable(one.size_class); });
  expect_found("a span has no pages", heap.global[large].page, heap.global[large].page + 1, mini_heap(large));
}

TEST_F(DamageTest, PartnersOfAMesh) {
  MiniHeapId id = member(), leader = heap.global[id].leader, many = leader_of_many(), other = alone();
  MiniHeap& m = heap.global[id];
  expect_found("a span is a member without a leader, or leads as a member", m.leader, id, mini_heap(id));
  expect_found("a member's leader was never made", m.leader, heap.global.mini_heap_end(), mini_heap(id));
  expect_found("", m.leader, other);
  expect_found("a span is a member without a leader, or leads as a member", heap.global[other].leader, leader, mini_heap(other));
  expect_found("a span is a member without a leader, or leads as a member", heap.global[other].bin, MiniHeap::kMember, mini_heap(other));
  MiniHeap& leads = heap.global[many];
  expect_found("a leader", leads.next_member, 0u);
  expect_found("a chain of meshed spans leads to what was never made", leads.next_member, heap.global.mini_heap_end());
  expect_found("a chain of meshed spans has one of another leader", leads.next_member, other);
  expect_found("a chain of meshed spans is too long, or a circle", heap.global[leads.next_member].next_member, leads.next_member);
  expect_found("a leader's count of its members is wrong", leads.members, leads.members - 1, mini_heap(many));
  expect_found("name other pages than its leader's", heap.arena.links_[m.page].distance, 0, mini_heap(id));
  expect_found("name other pages than its leader's", heap.arena.links_[leads.page].distance, 1, mini_heap(many));
}

TEST_F(DamageTest, ListsOfSpansWithFreeSlots) {
  MiniHeapId id = alone();
  MiniHeap& m = heap.global[id];
  uint32_t c = m.size_class, bin = m.bin;
  auto& head = heap.global.bins_[c][bin];
  expect_found("a span with free slots is in no list", head, 0u, std::to_string(kSizeClasses[c].size));
  expect_found("a span with free slots is in no list", m.next, 0u);
  expect_found("a list of spans with free slots leads to what was never made", head, heap.global.mini_heap_end());
  expect_found("a span is in the list of another bin or class", m.next, member());
  expect_found("", m.next, id);
  expect_found("a span does not know the one before it in its list", heap.global[m.next].previous, 0u);
  expect_found("a span is in the list of another bin or class", m.bin, (bin + 1) % GlobalHeap::kBins, mini_heap(id).substr(0, mini_heap(id).size() - 1));
  expect_found("the count of spans with free slots is wrong", heap.global.partial_[c], heap.global.partial_[c] + 1, std::to_string(kSizeClasses[c].size));
}

TEST_F(DamageTest, UnusedMiniHeaps) {
  auto& head = heap.global.unused_;
  ASSERT_NE(head, 0u);
  ASSERT_NE(heap.global[head].next, 0u);
  expect_found("a MiniHeap is neither used nor in the list of unused ones", head, 0u);
  expect_found("the list of unused MiniHeaps leads to one that is used", head, alone());
  expect_found("the list of unused MiniHeaps leads to one that is used", heap.global[head].next, heap.global.mini_heap_limit_);
  expect_found("the list of unused MiniHeaps is a circle", heap.global[head].next, head);
  expect_found("a MiniHeap is neither used nor in the list of unused ones", heap.global[head].next, 0u);
  auto& end = heap.global.mini_heap_end_;
  expect_found("the number of MiniHeaps is beyond what there can be", end, heap.global.mini_heap_limit_ + 1);
}

TEST_F(DamageTest, FreeSpans) {
  MeshableArena& arena = heap.arena;
  for (MeshableArena::List* lists : {arena.dirty_, arena.clean_}) {
    uint32_t pages = 1;
    while (pages <= MeshableArena::kMaximalSpan && (lists[pages].first == 0 || lists[pages].first == lists[pages].last)) pages++;
    ASSERT_LE(pages, MeshableArena::kMaximalSpan) << "no list with two spans";
    MeshableArena::List& list = lists[pages];
    MeshableArena::Link& link = arena.links_[list.first];
    expect_found("a list of free spans has another end", list.first, 0u);
    expect_found("a list of free spans has another end", list.last, list.first);
    expect_found("a list of free spans leads to a page that was never used", list.first, arena.fresh_page());
    expect_found("a list of free spans has another end", link.next, 0u);
    expect_found("a free span does not know the one before it", link.previous, list.last);
    expect_found("", link.next, list.first);
    expect_found("a page of a free span has the memory of another one", link.distance, 3, "(page " + std::to_string(list.first));
    // Both ends agree that there is none: what was in the list is nowhere.
    MeshableArena::List before = std::exchange(list, {});
    const char* found = verify();
    EXPECT_NE(std::string(found == nullptr ? "nothing" : found).find("a page is neither in a span nor in a list of free spans"), std::string::npos) << found;
    list = before;
  }
  expect_found("in a list of free spans, or in two", arena.lost_pages_, uint64_t{1});
  expect_found("the arena's first unused page is outside of it", arena.fresh_, UINT32_MAX);
  expect_found("in a list of free spans, or in two", arena.fresh_, arena.fresh_page() + 8);
}

TEST_F(DamageTest, Counts) {
  MeshableArena& arena = heap.arena;
  for (int64_t more : {-1, 1}) {
    expect_found("the count of the kernel's mappings is wrong", arena.mappings_, arena.mappings() + more);
    expect_found("the count of used pages is wrong", arena.used_pages_, arena.used_pages() + static_cast<uint64_t>(more));
    expect_found("the count of pages that wait for their next use is wrong", arena.dirty_pages_, arena.dirty_pages() + static_cast<uint64_t>(more));
    expect_found("the count of pages that meshing saves is wrong", heap.global.saved_pages, heap.global.saved_pages.load() + more);
    expect_found("the count of pages of large objects is wrong", heap.large.live_pages_, heap.large.live_pages_.load() + static_cast<uint64_t>(more));
  }
}

TEST_F(DamageTest, RunsOfLargeObjects) {
  LargeObjects& l = heap.large;
  auto where = [](uint32_t page) { return "(run at page " + std::to_string(page); };
  auto kind_of = [](const LargeObjects::Run& run) { return heap.arena.word(static_cast<size_t>(&run - heap.large.runs_) + heap.large.begin_).kind(); };
  uint32_t used = find_run([&](const LargeObjects::Run& run) { return !run.free && kind_of(run) == PageWord::kLarge; });
  uint32_t free = find_run([](const LargeObjects::Run& run) { return run.free && run.pages > 2; });
  uint32_t dirty = find_run([](const LargeObjects::Run& run) { return run.free && run.dirty; });
  uint32_t span = find_run([&](const LargeObjects::Run& run) { return !run.free && kind_of(run) < kClasses; });
  expect_found("no run begins where the one before it ends", l.run(used).first, false, where(used));
  expect_found("no run begins where the one before it ends", l.run(used).pages, 0u, where(used));
  expect_found("no run begins where the one before it ends", l.run(used).pages, UINT32_MAX, where(used));
  expect_found("no run begins where the one before it ends", l.run(used).pages, l.run(used).pages - 1, where(used + l.run(used).pages - 1));
  expect_found("looks like the begin or the end of one", l.run(used + 1).first, true, where(used));
  expect_found("looks like the begin or the end of one", l.run(used + 1).free, true, where(used));
  expect_found("the end of a free run has another length", l.run(free + l.run(free).pages - 1).pages, 1u, where(free));
  expect_found("looks like the begin or the end of one", l.run(free).free, false, where(free));
  expect_found("a free run has an owner", heap.arena.words_[free], PageWord::of(PageWord::kLarge, 0, free).bits, where(free));
  expect_found("the page of a large object names another one", heap.arena.words_[used], PageWord::of(PageWord::kLarge, 0, used + 1).bits, where(used));
  expect_found("a used run has no owner", heap.arena.words_[used], uint64_t{0}, where(used));
  expect_found("", heap.arena.words_[span], PageWord::of(PageWord::kLarge, 0, span).bits);
  expect_found("a run is said to be a span, and no MiniHeap has it", heap.arena.words_[used], PageWord::of(kClasses - 1, 1, 1).bits);
  uint32_t bin = LargeObjects::bin_of(l.run(free).pages);
  expect_found("what is known of a bin of free runs is wrong", l.occupied_[bin / 64], l.occupied_[bin / 64] ^ uint64_t{1} << bin % 64, std::to_string(bin));
  expect_found("a list of free runs leads to what is none", l.bins_[bin], used);
  expect_found("a free run does not know the one before it", l.run(free).previous, used);
  expect_found("", l.run(l.bins_[bin]).next, l.bins_[bin]);
  expect_found("the list of runs that wait for their next use leads to what is none", l.newest_, used);
  expect_found("a run that waits for its next use is in no list", l.newest_, 0u);
  expect_found("a run that waits for its next use does not know the one before it", l.run(dirty).newer, used);
  expect_found("the list of runs that wait for their next use has another end", l.oldest_, used);
  expect_found("", l.run(dirty).dirty, false);
  expect_found("the ends of the large objects are out of order", l.committed_, l.fresh_ - 1);
  // Each run is in a list of its own: the lists do not have it twice, nor lose one when all of them agree.
  uint32_t head = l.bins_[bin];
  uint64_t occupied = l.occupied_[bin / 64];
  l.bins_[bin] = 0;
  l.occupied_[bin / 64] &= ~(uint64_t{1} << bin % 64);
  const char* found = verify();
  EXPECT_NE(std::string(found == nullptr ? "nothing" : found).find("a free run is in no list"), std::string::npos) << found;
  l.bins_[bin] = head;
  l.occupied_[bin / 64] = occupied;
}

TEST_F(DamageTest, HeapsOfThreads) {
  ThreadLocalHeap& own = *thread_heap;
  std::string where = "(thread's heap " + std::to_string(own.id);
  expect_found("a thread's heap has another number", own.id, own.id + 1);
  ShuffleVector& vector = own.vectors[class_of(48)];
  ASSERT_GE(vector.count(), 3u);
  expect_found("a shuffle vector has other ends", vector.bottom_, vector.bottom_ + 1, where);
  expect_found("a shuffle vector has other ends", vector.limit_, vector.limit_ + 1, where);
  expect_found("a shuffle vector has other ends", vector.top_, vector.limit_ + 1, where);
  expect_found("a list of other threads' objects has other ends", own.remote[1].top_, own.remote[1].bottom_ - 1, where);
  // A dead thread's heap.
  ThreadLocalHeap* unused = heap.global.unused_heaps_;
  ASSERT_NE(unused, nullptr);
  expect_found("the list of unused heaps is a circle", unused->next_unused, unused);
  expect_found("the list of unused heaps leads to what is none", heap.global.unused_heaps_, &nobodys_heap);
  expect_found("the heap of no thread keeps slots", unused->vectors[3].top_, unused->vectors[3].bottom_ + 1);
}

TEST_F(DamageTest, SlotsThatAThreadKeeps) {
  ThreadLocalHeap& own = *thread_heap;
  for (ShuffleVector* vector : {&own.vectors[class_of(48)], &own.remote[class_of(96)]}) {
    ASSERT_GE(vector->count(), 3u);
    void** entries = vector->entries();
    int local = 0;
    expect_found("a thread keeps a slot that is outside of the heap", entries[1], static_cast<void*>(&local));
    expect_found("a thread keeps a slot of another size", entries[1], static_cast<void*>(kept_[0]));
    expect_found("a thread keeps an address at which no slot begins", entries[1], static_cast<void*>(static_cast<char*>(entries[1]) + 8));
    expect_found("a thread keeps a slot twice", entries[1], entries[0]);
    void* slot = entries[1];
    MiniHeap& mini_heap = heap.global[heap.arena.word(slot).index()];
    uint32_t number = heap.global.slot_of(mini_heap, slot);
    auto& bits = mini_heap.free_words[number / 64];
    expect_found("a slot that a thread keeps is free in its span too", bits, bits | uint64_t{1} << number % 64);
  }
}

// What a program does: the same object is freed twice with another one in between, which no free notices yet.
TEST_F(DamageTest, ADoubleFreeThatHasNotBeenNoticedYet) {
  void* object = allocate(512);
  void* other = allocate(512);
  deallocate(object);
  deallocate(other);
  EXPECT_EQ(verify(), nullptr);
  deallocate(object);
  const char* found = verify();
  EXPECT_NE(std::string(found == nullptr ? "nothing" : found).find("a thread keeps a slot twice: was an object freed twice?"), std::string::npos) << found;
  ASSERT_EQ(allocate(512), object);
  ASSERT_EQ(allocate(512), other);
  deallocate(other);
  ASSERT_EQ(verify(), nullptr);
}

}  // namespace
}  // namespace freehold::mesh::testing
