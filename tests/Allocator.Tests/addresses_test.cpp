// Addresses that are handed out again, and whatever keeps them from it: a name, wherever it is.
#include <stdlib.h>

#include <functional>
#include <list>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "heap/addresses.h"
#include "heap/cards.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::arena;
using core::GroupState;
using core::Object;

uint64_t number(const Object* object) { return reinterpret_cast<uint64_t>(object); }
size_t group_of(uint64_t name) { return (name - 1 - arena.start) / core::kGroupSize; }
size_t group_of(const Object* object) { return group_of(number(object)); }
uint64_t* field(Object* object, size_t index) { return reinterpret_cast<uint64_t*>(object) + 1 + index; }

class AddressesTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  static constexpr uint32_t kLength = 20'000;  // in a block of a window, one such object

  void configure(core::Knobs& knobs) override {
    knobs.protection = GetParam();
    knobs.address_space = uint64_t{64} << 30;
    knobs.stress.promote = 1;  // blocks hold one window: laps are short
    knobs.huge_pages = false;  // and take no memory beyond it
  }

  void SetUp() override {
    HeapTest::SetUp();
    names.clear();
    between = nullptr;
    stops_to_come = 1000;
    heap::set_remap_support(&kSupport);
  }

  // What registers and stacks hold, and what happens between the walk of the heap and the second stop.
  static inline std::vector<uint64_t> names;
  static inline std::function<void()> between;
  static inline int stops_to_come;

  static bool stop(void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
    if (stops_to_come-- == 0) return false;
    if (patch != nullptr) {
      for (uint64_t& name : names) patch(&name);
    }
    stopped(argument);
    return true;
  }
  static void between_walk_and_stop(void (*)(uint8_t*, uint8_t*, void*), void*) {
    if (between) between();
  }
  static constexpr heap::RemapSupport kSupport = {stop, between_walk_and_stop, nullptr};

  Object* allocate_and_delete() {
    Object* object = allocate(&bytes_type.table, kLength);
    if (object != nullptr) heap::delete_object(object);
    heap::end_listed_huge();
    return object;
  }

  static constexpr size_t kReserveGroups = 4;  // of blocks that are kept for what throws an OutOfMemoryException

  // As a thread is that has not just been refused something.
  bool is_refused() {
    heap::thread_heap.emergency = 0;
    return allocate(&bytes_type.table, kLength) == nullptr;
  }

  Object* allocate_huge_and_delete(uint32_t bytes) {
    Object* object = allocate(&bytes_type.table, bytes);
    if (object != nullptr) heap::delete_object(object);
    heap::end_listed_huge();
    return object;
  }

  // An object of a group in which nothing else lives, deleted. Its group is gone when this returns.
  Object* deleted_object() {
    size_t before = group_of(allocate_and_delete());
    Object* object;
    do object = allocate_and_delete();
    while (object != nullptr && group_of(object) == before);
    EXPECT_NE(object, nullptr);
    size_t group = group_of(object);
    while (group_of(allocate_and_delete()) == group) continue;
    heap::collect();
    EXPECT_EQ(core::group_state(group), GroupState::kWithoutTables);
    return object;
  }

  // Allocates and deletes until no address is left. Returns the groups that were used.
  std::set<size_t> use_up() {
    std::set<size_t> groups;
    while (Object* object = allocate_and_delete()) {
      EXPECT_EQ(*field(object, 1), 0u);  // new memory
      *field(object, 1) = 0xdeadbeef;
      groups.insert(group_of(object));
    }
    EXPECT_TRUE(heap::are_addresses_exhausted());
    EXPECT_TRUE(heap::are_addresses_short());
    return groups;
  }

  // The same, and an address scan.
  std::set<size_t> lap() {
    std::set<size_t> groups = use_up();
    heap::collect();
    EXPECT_FALSE(heap::are_addresses_exhausted());
    expect_valid("after a lap");
    return groups;
  }

  static bool is_unnamed(size_t group) { return core::group_state(group) == GroupState::kUnnamed; }

  // One address scan. Whether the group may be used again then.
  static bool scan_frees(size_t group) {
    EXPECT_TRUE(heap::dedangle(true));
    expect_valid("after an address scan");
    return is_unnamed(group);
  }

  Object* holder() {
    Object* object = allocate(&node_type.table);
    for (size_t i = 0; i < 3; i++) *field(object, i) = 0;
    return object;
  }
};

