// What speaks against a field: another holder of whatever kind, what finalizers use, values that nobody samples, and other classes with the same declaration.
#include "deaths_fixture.h"
#include "heap/adoptable_values.h"
#include "heap/declared_fields.h"
#include "heap/finalization_queue.h"

namespace freehold::testing {
namespace {

constexpr uint64_t kFirstField = 8, kSecondField = 16;

TEST_F(DeathsTest, AStackBesideAFieldIsSharedToo) {
  Object *owner = plain(), *object = born();
  set(owner, 1, object);
  uint64_t local = address(owner), other = address(object);
  places_without_frame.push_back(&local);
  places_without_frame.push_back(&other);
  look();
  other = 0;
  look();  // the field alone, later: it is shared all the same
  local = 0;
  look();
  Told now = told();
  EXPECT_EQ(now.count(Kind::kShared), 1u);
  EXPECT_EQ(now.count(Kind::kHolderDied), 0u);
  EXPECT_EQ(now.field(&node_type.table, kFirstField).shared, 1u);
}

// void M() { var parent = new Parent(); parent.Child = new Child(parent); Work(parent); }
TEST_F(DeathsTest, ABackPointerDoesNotOwn) {
  Object *parent = born(), *child = born();
  set(parent, 1, child);
  set(child, 2, parent);
  uint64_t local = address(parent);
  frames[0].places.push_back(&local);
  look();
  local = 0;
  look();
  Told now = told();
  EXPECT_EQ(now.field(&node_type.table, kSecondField).shared, 1u);
  EXPECT_EQ(now.field(&node_type.table, kSecondField).held, 0u);
  EXPECT_EQ(now.field(&node_type.table, kSecondField).died, 0u);
  EXPECT_EQ(now.count(Kind::kShared), 1u);      // the parent
  EXPECT_EQ(now.count(Kind::kHolderDied), 1u);  // the child
}

// Two stacks are no two holders: an argument is on several.
TEST_F(DeathsTest, TwoStacksAreNotShared) {
  Object* object = born();
  uint64_t locals[] = {address(object), address(object)};
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  look();
  locals[0] = locals[1] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kStack), 1u);
}

TEST_F(DeathsTest, ADependentHandleBesideAFieldIsSharedToo) {
  Object *owner = plain(), *key = plain(), *object = born();
  set(owner, 1, object);
  uint64_t locals[] = {address(owner), address(key)};
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  dependents.push_back({key, object});
  look();
  dependents.clear();
  locals[0] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kShared), 1u);
  EXPECT_EQ(told().field(&node_type.table, kFirstField).shared, 1u);
}

// What a finalizer is to run for, and what it may use, is alive until that has run. Here it puts the second child where all can find it.
TEST_F(DeathsTest, WhatAFinalizerMayUseIsNotDead) {
  Object* owners[2];
  Object* children[2];
  uint64_t locals[2], pool = 0;
  places_without_frame.push_back(&pool);
  for (int i = 0; i < 2; i++) {
    owners[i] = plain(&finalizable_node_type.table);
    set(owners[i], 1, children[i] = born());
    locals[i] = address(owners[i]);
    places_without_frame.push_back(&locals[i]);
  }
  look();
  locals[0] = locals[1] = 0;
  look();
  EXPECT_EQ(told().count(Kind::kLives), 2u);
  EXPECT_EQ(told().field(&finalizable_node_type.table, kFirstField).died, 0u);
  while (heap::next_finalizable() != 0) {}
  pool = address(children[1]);
  look();
  Told now = told();
  EXPECT_EQ(now.count(Kind::kHolderDied), 1u);
  EXPECT_EQ(now.count(Kind::kLives), 1u);
  EXPECT_EQ(now.field(&finalizable_node_type.table, kFirstField).died, 1u);
  EXPECT_EQ(now.field(&finalizable_node_type.table, kFirstField).survived, 1u);
}

// One that nobody samples, in the fields of many, speaks against the field: class Item { Options Options = special ?? Options.Default; }
TEST_F(DeathsTest, WhatNobodySamplesIsSeenToBeShared) {
  Object* fallback = plain();
  uint64_t locals[10];
  for (int i = 0; i < 10; i++) {
    Object* owner = plain();
    set(owner, 1, i < 5 ? fallback : born());
    locals[i] = address(owner);
    places_without_frame.push_back(&locals[i]);
  }
  look();
  look();  // the field is known since the first
  heap::DeathFieldRow field = told().field(&node_type.table, kFirstField);
  EXPECT_EQ(field.objects, 5u);
  EXPECT_EQ(field.held, 10u);
  EXPECT_EQ(field.shared, 4u);
}

