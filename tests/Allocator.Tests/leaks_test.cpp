// Leaks by type and by where they were allocated, and what is sampled for that.
#include "heap/leaks.h"

#include <map>
#include <random>

#include "heap/allocation_samples.h"
#include "heap/classification.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using heap::LeakEntry;
using heap::MarkingResult;

// The stack of whoever allocates now: one frame.
uintptr_t place = 1;

class LeaksTest : public ReachabilityTest {
 protected:
  static constexpr heap::RemapSupport kRemapSupport = {[](void (*)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                         stopped(argument);
                                                         return true;
                                                       },
                                                       [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};

  void SetUp() override {
    ReachabilityTest::SetUp();
    heap::set_remap_support(&kRemapSupport);
    heap::set_stack_walker([](heap::StackOf, uintptr_t* addresses, size_t) -> size_t {
      addresses[0] = place;
      return place != 0 ? 1 : 0;
    });
    place = 1;
  }
  void TearDown() override {
    ReachabilityTest::TearDown();
    heap::set_stack_walker(nullptr);
    heap::set_remap_support(nullptr);
  }
  void configure(core::Knobs& knobs) override {
    ReachabilityTest::configure(knobs);
    knobs.reclaim = core::Reclaim::kReport;
    knobs.promotion = true;
  }

  Object* allocate_at(uintptr_t where, const core::MethodTable* type, uint32_t length = 0) {
    place = where;
    return allocate(type, length);
  }

  struct Found {
    uint64_t objects = 0, bytes = 0, samples = 0;
    std::map<uintptr_t, uint64_t> sites;  // bytes that samples stand for, or exact ones
    uint64_t sampled() const {
      uint64_t sum = 0;
      for (auto [site, bytes] : sites) sum += bytes;
      return sum;
    }
    double share(uintptr_t site) const { return sites.count(site) != 0 ? static_cast<double>(sites.at(site)) / static_cast<double>(sampled()) : 0; }
  };
  static std::map<const core::MethodTable*, Found> leaks(size_t capacity = 1024) {
    std::vector<LeakEntry> entries(capacity);
    EXPECT_EQ(heap::find_leaks(entries.data(), capacity), MarkingResult::kDone);
    std::map<const core::MethodTable*, Found> found;
    for (const LeakEntry& entry : entries) {
      if (entry.type == nullptr) continue;
      Found& of_type = found[entry.type];
      if (entry.samples == 0) {
        of_type.objects += entry.objects;
        of_type.bytes += entry.bytes;
      }
      of_type.samples += entry.samples;
      uintptr_t site;
      if (entry.stack != heap::kNoStack && heap::read_stack(entry.stack, &site, 1) == 1) of_type.sites[site] += entry.bytes;
    }
    return found;
  }
  static size_t samples() {
    size_t count = 0;
    heap::for_each_sample([](const heap::AllocationSample&, void* count) noexcept { ++*static_cast<size_t*>(count); }, &count);
    return count;
  }
};

constexpr size_t kSmall = 24, kNode = 40;

TEST_F(LeaksTest, NothingIsChangedByLooking) {
  Object *lost = node(), *held = node(), *root = node({held}), *finalizable = allocate(&finalizable_node_type.table), *deleted = node();
  add_root(root);
  weak.push_back(address(lost));
  heap::delete_object(deleted);
  for (int i = 0; i < 3; i++) {
    auto found = leaks();
    EXPECT_EQ(found[&node_type.table].objects, 1u);
    EXPECT_EQ(found[&node_type.table].bytes, kNode);
    EXPECT_EQ(found[&finalizable_node_type.table].objects, 1u);
  }
  EXPECT_EQ(weak[0], address(lost));
  EXPECT_EQ(finalizer_requests, 0);
  EXPECT_FALSE(heap::is_deleted(lost));
  EXPECT_FALSE(heap::is_deleted(finalizable));
  EXPECT_EQ(heap::finalizable_count(), 0u);
  expect_valid("three reports");
}

// Objects of a loop of 64 and of 128 bytes, which fill pages without rest.
TEST_F(LeaksTest, SitesOfALoopAreMetByTheirShare) {
  constexpr int kRounds = 400'000;
  for (int i = 0; i < kRounds; i++) {
    allocate_at(1, &small_type.table);
    allocate_at(2, &node_type.table);
    allocate_at(3, &small_type.table);
    allocate_at(4, &node_type.table);
  }
  auto found = leaks();
  EXPECT_EQ(found[&small_type.table].objects, 2u * kRounds);
  EXPECT_EQ(found[&node_type.table].objects, 2u * kRounds);
  for (uintptr_t site : {1u, 3u}) EXPECT_NEAR(found[&small_type.table].share(site), 0.5, 0.25) << site;
  for (uintptr_t site : {2u, 4u}) EXPECT_NEAR(found[&node_type.table].share(site), 0.5, 0.25) << site;
  // One for half a megabyte, of each type by its bytes.
  double samples = static_cast<double>(kRounds) * 2 * (kSmall + kNode) / static_cast<double>(heap::kBytesPerSample);
  uint64_t met = found[&small_type.table].samples + found[&node_type.table].samples;
  EXPECT_NEAR(static_cast<double>(met), samples, samples / 2);
  EXPECT_NEAR(static_cast<double>(found[&node_type.table].samples) / static_cast<double>(met), static_cast<double>(kNode) / (kSmall + kNode), 0.25);
  expect_valid("fillers between");
}

// The same where chunks end early and at the same object, as where compactions take them.
TEST_F(LeaksTest, SitesOfALoopAreMetByTheirShareInShortChunks) {
  constexpr int kRounds = 800'000, kRoundsOfAChunk = 1024;
  for (int i = 0; i < kRounds; i++) {
    if (i % kRoundsOfAChunk == 0) heap::close_chunk(&context_);
    for (uintptr_t site : {1u, 2u}) {
      allocate_at(site, &small_type.table);
      allocate_at(site, &node_type.table);
    }
  }
  auto found = leaks();
  for (const core::MethodTable* type : {&small_type.table, &node_type.table}) {
    for (uintptr_t site : {1u, 2u}) EXPECT_NEAR(found[type].share(site), 0.5, 0.25) << site;
  }
  expect_valid("fillers at the beginnings of chunks");
}

// Finalizable and pinned objects all come by the heap's own path, most others do not: they are met no more often for that.
TEST_F(LeaksTest, ObjectsWithFinalizersAndPinnedOnesAreMetByTheirShare) {
  constexpr int kRounds = 200'000, kOthers = 18;
  for (int i = 0; i < kRounds; i++) {
    for (int other = 0; other < kOthers; other++) allocate_at(1, &node_type.table);
    allocate_at(2, &finalizable_node_type.table);
    place = 3;
    allocate_with(&context_, &node_type.table, 0, heap::kAllocPinned);
  }
  auto found = leaks();
  uint64_t others = found[&node_type.table].samples, finalizable = found[&finalizable_node_type.table].samples;
  // A twentieth each, of some 300.
  EXPECT_GT(finalizable, 0u);
  EXPECT_LT(finalizable, (others + finalizable) / 8);
  EXPECT_GT(found[&node_type.table].share(3), 0);
  EXPECT_LT(found[&node_type.table].share(3), 0.125);
  expect_valid("pinned ones between");
}

TEST_F(LeaksTest, LargeObjectsStandForThemselves) {
  for (int i = 0; i < 20; i++) allocate_at(5, &bytes_type.table, 20'000'000);
  for (int i = 0; i < 400; i++) allocate_at(6, &bytes_type.table, 100'000);
  Found found = leaks()[&bytes_type.table];
  EXPECT_EQ(found.objects, 420u);
  EXPECT_NEAR(found.share(5), 400.0 / 440, 0.06);
  EXPECT_NEAR(static_cast<double>(found.sampled()), static_cast<double>(found.bytes), static_cast<double>(found.bytes) / 5);
}

TEST_F(LeaksTest, WhatIsReachedOrDeletedIsNoLeak) {
  Object* array = allocate(&references_type.table, 100'000);
  add_root(array);
  for (size_t i = 0; i < 100'000; i++) set(array, 2 + i, allocate_at(1, &node_type.table));
  for (size_t i = 0; i < 100'000; i++) heap::delete_object(allocate_at(2, &node_type.table));
  for (size_t i = 0; i < 100'000; i++) allocate_at(3, &node_type.table);
  Found found = leaks()[&node_type.table];
  EXPECT_EQ(found.objects, 100'000u);
  EXPECT_GT(found.samples, 0u);
  EXPECT_EQ(found.share(3), 1);
}

// A program that deletes all it allocates does not remember more and more.
TEST_F(LeaksTest, SamplesOfDeletedObjectsGo) {
  constexpr size_t kMegabytes = 400;
  for (size_t i = 0; i < (kMegabytes << 20) / kNode; i++) heap::delete_object(allocate_at(1, &node_type.table));
  EXPECT_LT(samples(), 32u);
  EXPECT_TRUE(leaks().empty());
  EXPECT_EQ(samples(), 0u);
}

TEST_F(LeaksTest, MovedObjectsKeepTheirSites) {
  std::mt19937_64 random(7);
  std::vector<Object*> all;
  for (int i = 0; i < 600'000; i++) all.push_back(allocate_at(1 + static_cast<uintptr_t>(i) % 2, &node_type.table));
  // Of the first site all but each tenth go, of the second all.
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 2 == 1 || i % 20 != 0) {
      ASSERT_EQ(heap::delete_object(all[i]), heap::DeleteResult::kDeleted);
      all[i] = nullptr;
    }
  }
  for (int i = 0; i < 60'000; i++) all.push_back(allocate_at(3, &node_type.table));
  size_t before = samples();
  uint64_t moved = 0;
  for (int round = 0; round < 6; round++) {
    moved += heap::promote(heap::PromotionScope::kAll);
    if (round % 2 == 1) {
      EXPECT_TRUE(heap::dedangle(true));
    }
    Found found = leaks()[&node_type.table];
    EXPECT_EQ(found.objects, 90'000u);
    EXPECT_EQ(found.sites.count(2), 0u);
    EXPECT_GT(found.sites[1], 0u);
    EXPECT_GT(found.sites[3], 0u);
    // The names are current.
    struct Request {
      std::set<uintptr_t> live;
    } request;
    for (Object* object : all) {
      if (object != nullptr) request.live.insert(address(current(object)));
    }
    // After a remap the first names say nothing any more.
    if (round == 0)
      heap::for_each_sample(
          [](const heap::AllocationSample& sample, void* argument) noexcept { EXPECT_EQ(static_cast<Request*>(argument)->live.count(sample.object), 1u); },
          &request);
  }
  EXPECT_GT(moved, 0u);
  EXPECT_LE(samples(), before);
  expect_valid("six rounds");
}

TEST_F(LeaksTest, TooFewEntriesAreSaid) {
  std::vector<TypeOf<kClass, 24>> types(40);
  for (auto& type : types) allocate(&type.table);
  std::vector<LeakEntry> entries(32);
  EXPECT_EQ(heap::find_leaks(entries.data(), entries.size()), MarkingResult::kNoRoom);
  EXPECT_EQ(leaks(64).size(), 40u);
  can_stop = false;
  EXPECT_EQ(heap::find_leaks(entries.data(), entries.size()), MarkingResult::kNotPossible);
}

// Reached or not, by type; deleted objects and large ones too.
TEST_F(LeaksTest, AllLiveObjectsAreFound) {
  Object* held = node();
  add_root(held);
  node();
  heap::delete_object(node());
  constexpr uint32_t kLength = 2 << 20;
  Object* large = allocate(&bytes_type.table, kLength);
  auto live = [] {
    std::vector<LeakEntry> entries(64);
    EXPECT_EQ(heap::find_live_by_place(entries.data(), entries.size()), MarkingResult::kDone);
    std::map<const core::MethodTable*, std::pair<uint64_t, uint64_t>> found;
    for (const LeakEntry& entry : entries) {
      if (entry.type == nullptr) continue;
      EXPECT_EQ(entry.samples, 0u);
      found[entry.type].first += entry.objects;
      found[entry.type].second += entry.bytes;
    }
    return found;
  };
  auto found = live();
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(found[&node_type.table], (std::pair<uint64_t, uint64_t>(2, 2 * kNode)));
  EXPECT_EQ(found[&bytes_type.table].first, 1u);
  EXPECT_GE(found[&bytes_type.table].second, kLength);
  heap::delete_object(large);
  heap::delete_object(held);
  roots.clear();
  found = live();
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found[&node_type.table].first, 1u);
  can_stop = false;
  std::vector<LeakEntry> entries(64);
  EXPECT_EQ(heap::find_live_by_place(entries.data(), entries.size()), MarkingResult::kNotPossible);
  expect_valid("walks");
}

// What is allocated before there is managed code has no stack.
TEST_F(LeaksTest, WithoutAStackNothingIsRemembered) {
  for (int i = 0; i < 300'000; i++) allocate_at(0, &node_type.table);
  EXPECT_EQ(samples(), 0u);
  EXPECT_EQ(leaks()[&node_type.table].objects, 300'000u);
}

// The kernel refuses the tables: nothing is remembered, and all goes on.
TEST_F(LeaksTest, WithoutMemoryNothingIsRemembered) {
  constexpr int kObjects = 45'000;  // all in the first block, 3 or 4 of which are met
  allocate_at(1, &node_type.table);
  os::inject_failures("mmap:1+,mprotect:1+");
  for (int i = 1; i < kObjects; i++) allocate_at(1, &node_type.table);
  EXPECT_EQ(samples(), 0u);
  os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
  EXPECT_EQ(leaks()[&node_type.table].objects, static_cast<uint64_t>(kObjects));
  for (int i = 0; i < kObjects; i++) allocate_at(2, &node_type.table);
  EXPECT_GT(samples(), 0u);
  EXPECT_EQ(leaks()[&node_type.table].share(2), 1);
}

// No room for more samples: later ones take the place of others.
TEST_F(LeaksTest, WithoutMemoryForMoreSamplesTheyAreReplaced) {
  constexpr size_t kInFirstStep = (64 << 10) / sizeof(heap::AllocationSample);
  for (size_t i = 0; i < kInFirstStep - 100; i++) allocate_at(1, &bytes_type.table, 8'000'000);
  while (samples() < kInFirstStep) allocate_at(1, &bytes_type.table, 8'000'000);
  heap::retire(&context_);
  for (int tries = 0; tries < 1000; tries++) {
    // In a block that is there already: an allocation in it asks the kernel for nothing.
    allocate_at(2, &node_type.table);
    os::inject_failures("mmap:1+,mprotect:1+");
    for (int i = 0; i < 40'000; i++) allocate_at(2, &node_type.table);
    os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
    if (leaks()[&node_type.table].share(2) > 0) break;
  }
  EXPECT_EQ(samples(), kInFirstStep);
  EXPECT_GT(leaks()[&node_type.table].samples, 0u);
}

class OtherModesTest : public LeaksTest {
  void configure(core::Knobs& knobs) override {
    LeaksTest::configure(knobs);
    knobs.reclaim = core::Reclaim::kAuto;
  }
};

TEST_F(OtherModesTest, NothingIsSampled) {
  for (int i = 0; i < 300'000; i++) allocate(&node_type.table);
  EXPECT_EQ(samples(), 0u);
  Found found = leaks()[&node_type.table];
  EXPECT_EQ(found.objects, 300'000u);
  EXPECT_TRUE(found.sites.empty());
}

class ExactLeaksTest : public LeaksTest {
  void configure(core::Knobs& knobs) override {
    LeaksTest::configure(knobs);
    knobs.debug = knobs.stacks = true;
  }
};

TEST_F(ExactLeaksTest, EverySiteIsCounted) {
  for (int i = 0; i < 100; i++) allocate_at(1, &node_type.table);
  for (int i = 0; i < 7; i++) allocate_at(2, &node_type.table);
  heap::delete_object(allocate_at(3, &node_type.table));
  allocate_at(2, &bytes_type.table, 3'000'000);
  auto found = leaks();
  EXPECT_EQ(found[&node_type.table].objects, 107u);
  EXPECT_EQ(found[&node_type.table].sites, (std::map<uintptr_t, uint64_t>{{1, 100 * kNode}, {2, 7 * kNode}}));
  EXPECT_EQ(found[&bytes_type.table].sites.size(), 1u);
  EXPECT_EQ(samples(), 0u);
}

TEST_F(ExactLeaksTest, EveryLiveObjectHasItsSite) {
  add_root(allocate_at(1, &node_type.table));
  allocate_at(2, &node_type.table);
  heap::delete_object(allocate_at(3, &node_type.table));
  std::vector<LeakEntry> entries(64);
  EXPECT_EQ(heap::find_live_by_place(entries.data(), entries.size()), MarkingResult::kDone);
  std::map<uintptr_t, uint64_t> sites;
  for (const LeakEntry& entry : entries) {
    uintptr_t site;
    if (entry.type != nullptr && heap::read_stack(entry.stack, &site, 1) == 1) sites[site] += entry.objects;
  }
  EXPECT_EQ(sites, (std::map<uintptr_t, uint64_t>{{1, 1}, {2, 1}}));
}

}  // namespace
}  // namespace freehold::testing
