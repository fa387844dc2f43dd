// What is said of an object that has died: by what held it in the last look that found it alive, and which frames had returned.
#include "deaths_fixture.h"

#include <set>

#include "heap/dedangling.h"
#include "heap/deletion.h"
#include "heap/promotion.h"
#include "heap/stack_store.h"

namespace freehold::testing {
namespace {

constexpr uint64_t kFirstField = 8, kSecondField = 16;

TEST_F(DeathsTest, WhatNoLookFoundAlive) {
  born();
  look();
  Told now = told();
  ASSERT_EQ(now.rows.size(), 1u);
  const heap::DeathRow& row = now.rows[0];
  EXPECT_EQ(row.kind, Kind::kUnseen);
  EXPECT_EQ(row.type, &node_type.table);
  EXPECT_EQ(row.samples, 1u);
  EXPECT_EQ(row.bytes, uint64_t{64} << 10);
  EXPECT_EQ(row.alive_after, heap::kNotKnown);
  EXPECT_EQ(now.totals.looks, 1u);
  EXPECT_EQ(now.totals.samples, 1u);
  uintptr_t place;
  EXPECT_EQ(heap::read_stack(row.stack, &place, 1), 1u);
  EXPECT_EQ(place, frames[0].seen.ip);
}

TEST_F(DeathsTest, WhatOnlyAStackHeld) {
  uint64_t local = address(born());
  frames = {frame(2), frame(1)};
  frames[0].places.push_back(&local);
  look();
  EXPECT_EQ(told().count(Kind::kLives), 1u);
  frames.erase(frames.begin());
  look();
  Told now = told();
  ASSERT_NE(now.only(Kind::kStack), nullptr);
  EXPECT_EQ(now.only(Kind::kStack)->method, frame(2).seen.method);
  EXPECT_TRUE(now.only(Kind::kStack)->frame_gone);
  EXPECT_EQ(now.only(Kind::kStack)->alive_after, 0);
  EXPECT_EQ(now.count(Kind::kLives), 0u);
}

TEST_F(DeathsTest, WhatAFrameThatIsStillThereHeld) {
  uint64_t local = address(born());
  frames[0].places.push_back(&local);
  look();
  local = 0;
  frames[0].seen.ip++;
  look();
  ASSERT_NE(told().only(Kind::kStack), nullptr);
  EXPECT_FALSE(told().only(Kind::kStack)->frame_gone);
}

TEST_F(DeathsTest, WhatAPlaceOfNoFrameHeld) {
  uint64_t place = address(born());
  places_without_frame.push_back(&place);
  look();
  place = 0;
  look();
  ASSERT_NE(told().only(Kind::kStack), nullptr);
  EXPECT_EQ(told().only(Kind::kStack)->method, 0u);
}

TEST_F(DeathsTest, WhatDiedWithItsHolder) {
  Object* owner = plain();
  set(owner, 1, born());
  uint64_t local = address(owner);
  places_without_frame.push_back(&local);
  look();
  local = 0;
  look();
  Told now = told();
  ASSERT_NE(now.only(Kind::kHolderDied), nullptr);
  EXPECT_EQ(now.only(Kind::kHolderDied)->holder_type, &node_type.table);
  EXPECT_EQ(now.only(Kind::kHolderDied)->offset, kFirstField);
  heap::DeathFieldRow field = now.field(&node_type.table, kFirstField);
  EXPECT_EQ(field.held, 1u);
  EXPECT_EQ(field.died, 1u);
  EXPECT_EQ(field.shared + field.survived + field.replaced + field.moved, 0u);
}

TEST_F(DeathsTest, WhatDiedWithAHolderThatTheProgramDeleted) {
  Object* owner = plain();
  set(owner, 2, born());
  uint64_t local = address(owner);
  places_without_frame.push_back(&local);
  look();
  local = 0;
  ASSERT_EQ(heap::delete_object(owner), heap::DeleteResult::kDeleted);
  look();
  ASSERT_NE(told().only(Kind::kHolderDied), nullptr);
  EXPECT_EQ(told().only(Kind::kHolderDied)->offset, kSecondField);
}

TEST_F(DeathsTest, WhatAFieldHeldThatHasAnotherValueNow) {
  Object* statics = plain(&statics_type.table);
  uint64_t handle = address(statics);
  handles.push_back(&handle);
  set(statics, 1, born());
  look();
  set(statics, 1, plain());
  look();
  Told now = told();
  ASSERT_NE(now.only(Kind::kReplaced), nullptr);
  EXPECT_EQ(now.only(Kind::kReplaced)->holder_type, &statics_type.table);
  EXPECT_EQ(now.field(&statics_type.table, kFirstField).replaced, 1u);
}

TEST_F(DeathsTest, WhatSeveralPlacesHeldAtOnceOnceIsShared) {
  Object *first = plain(), *second = plain(), *object = born();
  set(first, 1, object);
  set(second, 2, object);
  uint64_t locals[] = {address(first), address(second)};
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  look();
  // One of them alone, later, does not make it the owner.
  set(second, 2, nullptr);
  look();
  locals[0] = 0;
  look();
  Told now = told();
  EXPECT_EQ(now.rows.size(), 1u);
  EXPECT_EQ(now.count(Kind::kShared), 1u);
  EXPECT_EQ(now.field(&node_type.table, kFirstField).shared, 1u);
  EXPECT_EQ(now.field(&node_type.table, kSecondField).shared, 1u);
}

TEST_F(DeathsTest, EachOfManyFieldsIsShared) {
  Object* object = born();
  uint64_t locals[3];
  for (size_t i = 0; i < 3; i++) {
    Object* owner = plain();
    set(owner, 1 + i, object);
    locals[i] = address(owner);
    places_without_frame.push_back(&locals[i]);
  }
  look();
  for (uint64_t offset : {8u, 16u, 24u}) {
    EXPECT_EQ(told().field(&node_type.table, offset).shared, 1u) << offset;
    EXPECT_EQ(told().field(&node_type.table, offset).held, 0u) << offset;
  }
}

TEST_F(DeathsTest, AHandleBesideAFieldIsSharedToo) {
  Object *owner = plain(), *object = born();
  set(owner, 1, object);
  uint64_t local = address(owner), handle = address(object);
  places_without_frame.push_back(&local);
  handles.push_back(&handle);
  look();
  local = handle = 0;
  look();
  EXPECT_EQ(told().count(Kind::kShared), 1u);
}

TEST_F(DeathsTest, WhatAHandleAloneHeld) {
  uint64_t handle = address(born());
  handles.push_back(&handle);
  look();
  handle = 0;
  look();
  EXPECT_EQ(told().count(Kind::kHandle), 1u);
}

// One that outlives its owner, and one that goes on elsewhere, speak against their fields.
TEST_F(DeathsTest, WhatOutlivesItsHolderCountsAgainstTheField) {
  Object *owner = plain(), *object = born(), *other_owner = plain(), *other = born();
  set(owner, 1, object);
  set(other_owner, 2, other);
  uint64_t owners[] = {address(owner), address(other_owner)}, locals[] = {0, 0};
  for (uint64_t& place : owners) places_without_frame.push_back(&place);
  for (uint64_t& place : locals) places_without_frame.push_back(&place);
  look();
  locals[0] = address(object);
  locals[1] = address(other);
  owners[0] = 0;
  set(other_owner, 2, nullptr);
  look();
  Told now = told();
  EXPECT_EQ(now.count(Kind::kLives), 2u);
  EXPECT_EQ(now.field(&node_type.table, kFirstField).survived, 1u);
  EXPECT_EQ(now.field(&node_type.table, kSecondField).moved, 1u);
  locals[0] = locals[1] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kOther), 2u);  // stacks last, but not only
  EXPECT_EQ(told().field(&node_type.table, kFirstField).died, 0u);
}