// A request at a time, class Request { Options Options = special ?? Options.Default; }: the default outlives its holders, and a static has it too.
TEST_F(DeathsTest, WhatNobodySamplesIsFollowed) {
  Object *fallback = plain(), *statics = plain(&statics_type.table);
  set(statics, 1, fallback);
  uint64_t handle = address(statics), request = 0;
  handles.push_back(&handle);
  places_without_frame.push_back(&request);
  for (int i = 0; i < 8; i++) {
    Object* next = plain();
    set(next, 1, i % 2 == 0 ? born() : fallback);
    request = address(next);
    look();
  }
  heap::DeathFieldRow field = told().field(&node_type.table, kFirstField);
  EXPECT_GT(field.shared, 0u);
  EXPECT_GT(field.survived, 0u);
  EXPECT_EQ(told().field(&statics_type.table, kFirstField).held, 0u);  // it is no sample, and makes no rows
  EXPECT_EQ(told().fields.size(), 1u);
  EXPECT_EQ(told().count(Kind::kLives) + told().count(Kind::kHolderDied), 4u);
}

// One lives at a time, in the fields of two classes by turns: nothing else has it meanwhile.
TEST_F(DeathsTest, WhatNobodySamplesIsFollowedFromClassToClass) {
  static TypeOf<core::MethodTable::kHasPointers | kClass, 40> other_type = {{0, 24 - 40, 8, 1},
                                                                            {core::MethodTable::kHasPointers | kClass, 40, nullptr, 1, 0, 0}};
  Object* fallback = plain();
  uint64_t holders[2] = {}, local = 0;
  for (uint64_t& holder : holders) places_without_frame.push_back(&holder);
  places_without_frame.push_back(&local);
  for (int i = 0; i < 8; i++) {
    bool is_first = i % 2 == 0;
    Object* holder = plain(is_first ? &node_type.table : &other_type.table);
    set(holder, 1, i < 2 ? born() : fallback);
    local = i < 2 ? address(fallback) : 0;
    holders[is_first ? 0 : 1] = address(holder);
    holders[is_first ? 1 : 0] = 0;
    look();
  }
  EXPECT_GT(told().field(&node_type.table, kFirstField).survived, 0u);
  EXPECT_GT(told().field(&other_type.table, kFirstField).survived, 0u);
}

// What owns its own: each value dies with its holder, and is counted as followed to its end.
TEST_F(DeathsTest, WhatDiesWithItsHolderIsFollowedToItsEnd) {
  uint64_t request = 0;
  places_without_frame.push_back(&request);
  for (int i = 0; i < 10; i++) {
    Object* next = plain();
    set(next, 1, i == 0 ? born() : plain());
    request = address(next);
    look();
  }
  heap::DeathFieldRow field = told().field(&node_type.table, kFirstField);
  EXPECT_EQ(field.followed, 8u);
  EXPECT_EQ(field.unfollowed, 1u);  // the last one lives
  EXPECT_EQ(field.shared + field.survived + field.moved + field.emptied + field.replaced, 0u);
  EXPECT_EQ(field.died, 1u);
  EXPECT_EQ(told().rows.size(), 1u);  // what is adopted is told of nowhere else
}

// More than are chosen: the others are counted.
TEST_F(DeathsTest, WhatIsNotFollowedIsCounted) {
  constexpr uint64_t kOwners = 100;
  uint64_t locals[kOwners];
  for (uint64_t i = 0; i < kOwners; i++) {
    Object* owner = plain();
    set(owner, 1, i == 0 ? born() : plain());
    locals[i] = address(owner);
    places_without_frame.push_back(&locals[i]);
  }
  look();
  look();                                                                          // the field is known
  EXPECT_EQ(told().field(&node_type.table, kFirstField).unfollowed, kOwners - 1);  // those that are followed live
  for (uint64_t& local : locals) local = 0;
  look();
  EXPECT_EQ(told().field(&node_type.table, kFirstField).followed, heap::AdoptableValues::kOfRow);
  EXPECT_EQ(told().field(&node_type.table, kFirstField).unfollowed, kOwners - 1 - heap::AdoptableValues::kOfRow);
}

// They are forgotten in time, and others come.
TEST_F(DeathsTest, WhatLivesLongIsForgotten) {
  uint64_t local = address(plain());
  places_without_frame.push_back(&local);
  set(reinterpret_cast<Object*>(local), 1, born());
  look();
  set(reinterpret_cast<Object*>(local), 1, plain());
  for (int i = 0; i < 300; i++) {
    look();
    heap::DeathLock guard;
    EXPECT_LE(heap::adopted_count(), 1u);
  }
  heap::DeathFieldRow field = told().field(&node_type.table, kFirstField);
  EXPECT_GT(field.unfollowed, 1u);
  EXPECT_EQ(field.followed, 0u);
}

