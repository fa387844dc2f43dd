// Which types own parts is read from their vtables; deletion asks before anything else happens to the object.
#include "heap/owned_parts.h"

#include "heap/deletion.h"
#include "heap_fixture.h"

// What the rewritten CoreLib exports.
extern "C" void FreeholdCollectNoParts() {}

namespace freehold::testing {
namespace {

using core::MethodTable;
using core::Object;
using heap::DeleteResult;

void something() {}

struct TypeWithSlots {
  int64_t description[4] = {};
  MethodTable table;
  const void* slots[3];
};

const void* none() { return reinterpret_cast<const void*>(&FreeholdCollectNoParts); }
const void* own() { return reinterpret_cast<const void*>(&something); }

// System.Object, a class that owns nothing, one that owns something and a class derived from it, in a program in which the slot is the second one.
TypeWithSlots object_type = {{}, {kClass, 24, nullptr, 3, 0, 0}, {own(), none(), own()}};
TypeWithSlots plain_type = {{}, {kClass, 24, &object_type.table, 3, 0, 0}, {own(), none(), own()}};
TypeWithSlots owner_type = {{}, {kClass, 32, &object_type.table, 3, 0, 0}, {own(), own(), own()}};
TypeWithSlots derived_type = {{}, {kClass, 40, &owner_type.table, 3, 0, 0}, {none(), own(), own()}};
TypeWithSlots finalizable_owner_type = {{}, {kClass | MethodTable::kHasFinalizer, 40, &owner_type.table, 3, 0, 0}, {own(), own(), own()}};

class OwnedPartsTest : public HeapTest {};

TEST_F(OwnedPartsTest, OwnersAreToldFromTheirVtables) {
  for (int round = 0; round < 2; round++) {  // the slot is found by the first question
    EXPECT_FALSE(heap::owns_parts(&object_type.table));
    EXPECT_FALSE(heap::owns_parts(&plain_type.table));
    EXPECT_TRUE(heap::owns_parts(&owner_type.table));
    EXPECT_TRUE(heap::owns_parts(&derived_type.table));
    EXPECT_FALSE(heap::owns_parts(&bytes_type.table));
  }
  EXPECT_FALSE(heap::may_own_parts(&plain_type.table)) << "no call for most";
  EXPECT_TRUE(heap::may_own_parts(&derived_type.table));
}

TEST_F(OwnedPartsTest, AnOwnerIsLeftAloneUntilItsPartsAreKnown) {
  for (MethodTable* type : {&owner_type.table, &derived_type.table}) {
    Object* object = allocate(type);
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

}  // namespace
}  // namespace freehold::testing