TEST_P(AddressesTest, AnotherLapGoesOverWhatNothingNames) {
  Object* survivor = allocate(&bytes_type.table, kLength);
  std::set<size_t> first = use_up();
  EXPECT_GE(first.size(), 511u - kReserveGroups);
  EXPECT_TRUE(is_refused());
  EXPECT_TRUE(heap::should_remap());
  heap::collect();  // which scans, as addresses are short
  EXPECT_FALSE(heap::are_addresses_short());
  for (int i = 0; i < 3; i++) {
    std::set<size_t> again = lap();
    EXPECT_GE(again.size(), first.size() - 4);
    EXPECT_EQ(again.count(group_of(survivor)), 0u);
  }
  EXPECT_GT(heap::addresses_reused(), uint64_t{40} << 30);
  EXPECT_EQ(heap::delete_object(survivor), heap::DeleteResult::kDeleted);
}

TEST_P(AddressesTest, AnAllocationScansBeforeItFails) {
  static constexpr heap::RemapSupport kAll = {stop, between_walk_and_stop, [](void (*work)(void*), void* argument) { work(argument); }};
  heap::set_remap_support(&kAll);
  std::vector<Object*> kept;
  while (Object* object = allocate(&bytes_type.table, kLength)) kept.push_back(object);
  EXPECT_GE(kept.size(), heap::kReserveStart + (510u - kReserveGroups) * core::kBlocksPerGroup);
  // What throws an OutOfMemoryException has a group for itself.
  EXPECT_NE(allocate(&small_type.table), nullptr);
  for (Object* object : kept) heap::delete_object(object);
  for (int i = 0; i < 9'000; i++) ASSERT_NE(allocate_and_delete(), nullptr);
  EXPECT_GT(heap::addresses_reused(), uint64_t{15} << 30);
  expect_valid("at the end");
}

TEST_P(AddressesTest, NamesKeepTheirGroup) {
  Object* live = holder();
  Object* readable = holder();
  EXPECT_EQ(heap::delete_object(readable), heap::DeleteResult::kDeleted);
  static TypeOf<core::MethodTable::kHasPointers, 3'000'000> huge_type = {{0, 24 - 3'000'000, 8, 1},
                                                                         {core::MethodTable::kHasPointers, 3'000'000, nullptr, 0, 0, 0}};
  Object* huge = allocate(&huge_type.table);
  ASSERT_NE(huge, nullptr);
  const std::function<void(uint64_t)> places[] = {
      [&](uint64_t name) { names.assign(1, name); },
      [&](uint64_t name) { names.assign(1, name == 0 ? 0 : name + 500); },         // a byref
      [&](uint64_t name) { names.assign(1, name == 0 ? 0 : name - 8 + 20'024); },  // one past the end
      [&](uint64_t name) { *field(live, 2) = name; },
      [&](uint64_t name) { *field(readable, 0) = name; },
      [&](uint64_t name) { *field(huge, 1) = name; },
  };
  for (const auto& place : places) {
    Object* object = deleted_object();
    Object* other = deleted_object();
    place(number(object));
    EXPECT_FALSE(scan_frees(group_of(object)));
    EXPECT_TRUE(is_unnamed(group_of(other)));
    place(0);
    EXPECT_TRUE(scan_frees(group_of(object)));
  }
  Object* object = deleted_object();
  *field(live, 0) = number(object);
  lap();
  std::set<size_t> used = lap();
  EXPECT_GE(used.size(), 500u);
  EXPECT_EQ(used.count(group_of(object)), 0u);
  EXPECT_EQ(heap::delete_object(object), heap::DeleteResult::kDangling);
}

// One past the end of the last object of a group is where the next one begins.
TEST_P(AddressesTest, TheEndOfAGroupIsNotTheNextOnes) {
  std::vector<Object*> objects;
  Object* last = nullptr;
  for (int i = 0; i < 100; i++) {
    objects.push_back(allocate(&bytes_type.table, (1 << 20) - 24));
    if ((number(objects.back()) - 8 + (1 << 20)) % core::kGroupSize == 0 && group_of(objects.back()) != 0 && last == nullptr) last = objects.back();
  }
  ASSERT_NE(last, nullptr);
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  heap::collect();
  names.assign(1, number(last) - 8 + (1 << 20));
  EXPECT_FALSE(scan_frees(group_of(last)));
  EXPECT_TRUE(is_unnamed(group_of(last) + 1));
}

TEST_P(AddressesTest, NamesThatMoveDuringTheScanAreMet) {
  Object* walked = holder();
  Object* other = holder();
  enum How { kPlainStore, kBarrier, kBlockMove, kBlockMoveOutside };
  static uint64_t outside[3];
  for (How how : {kPlainStore, kBarrier, kBlockMove, kBlockMoveOutside}) {
    Object* object = deleted_object();
    names.assign(1, number(object));
    between = [&] {
      // A thread has read the name where the walk has not been yet, and has it in a register.
      uint64_t name = names[0], source[3] = {0, name, 0};
      names.clear();
      switch (how) {
        case kPlainStore: *field(walked, 1) = name; break;
        case kBarrier: *field(walked, 1) = freehold_current_name(name); break;
        case kBlockMove:
        case kBlockMoveOutside: {
          uint64_t* to = how == kBlockMove ? field(walked, 0) : outside;
          memcpy(to, source, sizeof source);
          freehold_after_move(reinterpret_cast<uint8_t*>(to), reinterpret_cast<uint8_t*>(source), sizeof source);
        }
      }
      between = nullptr;
    };
    heap::dedangle(true);
    // Without a barrier it gets by, which shows that the barriers are what holds it.
    EXPECT_EQ(is_unnamed(group_of(object)), how == kPlainStore) << how;
    *field(walked, 1) = 0;
  }
  expect_valid("at the end");
  EXPECT_EQ(heap::delete_object(other), heap::DeleteResult::kDeleted);
}

// An object whose header has no memory any more, and whose last field has: no walk comes by there, but who has a reference may read it.
TEST_P(AddressesTest, FieldsOfWhatHasNoHeaderKeepNames) {
  Object* across = headless();
  ASSERT_NE(across, nullptr);
  Object* object = deleted_object();
  *field(across, 2) = number(object);
  EXPECT_FALSE(scan_frees(group_of(object)));
}

// Block moves into such an object during the scan: nobody can find the object, beside the threads or when they stand. What was copied is a name.
TEST_P(AddressesTest, MovesIntoWhatHasNoHeaderKeepNames) {
  static Object* across;
  across = headless();
  ASSERT_NE(across, nullptr);
  static int moves;
  for (int count : {1, 5'000}) {
    Object* object = deleted_object();
    names.assign(1, number(object));
    moves = count;
    between = [&] {
      uint64_t source[1] = {names[0]};
      names.clear();
      for (int i = 0; i < moves; i++) {
        *field(across, 2) = source[0];
        freehold_after_move(reinterpret_cast<uint8_t*>(field(across, 2)), reinterpret_cast<uint8_t*>(source), sizeof source);
      }
      between = nullptr;
    };
    // So many moves are not remembered: the remap is given up.
    EXPECT_EQ(heap::dedangle(true), count == 1);
    EXPECT_FALSE(is_unnamed(group_of(object)));
    *field(across, 2) = 0;
    EXPECT_TRUE(scan_frees(group_of(object)));
  }
}

// A run of several groups of which a later one is refused: those that were renewed for it wait for the next scan.
TEST_P(AddressesTest, GroupsThatWereRenewedInVainWait) {
  Object* first = allocate_huge_and_delete(1'000'000'000);
  ASSERT_NE(first, nullptr);
  while (allocate_huge_and_delete(1'000'000'000) != nullptr) continue;
  ASSERT_TRUE(scan_frees(group_of(first)));
  for (const char* failure : {"mmap:3", "mmap:4", "mmap:5"}) {
    ASSERT_TRUE(os::inject_failures(failure));
    Object* elsewhere = allocate_huge_and_delete(1'000'000'000);
    ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615"));
    ASSERT_NE(elsewhere, nullptr) << failure;
    expect_valid(failure);
    while (allocate_huge_and_delete(1'000'000'000) != nullptr) continue;
    EXPECT_TRUE(scan_frees(group_of(first))) << failure;
  }
}

TEST_P(AddressesTest, ANameWithinAHugeObjectKeepsAllOfIt) {
  Object* before = allocate(&bytes_type.table, 40'000'000);
  Object* object = allocate(&bytes_type.table, 300'000'000);
  Object* behind = allocate(&bytes_type.table, 200'000'000);
  for (Object* deleted : {before, object, behind}) ASSERT_TRUE(heap::has_deleted(heap::delete_object(deleted)));
  heap::end_listed_huge();
  // To the end of the last group.
  while (group_of(allocate_huge_and_delete(3'000'000)) == group_of(number(behind) + 200'000'000)) continue;
  size_t first = group_of(object), last = group_of(number(object) + 300'000'000);
  ASSERT_GE(last - first, 8u);
  // From any place of it.
  for (uint64_t place : {uint64_t{0}, uint64_t{70'000'000}, uint64_t{150'000'000}, uint64_t{299'999'999}}) {
    names.assign(1, number(object) + place);
    EXPECT_FALSE(scan_frees(first));
    for (size_t group = first; group <= last; group++) EXPECT_FALSE(is_unnamed(group)) << group - first << " from " << place;
  }
  EXPECT_TRUE(is_unnamed(last + 1));  // the one behind
  // A lap.
  for (int i = 0; i < 2; i++) {
    size_t objects = 0;
    while (Object* huge = allocate_huge_and_delete(1'000'000'000)) {
      size_t begin = group_of(huge), end = group_of(number(huge) + 1'000'000'000);
      EXPECT_TRUE(end < first || begin > last);
      objects++;
    }
    EXPECT_GE(objects, 28u);
    EXPECT_FALSE(scan_frees(first));
  }
  names.clear();
  EXPECT_TRUE(scan_frees(first));
}

TEST_P(AddressesTest, WhatIsNotCompleteFreesNothing) {
  Object* object = deleted_object();
  for (int stops : {0, 1}) {
    stops_to_come = stops;
    EXPECT_FALSE(heap::dedangle(true));
    EXPECT_EQ(core::group_state(group_of(object)), GroupState::kWithoutTables);
    EXPECT_EQ(freehold_remapping, 0);
    EXPECT_FALSE(heap::is_scanning_addresses());
  }
  stops_to_come = 2;
  EXPECT_TRUE(scan_frees(group_of(object)));
}

TEST_P(AddressesTest, WhereTheKernelRefusesNothingIsUsedAgain) {
  lap();
  // The mappings of a group cannot be renewed.
  os::inject_failures("mmap:1+");
  EXPECT_TRUE(is_refused());
  os::inject_failures("mmap:18446744073709551615");
  EXPECT_TRUE(is_refused());
  expect_valid("after refusals");
}

// What the kernel did not take back of the tables says nothing of the next objects.
TEST_P(AddressesTest, TablesThatStayAreCleared) {
  std::vector<Object*> nodes;
  size_t group;
  do group = group_of(allocate_and_delete());
  while (group == 0);
  for (int i = 0; i < 3'000; i++) nodes.push_back(holder());
  while (group_of(allocate_and_delete()) == group) continue;
  os::inject_failures("madvise:1+");
  for (Object* node : nodes) heap::delete_object(node);
  heap::collect();
  os::inject_failures("madvise:18446744073709551615");
  ASSERT_EQ(core::group_state(group), GroupState::kWithoutTables);
  ASSERT_NE(arena.blocks[arena.block_index(number(nodes[1'500]))].dead_pages.load(), 0);
  lap();
  while (true) {
    Object* object = holder();
    ASSERT_NE(object, nullptr);
    if (group_of(object) == group) break;
    heap::delete_object(object);
    allocate_and_delete();
  }
  expect_valid("in a group that was used before");
}

TEST_P(AddressesTest, MemoryThatStaysAccessibleForbidsIt) {
  Object* object = deleted_object();
  std::vector<Object*> pooled;
  for (int i = 0; i < 8; i++) pooled.push_back(allocate(&bytes_type.table, kLength));
  for (Object* last : pooled) heap::delete_object(last);
  os::inject_failures("mmap:1+,register:1+,madvise:1+");
  heap::trim_pool(0);
  os::inject_failures("mmap:18446744073709551615,register:18446744073709551615,madvise:18446744073709551615");
  heap::dedangle(true);
  EXPECT_FALSE(is_unnamed(group_of(object)));
}

INSTANTIATE_TEST_SUITE_P(, AddressesTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "Userfaultfd" : "Mprotect"; });

}  // namespace
}  // namespace freehold::testing