TEST_F(DeathsTest, WhatAStackAloneHeldOnlyAfterAFieldIsOfNoKind) {
  Object *owner = plain(), *object = born(), *of_a_handle = born();
  set(owner, 1, object);
  uint64_t locals[] = {address(owner), 0, 0}, handle = address(of_a_handle);
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  handles.push_back(&handle);
  look();
  set(owner, 1, nullptr);
  locals[1] = address(object);
  locals[2] = address(of_a_handle);
  handle = 0;
  look();
  locals[1] = locals[2] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kOther), 2u);
  EXPECT_EQ(told().count(Kind::kStack), 0u);
}

// A field of a base type is one field, whatever derived objects hold it; one that only the derived type has is its own.
TEST_F(DeathsTest, FieldsBelongToTheTypeThatDeclaresThem) {
  static TypeOf<core::MethodTable::kHasPointers | kClass, 32> base = {{0, 16 - 32, 8, 1}, {core::MethodTable::kHasPointers | kClass, 32, nullptr, 1, 0, 0}};
  static TypeOf<core::MethodTable::kHasPointers | kClass, 40> derived = {{0, 24 - 40, 8, 1},
                                                                         {core::MethodTable::kHasPointers | kClass, 40, &base.table, 1, 0, 0}};
  Object* owner = plain(&derived.table);
  set(owner, 1, born());
  set(owner, 3, born());
  uint64_t local = address(owner);
  places_without_frame.push_back(&local);
  look();
  local = 0;
  look();
  Told now = told();
  EXPECT_EQ(now.field(&base.table, kFirstField).died, 1u);
  EXPECT_EQ(now.field(&derived.table, kFirstField).held, 0u);
  EXPECT_EQ(now.field(&derived.table, 24).died, 1u);
  EXPECT_EQ(now.count(Kind::kHolderDied), 2u);
}

