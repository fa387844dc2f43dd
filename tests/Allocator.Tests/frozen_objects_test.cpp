// Which frozen object holds an address (heap/frozen_objects.h), whatever was noted of its segment.
#include "heap/frozen_objects.h"

#include <map>
#include <random>
#include <vector>

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;

class FrozenObjectsTest : public HeapTest {
 protected:
  struct Segment {
    std::vector<uint64_t> memory;
    size_t used = 1;  // words; the first object's header is before it
    uint8_t* at(size_t word) { return reinterpret_cast<uint8_t*>(memory.data() + word); }
  };
  static inline std::vector<Segment> segments;
  static inline bool are_being_filled;  // behind the last object of a segment is room for more

  static void for_each(void (*fn)(uint8_t*, uint8_t*, void*), void* argument) {
    for (Segment& segment : segments) fn(segment.at(1), are_being_filled ? segment.at(segment.memory.size()) : segment.at(segment.used), argument);
  }
  // Objects of any size, in the order of their addresses.
  void add(Segment& segment, size_t count) {
    for (size_t i = 0; i < count; i++) {
      size_t words = 3 + random_() % (random_() % 64 == 0 ? 2'000 : 20);
      if (segment.used + words >= segment.memory.size()) return;
      auto* object = reinterpret_cast<Object*>(segment.at(segment.used));
      object->length = static_cast<uint32_t>(words * 8 - bytes_type.table.base_size);
      object->type = &bytes_type.table;
      objects_[reinterpret_cast<uintptr_t>(object)] = words * 8;
      segment.used += words;
    }
  }
  void expect_found() {
    for (auto [address, size] : objects_) {
      for (uintptr_t within : {address, address + size / 2, address + size - 9}) ASSERT_EQ(heap::find_frozen(within), reinterpret_cast<Object*>(address));
    }
    uint64_t local = 0;
    EXPECT_EQ(heap::find_frozen(reinterpret_cast<uintptr_t>(&local)), nullptr);
    for (Segment& segment : segments) {
      EXPECT_EQ(heap::find_frozen(reinterpret_cast<uintptr_t>(segment.at(segment.used))), nullptr);
      EXPECT_EQ(heap::find_frozen(reinterpret_cast<uintptr_t>(segment.at(0))), nullptr);
    }
  }

  std::mt19937_64 random_{1};
  std::map<uintptr_t, size_t> objects_;
};

TEST_F(FrozenObjectsTest, AreFoundWhenNotedAndLater) {
  are_being_filled = false;
  segments.assign(70, {});  // more than there is room for
  for (Segment& segment : segments) segment.memory.assign(200'000 / segments.size() * 10, 0);
  for (Segment& segment : segments) add(segment, 100);
  heap::note_frozen(for_each);
  expect_found();
  for (Segment& segment : segments) add(segment, 100);
  segments.emplace_back();
  segments.back().memory.assign(10'000, 0);
  add(segments.back(), 300);
  expect_found();
  heap::note_frozen(for_each);
  expect_found();
}

TEST_F(FrozenObjectsTest, AreFoundInSegmentsThatAreBeingFilled) {
  are_being_filled = true;
  segments.assign(3, {});
  for (Segment& segment : segments) segment.memory.assign(100'000, 0);
  heap::note_frozen(for_each);
  for (int round = 0; round < 3; round++) {
    for (Segment& segment : segments) add(segment, 100);
    expect_found();
    heap::note_frozen(for_each);
    expect_found();
  }
}

TEST_F(FrozenObjectsTest, AreFoundWithoutMemoryForNotes) {
  are_being_filled = false;
  segments.assign(3, {});
  for (Segment& segment : segments) segment.memory.assign(100'000, 0);
  for (Segment& segment : segments) add(segment, 400);
  for (const char* failure : {"mmap:1+", "mprotect:1+"}) {
    heap::reset_heap();
    ASSERT_TRUE(os::inject_failures(failure));
    heap::note_frozen(for_each);
    ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615"));
    expect_found();
  }
}

}  // namespace
}  // namespace freehold::testing
