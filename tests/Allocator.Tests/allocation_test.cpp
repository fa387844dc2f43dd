// The allocation helpers in assembly (runtime/allocation.S), on a heap without a runtime: this file is the runtime that they need.
#include <algorithm>

#include "heap_fixture.h"
#include "runtime/runtime_imports.h"

using freehold::core::MethodTable;
using freehold::heap::AllocationContext;

extern "C" {
void* __wrap_RhpNewFast(const MethodTable* type);
void* __wrap_RhNewString(const MethodTable* type, intptr_t length);
// Named after what it wraps, which differs between versions (layout.h).
#define NAME(symbol) #symbol
#define WRAP(symbol) asm("__wrap_" NAME(symbol))
#define REAL(symbol) asm("__real_" NAME(symbol))
#define SYMBOL(symbol) asm(NAME(symbol))
void* allocate_array(const MethodTable* type, intptr_t length) WRAP(FREEHOLD_ARRAY_FAST_PATH);
#ifdef FREEHOLD_POINTER_ARRAY_FAST_PATH
void* allocate_pointer_array(const MethodTable* type, intptr_t length) WRAP(FREEHOLD_POINTER_ARRAY_FAST_PATH);
#endif
void* allocate_elements_slowly(const MethodTable* type, intptr_t length) SYMBOL(FREEHOLD_LENGTH_SLOW_PATH);
void* refuse_array(const MethodTable* type, intptr_t length) REAL(FREEHOLD_ARRAY_FAST_PATH);
}

namespace {

using freehold::runtime::tls_CurrentThread;

int slow_allocations = 0;
intptr_t refused_length = 0;

AllocationContext* context() { return &tls_CurrentThread.allocation; }

void* allocate_slowly(const MethodTable* type, size_t size) {
  slow_allocations++;
  void* object = freehold::heap::allocate(context(), size, 0);
  if (object != nullptr) *static_cast<const MethodTable**>(object) = type;
  return object;
}

size_t size_of(const MethodTable* type, intptr_t length) {
  return freehold::core::align_up(type->base_size + type->component_size() * static_cast<size_t>(length), 8);
}

}  // namespace

extern "C" {
bool freehold_extend(AllocationContext* context, size_t size) noexcept { return freehold::heap::extend(context, size); }
// The stack of a callee of the C calling convention is aligned: what the runtime's own code may rely on.
void* RhpNewObject(const MethodTable* type, uint32_t flags) {
  EXPECT_EQ(flags, 0u);
  return allocate_slowly(type, type->base_size);
}
void* allocate_elements_slowly(const MethodTable* type, intptr_t length) {
  void* array = allocate_slowly(type, size_of(type, length));
  static_cast<freehold::core::Object*>(array)->length = static_cast<uint32_t>(length);
  return array;
}
void* __real_RhNewString(const MethodTable*, intptr_t length) {
  refused_length = length;
  return nullptr;
}
void* refuse_array(const MethodTable*, intptr_t length) {
  refused_length = length;
  return nullptr;
}
}

namespace freehold::testing {
namespace {

TypeOf<core::MethodTable::kHasComponentSize | 2, 22> string_type;
TypeOf<0, 40'000> wide_type;  // more than shares pages with others

class AllocationTest : public HeapTest {
 protected:
  void SetUp() override {
    HeapTest::SetUp();
    slow_allocations = 0;
  }
  void TearDown() override {
    heap::retire(context());
    HeapTest::TearDown();
  }
};

TEST_F(AllocationTest, ObjectsFollowEachOtherAndHaveTheirTypes) {
  constexpr int kCount = 300'000;  // several blocks
  std::vector<core::Object*> objects;
  for (int i = 0; i < kCount; i++) {
    objects.push_back(static_cast<core::Object*>(__wrap_RhpNewFast(i % 3 == 0 ? &node_type.table : &small_type.table)));
  }
  int gaps = 0;
  for (int i = 0; i < kCount; i++) {
    ASSERT_EQ(objects[i]->type, i % 3 == 0 ? &node_type.table : &small_type.table);
    ASSERT_EQ(*objects[i]->header(), 0u);
    if (i > 0 && objects[i]->start() != objects[i - 1]->start() + objects[i - 1]->size()) gaps++;
  }
  // Only new chunks take the runtime's way; some of them follow the last one.
  EXPECT_LE(gaps + 1, slow_allocations);
  EXPECT_LT(slow_allocations, 20);
}

TEST_F(AllocationTest, ArraysAndStringsHaveTheirLengthsAndAreZero) {
  std::vector<core::Object*> arrays;
  for (int round = 0; round < 40; round++) {
    for (intptr_t length : {0, 1, 2, 3, 7, 8, 9, 100, 4'000, 30'000}) {
      auto* array = static_cast<core::Object*>(allocate_array(&bytes_type.table, length));
      auto* string = static_cast<core::Object*>(__wrap_RhNewString(&string_type.table, length / 2));
      ASSERT_EQ(array->type, &bytes_type.table);
      ASSERT_EQ(array->length, static_cast<uint32_t>(length));
      ASSERT_EQ(string->type, &string_type.table);
      ASSERT_EQ(string->length, static_cast<uint32_t>(length / 2));
      auto* bytes = reinterpret_cast<uint8_t*>(array) + 16;
      for (intptr_t i = 0; i < length; i++) ASSERT_EQ(bytes[i], 0);
      std::fill_n(bytes, length, uint8_t{0xff});
      auto* characters = reinterpret_cast<uint16_t*>(reinterpret_cast<uint8_t*>(string) + 12);
      for (intptr_t i = 0; i <= length / 2; i++) ASSERT_EQ(characters[i], 0);
      std::fill_n(characters, length / 2, uint16_t{0xffff});
      arrays.push_back(array);
      arrays.push_back(string);
    }
    // So that later rounds are made in memory that was used.
    if (round % 4 == 3) {
      for (core::Object* array : arrays) ASSERT_EQ(heap::delete_object(array), heap::DeleteResult::kDeleted);
      arrays.clear();
    }
  }
}

TEST_F(AllocationTest, WhatIsTooLargeTakesTheRuntimesWay) {
  __wrap_RhpNewFast(&small_type.table);
  // A chunk of many windows has room for it, where it must not lie.
  for (int i = 0; i < 200'000; i++) __wrap_RhpNewFast(&small_type.table);
  int before = slow_allocations;
  auto* wide = static_cast<core::Object*>(__wrap_RhpNewFast(&wide_type.table));
  auto* array = static_cast<core::Object*>(allocate_array(&bytes_type.table, 100'000));
  EXPECT_EQ(slow_allocations, before + 2);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide->start()) % core::kPageSize, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array->start()) % core::kPageSize, 0u);
  EXPECT_EQ(array->length, 100'000u);
}

TEST_F(AllocationTest, ImpossibleLengthsAreTheRuntimes) {
  for (intptr_t length : {intptr_t{-1}, intptr_t{0x3fffffe0}, INTPTR_MAX}) {
    EXPECT_EQ(__wrap_RhNewString(&string_type.table, length), nullptr);
    EXPECT_EQ(refused_length, length);
  }
  for (intptr_t length : {intptr_t{-1}, intptr_t{0x80000000}, INTPTR_MIN}) {
    EXPECT_EQ(allocate_array(&bytes_type.table, length), nullptr);
    EXPECT_EQ(refused_length, length);
  }
}

}  // namespace
}  // namespace freehold::testing