TEST_F(DeathsTest, WhatTheProgramDeletes) {
  Object* object = born();
  uint64_t local = address(object);
  places_without_frame.push_back(&local);
  look();
  local = 0;
  ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  look();
  EXPECT_EQ(told().rows.size(), 1u);
  EXPECT_EQ(told().count(Kind::kDeleted), 1u);
}

TEST_F(DeathsTest, AFieldOfTheObjectItselfHoldsNothing) {
  Object* object = born();
  set(object, 1, object);
  uint64_t local = address(object);
  places_without_frame.push_back(&local);
  look();
  local = 0;
  look();
  EXPECT_EQ(told().count(Kind::kStack), 1u);
}

TEST_F(DeathsTest, WhatADependentHandleHeldIsOfNoKind) {
  Object *primary = plain(), *secondary = born();
  uint64_t local = address(primary);
  places_without_frame.push_back(&local);
  dependents.push_back({primary, secondary});
  look();
  dependents.clear();
  look();
  EXPECT_EQ(told().count(Kind::kOther), 1u);
}

// How many frames of the allocation had returned when it was last seen alive.
TEST_F(DeathsTest, FramesThatReturn) {
  frames = {frame(3), frame(2), frame(1)};
  uint64_t places[4];
  for (uint64_t& place : places) {
    place = address(born());
    places_without_frame.push_back(&place);
  }
  auto seen = [] {
    std::multiset<int> seen;
    for (const heap::DeathRow& row : told().rows)
      if (row.kind == Kind::kStack) seen.insert(row.alive_after);
    return seen;
  };
  look();
  // The innermost has returned: the one that called it goes on.
  frames = {frame(2, 9), frame(1)};
  places[0] = 0;
  look();
  EXPECT_EQ(seen(), (std::multiset<int>{0}));
  // It is called again: an equal frame, but another one.
  frames = {frame(3), frame(2), frame(1)};
  look();
  places[1] = 0;
  look();
  EXPECT_EQ(seen(), (std::multiset<int>{0, 1}));
  // The outermost calls something else.
  frames = {frame(3), frame(2), frame(1, 9)};
  look();
  places[2] = 0;
  // The thread has ended.
  frames = {frame(1, 1, kThread + 1)};
  look();
  EXPECT_EQ(seen(), (std::multiset<int>{0, 1, 2}));
  places[3] = 0;
  look();
  EXPECT_EQ(seen(), (std::multiset<int>{0, 1, 2, 3}));
}

