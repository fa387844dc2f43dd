// Which types own parts is read from their vtables; deletion asks before anything else happens to the object.
#include "heap/owned_parts.h"

#include "heap/deletion.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::MethodTable;
using core::Object;
using heap::DeleteResult;

void something() {}

struct TypeWithSlots {
  int64_t description[4] = {};
  MethodTable table;
  const void* slots[2];
};

const void* none() { return reinterpret_cast<const void*>(&FreeholdCollectNoParts); }
const void* own() { return reinterpret_cast<const void*>(&something); }

// A class that owns nothing, one that owns something, and one that has a finalizer too.
TypeWithSlots plain_type = {{}, {kClass, 24, nullptr, 2, 0, 0}, {none(), own()}};
TypeWithSlots owner_type = {{}, {kClass, 32, nullptr, 2, 0, 0}, {own(), none()}};
TypeWithSlots finalizable_owner_type = {{}, {kClass | MethodTable::kHasFinalizer, 40, nullptr, 2, 0, 0}, {own(), own()}};

class OwnedPartsTest : public HeapTest {};

TEST_F(OwnedPartsTest, OwnersAreToldFromTheirVtables) {
  EXPECT_FALSE(heap::owns_parts(&plain_type.table));
  EXPECT_TRUE(heap::owns_parts(&owner_type.table));
}

TEST_F(OwnedPartsTest, AnOwnerIsLeftAloneUntilItsPartsAreKnown) {
  for (int i = 0; i < 3; i++) {  // the first deletion of a thread takes a way of its own
    Object* object = allocate(&owner_type.table);
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kOwnsParts);
    EXPECT_EQ(heap::delete_part(object), DeleteResult::kOwnsParts);
    EXPECT_FALSE(heap::is_deleted(object));
    EXPECT_EQ(heap::delete_itself(object), DeleteResult::kDeleted);
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  }
  EXPECT_EQ(heap::delete_object(allocate(&plain_type.table)), DeleteResult::kDeleted);
  EXPECT_EQ(heap::delete_object(allocate(&bytes_type.table, 100)), DeleteResult::kDeleted);
  expect_valid("after deletions");
}

TEST_F(OwnedPartsTest, FinalizerThenPartsThenLock) {
  Object* object = allocate(&finalizable_owner_type.table);
  *object->sync_word() |= core::kSyncIsHashOrIndex | 5;
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kNeedsFinalizer);
  EXPECT_EQ(heap::delete_finalized(object), DeleteResult::kOwnsParts);
  EXPECT_EQ(heap::delete_itself(object), DeleteResult::kHasSyncEntry);
  EXPECT_EQ(heap::delete_keeping_lock(object), DeleteResult::kDeleted);
}

TEST_F(OwnedPartsTest, APartThatIsGoneIsNoDoubleDelete) {
  Object* object = allocate(&plain_type.table);
  uint64_t before = heap::thread_totals().double_deletes;
  EXPECT_EQ(heap::delete_part(object), DeleteResult::kDeleted);
  EXPECT_EQ(heap::delete_part(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::thread_totals().double_deletes, before);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::thread_totals().double_deletes, before + 1);
}

// What the framework gives to all who ask: no way of deletion takes it, and it takes no finalizer of its, nor its parts.
TEST_F(OwnedPartsTest, WhatIsSharedStays) {
  Object* objects[] = {allocate(&plain_type.table), allocate(&owner_type.table), allocate(&finalizable_owner_type.table), allocate(&bytes_type.table, 100),
                       allocate(&bytes_type.table, 5 << 20)};
  for (Object* object : objects) {
    EXPECT_FALSE(heap::is_shared(object));
    heap::share(object);
    heap::share(object);
    EXPECT_TRUE(heap::is_shared(object));
    for (int i = 0; i < 2; i++) {
      EXPECT_EQ(heap::delete_object(object), DeleteResult::kShared);
      EXPECT_EQ(heap::delete_part(object), DeleteResult::kShared);
      EXPECT_EQ(heap::delete_finalized(object), DeleteResult::kShared);
      EXPECT_EQ(heap::delete_itself(object), DeleteResult::kShared);
    }
    EXPECT_FALSE(heap::is_deleted(object));
  }
  expect_valid("with shared objects");
  // What finds that nothing leads to one asks no more.
  for (Object* object : objects) EXPECT_EQ(heap::delete_keeping_lock(object), DeleteResult::kDeleted);
  for (Object* object : objects) heap::share(object);
  heap::share(nullptr);
  int on_the_stack = 0;
  heap::share(&on_the_stack);
  EXPECT_FALSE(heap::is_shared(&on_the_stack));
  expect_valid("when they are deleted");
}

}  // namespace
}  // namespace freehold::testing