// A weak handle gives out what the field has; what stacks alone have it does not keep.
TEST_F(DeathsTest, AWeakHandleBesideAFieldIsSharedToo) {
  Object *owner = plain(), *object = born(), *temporary = born();
  set(owner, 1, object);
  uint64_t locals[] = {address(owner), address(temporary)}, weak_ones[] = {address(object), address(temporary)};
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  for (uint64_t& handle : weak_ones) weak_handles.push_back(&handle);
  look();
  for (uint64_t& handle : weak_ones) handle = 0;
  for (uint64_t& local : locals) local = 0;
  look();
  Told now = told();
  EXPECT_EQ(now.count(Kind::kShared), 1u);
  EXPECT_EQ(now.count(Kind::kStack), 1u);
  EXPECT_EQ(now.field(&node_type.table, kFirstField).shared, 1u);
  EXPECT_EQ(now.field(&node_type.table, kFirstField).died, 0u);
}

// Which of the references that a class declares a field is.
TEST_F(DeathsTest, FieldsAreNumbered) {
  using Derived = TypeOf<core::MethodTable::kHasPointers | kClass, 48>;
  static Derived derived = {{0, 32 - 48, 8, 1}, {core::MethodTable::kHasPointers | kClass, 48, &node_type.table, 1, 0, 0}};
  auto is = [](heap::ReferenceNumber number, uint32_t which, uint32_t of) { return number.number == which && number.of == of; };
  EXPECT_TRUE(is(heap::reference_number(&node_type.table, 8), 1, 3));
  EXPECT_TRUE(is(heap::reference_number(&node_type.table, 24), 3, 3));
  EXPECT_TRUE(is(heap::reference_number(&derived.table, 32), 1, 1));
  EXPECT_TRUE(is(heap::reference_number(&references_type.table, 0), 1, 1));
  // An array of structures.
  static auto structures = references_type;
  structures.description[3] = -1;
  EXPECT_TRUE(is(heap::reference_number(&structures.table, 0), 0, 1));
  Object* owner = plain();
  set(owner, 2, born());
  uint64_t local = address(owner);
  places_without_frame.push_back(&local);
  look();
  EXPECT_EQ(told().field(&node_type.table, kSecondField).number, 2u);
  EXPECT_EQ(told().field(&node_type.table, kSecondField).of, 3u);
}

// The field of a base class is one, in whatever derives from it.
TEST_F(DeathsTest, AFieldIsOfTheClassThatDeclaresIt) {
  using Derived = TypeOf<core::MethodTable::kHasPointers | kClass, 48>;
  Derived leaf = {{0, 32 - 48, 8, 1}, {core::MethodTable::kHasPointers | kClass, 48, &node_type.table, 1, 0, 0}}, link = leaf;
  Object *first = plain(&leaf.table), *second = plain(&link.table), *own = plain(&leaf.table);
  set(first, 4, nullptr), set(second, 4, nullptr), set(own, 4, nullptr);
  set(first, 1, born());
  set(second, 1, born());
  set(own, 4, born());  // declared by the derived class
  uint64_t locals[] = {address(first), address(second), address(own)};
  for (uint64_t& local : locals) places_without_frame.push_back(&local);
  look();
  Told now = told();
  EXPECT_EQ(now.field(&node_type.table, kFirstField).objects, 2u);
  EXPECT_EQ(now.field(&leaf.table, 32).objects, 1u);
  EXPECT_EQ(now.fields.size(), 2u);
  for (uint64_t& local : locals) local = 0;
  look();
  for (const heap::DeathRow& row : told().rows) EXPECT_EQ(row.holder_type, row.offset == 32 ? &leaf.table : &node_type.table);
}

TEST_F(DeathsTest, WhatWasTakenOutOfItsField) {
  Object* owner = plain();
  uint64_t local = address(owner);
  places_without_frame.push_back(&local);
  set(owner, 1, born());
  look();
  set(owner, 1, nullptr);
  look();
  EXPECT_EQ(told().count(Kind::kEmptied), 1u);
  EXPECT_EQ(told().field(&node_type.table, kFirstField).emptied, 1u);
  EXPECT_EQ(told().field(&node_type.table, kFirstField).replaced, 0u);
}

}  // namespace
}  // namespace freehold::testing