TEST_F(DeathsTest, AgesAreBytesOfAllThreads) {
  uint64_t local = address(born());
  places_without_frame.push_back(&local);
  for (int i = 0; i < 100'000; i++) plain();
  look();
  uint64_t seen = heap::thread_totals().allocated_bytes;
  for (int i = 0; i < 100'000; i++) plain();
  local = 0;
  look();
  uint64_t dead = heap::thread_totals().allocated_bytes;
  const heap::DeathRow* row = nullptr;
  Told now = told();
  ASSERT_NE(row = now.only(Kind::kStack), nullptr);
  EXPECT_NEAR(static_cast<double>(row->age_seen), static_cast<double>(seen), 8192);
  EXPECT_NEAR(static_cast<double>(row->age_dead), static_cast<double>(dead), 8192);
  EXPECT_EQ(now.totals.longest_interval, dead - seen);
}

// A look changes nothing but that what nothing reaches goes.
TEST_F(DeathsTest, LooksDeleteWhatNothingReaches) {
  Object *kept = born(), *dropped = born();
  uint64_t local = address(kept);
  places_without_frame.push_back(&local);
  look();
  EXPECT_TRUE(heap::is_deleted(dropped));
  EXPECT_FALSE(heap::is_deleted(kept));
  local = 0;
  look();
  EXPECT_TRUE(heap::is_deleted(kept));
  EXPECT_EQ(told().count(Kind::kStack), 1u);
  expect_valid("two looks");
}

// In the child of a fork: nothing else reclaims there.
TEST_F(DeathsTest, AfterTheEndNothingIsRecordedButLooksReclaim) {
  born();
  heap::end_death_samples();
  Object* dropped = born();
  look();
  EXPECT_TRUE(heap::is_deleted(dropped));
  EXPECT_TRUE(told().rows.empty());
  EXPECT_EQ(told().totals.looks, 0u);
}

class MovingDeathsTest : public DeathsTest {
 protected:
  static constexpr heap::RemapSupport kRemapSupport = {[](void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                         if (patch != nullptr)
                                                           for (uint64_t* place : places_without_frame) patch(place);
                                                         stopped(argument);
                                                         return true;
                                                       },
                                                       [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};
  void SetUp() override {
    DeathsTest::SetUp();
    heap::set_remap_support(&kRemapSupport);
  }
  void TearDown() override {
    DeathsTest::TearDown();
    heap::set_remap_support(nullptr);
  }
  void configure(core::Knobs& knobs) override {
    DeathsTest::configure(knobs);
    knobs.promotion = true;
  }
};

// FREEHOLD_STRESS moves objects all the same.
TEST_F(MovingDeathsTest, NamesStayCurrent) {
  constexpr size_t kObjects = 400'000, kBorn = 400;
  Object* array = allocate(&references_type.table, kObjects);
  uint64_t local = address(array);
  places_without_frame.push_back(&local);
  for (size_t i = 0; i < kObjects; i++) set(reinterpret_cast<Object*>(local), 2 + i, i % 1000 == 0 ? born() : plain());
  look();
  auto element = [&](size_t i) { return current(reinterpret_cast<Object*>(reinterpret_cast<uint64_t*>(current(reinterpret_cast<Object*>(local)))[2 + i])); };
  for (size_t i = 0; i < kObjects; i++) {
    if (i % 10 == 0) continue;
    Object* object = element(i);
    reinterpret_cast<uint64_t*>(current(reinterpret_cast<Object*>(local)))[2 + i] = 0;
    ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  }
  uint64_t moved = 0;
  for (int round = 0; round < 3; round++) moved += heap::promote(heap::PromotionScope::kAll);
  EXPECT_GT(moved, 0u);
  EXPECT_TRUE(heap::dedangle(true));
  look();
  EXPECT_EQ(told().count(Kind::kLives), kBorn);
  EXPECT_EQ(told().rows.size(), 1u);  // all elements of an array are one field
  for (size_t i = 0; i < kObjects; i += 2000) reinterpret_cast<uint64_t*>(current(reinterpret_cast<Object*>(local)))[2 + i] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kLives), kBorn / 2);
  EXPECT_EQ(told().count(Kind::kEmptied), kBorn / 2);
  // What the program has deleted, and a remap has forgotten.
  for (size_t i = 1000; i < kObjects; i += 2000) {
    Object* object = element(i);
    reinterpret_cast<uint64_t*>(current(reinterpret_cast<Object*>(local)))[2 + i] = 0;
    ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  }
  EXPECT_TRUE(heap::dedangle(true));
  EXPECT_EQ(told().count(Kind::kDeleted), kBorn / 2);
  EXPECT_EQ(told().count(Kind::kLives), 0u);
}

class WithoutMemoryTest : public DeathsTest {
 protected:
  WithoutMemoryTest() { begins = false; }
};

TEST_F(WithoutMemoryTest, WithoutTablesItDoesNotBegin) {
  os::inject_failures("mmap:1+,mprotect:1+");
  EXPECT_FALSE(heap::begin_deaths());
  os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
  EXPECT_TRUE(heap::begin_deaths());
}

TEST_F(DeathsTest, BirthsWithoutRoomAreCounted) {
  plain();
  os::inject_failures("mmap:1+,mprotect:1+");
  born();
  os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
  EXPECT_EQ(told().totals.without_room, 1u);
  EXPECT_EQ(told().totals.lost, 0u);  // it never was a sample
  EXPECT_EQ(told().totals.samples, 1u);
  look();
  EXPECT_TRUE(told().rows.empty());
}

TEST_F(DeathsTest, RowsWithoutRoomAreCounted) {
  heap::DeathRow row = {};
  row.type = &node_type.table;
  row.samples = 1;
  heap::DeathLock guard;
  for (uint32_t i = 0; i < heap::kDeathRows; i++) {
    row.stack = i;
    heap::add_death(row);
  }
  EXPECT_EQ(heap::deaths_without_room(), heap::kDeathRows / 8);
  row.stack = 5;
  heap::add_death(row);  // has a row
  EXPECT_EQ(heap::deaths_without_room(), heap::kDeathRows / 8);
  EXPECT_EQ(heap::fields_without_room(), 0u);
  uint64_t fields = 0;
  while (heap::field_row(&node_type.table, 8 * fields) != nullptr) fields++;
  EXPECT_EQ(fields, heap::kDeathFieldRows / 8 * 7);
  EXPECT_EQ(heap::deaths_without_room(), heap::kDeathRows / 8);
  EXPECT_EQ(heap::fields_without_room(), 1u);
  std::vector<heap::DeathRow> copy(heap::kDeathRows);
  size_t used = heap::death_row_count();
  heap::copy_death_rows(copy.data(), 0, heap::kDeathRows);
  row.stack = 1'000'000;
  while (heap::add_row_to(copy.data(), used, row)) row.stack++;
  EXPECT_EQ(used, heap::kDeathRows / 16 * 15);
}

// What would be said of samples that cannot be looked at can be wrong: they are lost, and counted.
TEST_F(DeathsTest, SamplesThatFindNoRoomInALookAreLost) {
  Object* object = born();
  uint64_t local = address(object);
  places_without_frame.push_back(&local);
  {
    heap::DeathLock guard;
    heap::DeathSample sample = heap::death_samples()[0];
    sample.adopted = true;
    sample.looks_left = 100;
    for (size_t i = 0; i < heap::kAdoptedAtMost; i++) {
      ASSERT_TRUE(heap::adopt(sample));
    }
    ASSERT_FALSE(heap::adopt(sample));
    EXPECT_EQ(heap::adopted_count(), heap::kAdoptedAtMost);
    heap::drop_all_death_samples();
    EXPECT_EQ(heap::death_sample_count(), 0u);
    EXPECT_EQ(heap::adopted_count(), 0u);
  }
  EXPECT_EQ(told().totals.lost, heap::kAdoptedAtMost + 1);
  EXPECT_EQ(told().totals.without_room, 1u) << "the others were nobody's samples";
}

// No memory for what is watched: no half of a look.
TEST_F(DeathsTest, ALookWithoutMemoryLosesTheSamples) {
  uint64_t local = address(born());
  places_without_frame.push_back(&local);
  look();
  constexpr uint64_t kMore = heap::kAdoptedAtMost + 100;
  for (uint64_t i = 0; i < kMore; i++) born();
  // The marking needs memory first: without that there is no look.
  for (int number = 1; number < 100 && told().totals.lost == 0; number++) {
    os::inject_failures(("mprotect:" + std::to_string(number) + "+").c_str());
    look();
    os::inject_failures("mprotect:18446744073709551615");
  }
  EXPECT_EQ(told().totals.lost, kMore + 1);
  EXPECT_EQ(told().totals.without_room, kMore + 1);
  EXPECT_EQ(told().totals.looks, 1u);
  local = 0;
  look();
  EXPECT_TRUE(told().rows.empty());
  EXPECT_EQ(told().totals.looks, 2u);
}

// Where a look takes long, the next one waits until the program has had twice its time.
TEST_F(DeathsTest, LooksTakeAThirdOfTheTimeAtMost) {
  constexpr uint64_t kMegabyte = 1 << 20, kMillisecond = 1'000'000;
  EXPECT_EQ(heap::look_interval(0, kMegabyte, kMillisecond, 0), kMegabyte);
  EXPECT_EQ(heap::look_interval(9 * kMegabyte, kMegabyte, kMillisecond, 0), 9 * kMegabyte);
  EXPECT_EQ(heap::look_interval(0, kMegabyte, kMillisecond, kMillisecond / 2), kMegabyte);
  EXPECT_EQ(heap::look_interval(0, kMegabyte, kMillisecond, 5 * kMillisecond), 10 * kMegabyte);
  EXPECT_EQ(heap::look_interval(9 * kMegabyte, kMegabyte, kMillisecond, 5 * kMillisecond), 10 * kMegabyte);
  EXPECT_EQ(heap::look_interval(0, 10 * kMegabyte, kMillisecond, 5 * kMillisecond), 100 * kMegabyte);
  EXPECT_EQ(heap::look_interval(0, kMegabyte, 0, 5 * kMillisecond), kMegabyte);
  EXPECT_EQ(heap::look_interval(0, UINT64_MAX, 1, UINT64_MAX), heap::kLongestLookInterval);
}

// The program needs 100 ms for a megabyte, each look 1 s.
class TimedDeathsTest : public DeathsTest {
 protected:
  int looks_in(uint64_t megabytes) {
    int looks = 0;
    heap::thread_heap.is_not_sampled = false;
    for (uint64_t i = 0; i < (megabytes << 20) / 40; i++) {
      plain();
      if (!heap::is_look_due(&context_)) continue;
      clock_now = (i * 40 * 100'000'000 >> 20) + looks * uint64_t{1'000'000'000};
      look_takes = 1'000'000'000;
      look();
      looks++;
    }
    return looks;
  }
};
TEST_F(TimedDeathsTest, ASeedMakesLooksIndependentOfTime) { EXPECT_GT(looks_in(100), 33); }
class RandomDeathsTest : public TimedDeathsTest {
  void configure(core::Knobs& knobs) override {
    TimedDeathsTest::configure(knobs);
    knobs.stress.seed = core::Stress{}.seed;
  }
};
// A second thread's look begins a microsecond behind another's, and a megabyte was allocated meanwhile: not as much as a program that allocates so fast all the time, which had no look any more.
TEST_F(RandomDeathsTest, LooksBehindEachOtherAreNotTheLast) {
  EXPECT_GE(looks_in(5), 1);
  for (size_t i = 0; i < (1 << 20) / 40; i++) plain();
  clock_now += 1'000;
  look();
  EXPECT_GE(looks_in(600), 1);
}
// 20 MB apart.
TEST_F(RandomDeathsTest, LooksThatTakeLongAreRare) {
  int looks = looks_in(200);
  EXPECT_GE(looks, 3);
  EXPECT_LE(looks, 11);
}

// The heap's own sampling: about one for 128 KB, and looks an interval apart or nearly.
TEST_F(DeathsTest, SamplesAndLooksFollowAllocation) {
  constexpr uint64_t kMegabytes = 200;
  int looks = 0;
  heap::thread_heap.is_not_sampled = false;
  for (uint64_t i = 0; i < (kMegabytes << 20) / 40; i++) {
    plain();
    if (heap::is_look_due(&context_)) {
      look();
      looks++;
    }
  }
  Told now = told();
  EXPECT_NEAR(static_cast<double>(now.totals.samples), kMegabytes * 8.0, kMegabytes * 2.0);
  EXPECT_EQ(now.totals.looks, static_cast<uint64_t>(looks));
  // An interval, the next sample, and some way of its own to the look.
  EXPECT_GT(looks, static_cast<int>(kMegabytes / 3));
  EXPECT_LT(looks, static_cast<int>(kMegabytes));
  EXPECT_EQ(now.count(Kind::kUnseen) + 64 >= now.totals.samples, true);
  expect_valid("looks");
}

}  // namespace
}  // namespace freehold::testing
