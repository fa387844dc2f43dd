// What speaks against a field: another holder of whatever kind, what finalizers use, values that nobody samples, and other classes with the same declaration.
#include "deaths_fixture.h"
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
