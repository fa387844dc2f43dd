// The runtime's helpers that Freehold replaces in assembly, and what it reads of a type: the finalizer's address.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "core/fault_counters.h"
#include "core/object.h"
#include "runtime/code_sites.h"
#include "runtime/event.h"
#include "runtime/finalizer.h"
#include "runtime/frozen_segments.h"
#include "runtime/gc_heap.h"
#include "runtime/runtime_imports.h"

extern "C" {
void RhpAssignRef(void** location, void* reference);
void RhpCheckedAssignRef(void** location, void* reference);
void* RhpCheckedLockCmpXchg(void** location, void* value, void* comparand);
void* RhpCheckedXchg(void** location, void* value);
int32_t __wrap_RhpLockCmpXchg32(int32_t* location, int32_t value, int32_t comparand);
int64_t __wrap_RhpLockCmpXchg64(int64_t* location, int64_t value, int64_t comparand);
void __wrap_RhSuppressFinalize(void* object);
bool __wrap_RhReRegisterForFinalize(void* object);
int32_t __wrap_RhCompareObjectContentsAndPadding(void* left, void* right);
void RhpByRefAssignRef();
void __wrap_RhpThrowEx(void* exception);

// The runtime's own, which the wrapper ends in.
void* thrown;
void __real_RhpThrowEx(void* exception) { thrown = exception; }
}

namespace {

using freehold::core::MethodTable;
namespace core = freehold::core;
using namespace freehold::runtime;

// An object of `fields` words with a header.
struct TestObject {
  alignas(8) uint32_t header = 0;
  uint32_t sync = 0;
  const MethodTable* type;
  uint64_t fields[4] = {};

  void* address() { return &type; }
};
static_assert(offsetof(TestObject, type) == 8);

TEST(RuntimeHelpers, ReferencesAreStoredAndExchanged) {
  int a, b;
  void* cell = nullptr;
  RhpAssignRef(&cell, &a);
  EXPECT_EQ(cell, &a);
  RhpCheckedAssignRef(&cell, &b);
  EXPECT_EQ(cell, &b);
  EXPECT_EQ(RhpCheckedXchg(&cell, &a), &b);
  EXPECT_EQ(RhpCheckedLockCmpXchg(&cell, &b, nullptr), &a);
  EXPECT_EQ(cell, &a);
  EXPECT_EQ(RhpCheckedLockCmpXchg(&cell, &b, &a), &a);
  EXPECT_EQ(cell, &b);
  int32_t small = 5;
  EXPECT_EQ(__wrap_RhpLockCmpXchg32(&small, 6, 4), 5);
  EXPECT_EQ(__wrap_RhpLockCmpXchg32(&small, 6, 5), 5);
  EXPECT_EQ(small, 6);
  int64_t large = int64_t{1} << 40;
  EXPECT_EQ(__wrap_RhpLockCmpXchg64(&large, -1, int64_t{1} << 40), int64_t{1} << 40);
  EXPECT_EQ(large, -1);
}

TEST(RuntimeHelpers, ByRefAssignCopiesOneReferenceAndAdvancesBoth) {
  uint64_t source[2] = {11, 22}, target[2] = {};
  uint64_t* from = source;
  uint64_t* to = target;
  asm volatile("sub $128, %%rsp\n\tcall RhpByRefAssignRef@PLT\n\tadd $128, %%rsp" : "+S"(from), "+D"(to) : : "rcx", "rax", "memory", "cc");
  EXPECT_EQ(target[0], 11u);
  EXPECT_EQ(target[1], 0u);
  EXPECT_EQ(from, source + 1);
  EXPECT_EQ(to, target + 1);
}

TEST(RuntimeHelpers, FinalizationIsSuppressedOnlyForTypesThatHaveAFinalizer) {
  MethodTable plain = {}, finalizable = {};
  finalizable.flags = MethodTable::kHasFinalizer;
  TestObject object;
  object.sync = 0x00345678;
  object.type = &plain;
  __wrap_RhSuppressFinalize(object.address());
  EXPECT_EQ(object.sync, 0x00345678u);
  object.type = &finalizable;
  __wrap_RhSuppressFinalize(object.address());
  EXPECT_EQ(object.sync, 0x40345678u);
  EXPECT_TRUE(__wrap_RhReRegisterForFinalize(object.address()));
  EXPECT_EQ(object.sync, 0x00345678u);
  EXPECT_EQ(object.header, 0u);
}

TEST(RuntimeHelpers, ContentsAreComparedToTheLastWord) {
  MethodTable type = {};
  TestObject left, right;
  left.type = right.type = &type;
  for (uint32_t words = 0; words <= 4; words++) {
    type.base_size = 16 + 8 * words;
    EXPECT_EQ(__wrap_RhCompareObjectContentsAndPadding(left.address(), right.address()), 1);
    for (uint32_t i = 0; i < 4; i++) {
      right.fields[i] = uint64_t{1} << 63;
      EXPECT_EQ(__wrap_RhCompareObjectContentsAndPadding(left.address(), right.address()), i < words ? 0 : 1) << words << " words, word " << i << " differs";
      right.fields[i] = 0;
    }
  }
}

// Builds the part of a MethodTable behind its head: vtable, interfaces, optional fields; the finalizer's field refers to `code`.
std::vector<uint8_t> make_type(uint32_t flags, uint16_t vtable_slots, uint16_t interfaces, bool dispatch_map, const void* code) {
  bool absolute = (flags & MethodTable::kIsDynamic) != 0;
  size_t width = absolute ? 8 : 4, field = sizeof(MethodTable) + (vtable_slots + interfaces) * 8u + (dispatch_map ? 3 : 2) * width;
  std::vector<uint8_t> bytes(field + width);
  auto* type = reinterpret_cast<MethodTable*>(bytes.data());
  type->flags = flags | (dispatch_map ? 0x40000 : 0);
  type->vtable_slots = vtable_slots;
  type->interfaces = interfaces;
  if (absolute) {
    memcpy(&bytes[field], &code, 8);
  } else {
    auto distance = static_cast<int32_t>(reinterpret_cast<intptr_t>(code) - reinterpret_cast<intptr_t>(&bytes[field]));
    memcpy(&bytes[field], &distance, 4);
  }
  return bytes;
}

TEST(Finalizer, IsFoundBehindVtableInterfacesAndOptionalFields) {
  for (bool absolute : {false, true}) {
    for (bool dispatch_map : {false, true}) {
      for (uint16_t slots : {uint16_t{3}, uint16_t{17}}) {
        static const uint8_t anchor[16] = {};
        auto bytes = make_type(MethodTable::kHasFinalizer | (absolute ? MethodTable::kIsDynamic : 0), slots, 2, dispatch_map, anchor);
        auto* type = reinterpret_cast<MethodTable*>(bytes.data());
        if (absolute) {
          EXPECT_EQ(finalizer_of(type), anchor);
        } else {
          // A relative field reaches 2 GB only: point it at the type itself.
          auto near = make_type(type->flags & ~0x40000u, slots, 2, dispatch_map, nullptr);
          size_t field = near.size() - 4;
          int32_t distance = -static_cast<int32_t>(field);
          memcpy(&near[field], &distance, 4);
          EXPECT_EQ(finalizer_of(reinterpret_cast<MethodTable*>(near.data())), near.data());
        }
        type->flags &= ~MethodTable::kHasFinalizer;
        EXPECT_EQ(finalizer_of(type), nullptr);
      }
    }
  }
}

TEST(RuntimeHelpers, ThrowsWhatItIsGivenNullToo) {
  TestObject exception = {};
  thrown = nullptr;
  __wrap_RhpThrowEx(exception.address());
  EXPECT_EQ(thrown, exception.address());
  __wrap_RhpThrowEx(nullptr);
  EXPECT_EQ(thrown, nullptr);
}

TEST(FrozenSegments, AreFoundWhileRegistered) {
  static uint8_t memory[4096];
  void* handle = register_frozen_segment({memory, 8, 1024, 4096, 4096});
  ASSERT_NE(handle, nullptr);
  EXPECT_FALSE(is_in_frozen_segment(memory));
  EXPECT_TRUE(is_in_frozen_segment(memory + 8));
  EXPECT_FALSE(is_in_frozen_segment(memory + 1024));
  update_frozen_segment(handle, memory + 2048, memory + 4096);
  EXPECT_TRUE(is_in_frozen_segment(memory + 2047));
  unregister_frozen_segment(handle);
  EXPECT_FALSE(is_in_frozen_segment(memory + 8));
  // More than one chunk of the table.
  std::vector<void*> handles;
  static uint8_t many[600];
  for (size_t i = 0; i < 600; i++) handles.push_back(register_frozen_segment({many + i, 0, 1, 1, 1}));
  EXPECT_TRUE(is_in_frozen_segment(many + 599));
  for (void* each : handles) unregister_frozen_segment(each);
  EXPECT_FALSE(is_in_frozen_segment(many + 599));
}

TEST(FrozenSegments, EachThatIsRegisteredIsVisited) {
  static uint8_t memory[2][256];
  using Visited = std::vector<std::pair<uint8_t*, uint8_t*>>;
  auto visited = [] {
    Visited found;
    for_each_frozen_segment([](uint8_t* first, uint8_t* end, void* found) { static_cast<Visited*>(found)->emplace_back(first, end); }, &found);
    return found;
  };
  ASSERT_EQ(visited(), Visited());
  void *first = register_frozen_segment({memory[0], 8, 64, 256, 256}), *second = register_frozen_segment({memory[1], 8, 128, 256, 256});
  EXPECT_EQ(visited(), (Visited{{memory[0] + 8, memory[0] + 64}, {memory[1] + 8, memory[1] + 128}}));
  unregister_frozen_segment(first);
  update_frozen_segment(second, memory[1] + 200, memory[1] + 256);
  EXPECT_EQ(visited(), (Visited{{memory[1] + 8, memory[1] + 200}}));
  unregister_frozen_segment(second);
  EXPECT_EQ(visited(), Visited());
}

// A helper is a place of its own for each caller; the table says no when it is half full.
TEST(CodeSites, EachIsNewOnce) {
  // The table is never cleared, and a test may be repeated.
  static uintptr_t code = 0;
  code += 0x1000;
  uint64_t before = core::fault_counters.sites.load();
  for (uintptr_t ip : {code, code + 1, code + 2}) {
    for (uintptr_t caller : {uintptr_t{0}, uintptr_t{0x500001}}) {
      EXPECT_TRUE(is_new_site(ip, caller)) << ip << " " << caller;
      EXPECT_FALSE(is_new_site(ip, caller)) << ip << " " << caller;
    }
  }
  EXPECT_EQ(core::fault_counters.sites.load(), before + 6);
  core::fault_counters.sites.store(uint64_t{1} << 17);
  EXPECT_FALSE(is_new_site(code + 3, 0));
  core::fault_counters.sites.store(before + 6);
  EXPECT_TRUE(is_new_site(code + 3, 0));
  core::fault_counters.sites.store(before);
}

TEST(Event, WaitsUntilSetAndTimesOut) {
  Event event{false};
  EXPECT_FALSE(event.wait(5));
  event.set();
  EXPECT_TRUE(event.wait());
  event.reset();
  EXPECT_FALSE(event.wait(0));
}

TEST(Event, EndsTheWaitOfAnotherThread) {
  for (int round = 0; round < 100; round++) {
    Event event{false}, answer{false};
    std::thread waiting([&] {
      EXPECT_TRUE(event.wait());
      answer.set();
    });
    event.set();
    EXPECT_TRUE(answer.wait());
    waiting.join();
  }
}

}  // namespace
