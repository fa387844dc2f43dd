// Pins: what threads and handles hold keeps its memory, whatever becomes of the object.
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "heap/forwarding.h"
#include "heap/maintenance_signals.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::BlockState;
using core::Object;
using heap::DeleteResult;

size_t block_of(const void* address) { return core::arena.block_index(reinterpret_cast<uintptr_t>(address)); }
BlockState state_of(const void* address) { return core::arena.blocks[block_of(address)].state.load(); }

// What the stacks hold, for a heap without a runtime.
std::vector<void*> held;
bool scan_held(const heap::PinScan& scan) {
  scan.stopped(scan.argument);
  for (void* address : held) scan.pinned(address, scan.argument);
  scan.seen(scan.argument);
  return true;
}

class PinsTest : public HeapTest, public ::testing::WithParamInterface<bool> {
 protected:
  void configure(core::Knobs&) override { held.clear(); }

  void SetUp() override {
    HeapTest::SetUp();
    if (GetParam()) {
      ASSERT_TRUE(os::inject_failures("membarrier:1"));
    }
    heap::initialize_pins();
    EXPECT_NE(heap::pins_use_membarrier(), GetParam());
    heap::set_pin_scanner(scan_held);
  }

  // More than one block of small objects; `kept` lies in the first that is full.
  std::vector<Object*> fill_blocks() {
    std::vector<Object*> objects;
    for (int i = 0; i < 400'000; i++) objects.push_back(allocate(&small_type.table));
    return objects;
  }

  static void delete_all(const std::vector<Object*>& objects) {
    for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  }

  static size_t look() {
    EXPECT_TRUE(heap::look_for_pins());
    return heap::release_unpinned(1);
  }
};

// What stacks hold cannot be noted: then a look for pins forgets none.
TEST_P(PinsTest, WithoutMemoryForTheFindingsNothingIsForgotten) {
  std::vector<Object*> objects = fill_blocks();
  Object *object = objects[objects.size() / 2], *other = objects[objects.size() / 4];
  for (Object* pinned : {object, other}) ASSERT_EQ(heap::pin(pinned), pinned);
  delete_all(objects);
  held.push_back(other);
  ASSERT_TRUE(os::inject_failures("mmap:1+"));
  heap::look_for_pins();
  ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615"));
  EXPECT_TRUE(heap::is_pinned(block_of(object)));
  EXPECT_EQ(state_of(object), BlockState::kPooled);
  look();
  EXPECT_TRUE(heap::is_pinned(block_of(other)));
  EXPECT_TRUE(block_of(object) == block_of(other) || !heap::is_pinned(block_of(object)));
}

// A thread that the runtime does not stop buries a block while another looks for pins: it must not seem to have forgotten one.
TEST_P(PinsTest, ScanDoesNotHidePins) {
  std::vector<Object*> objects = fill_blocks();
  static Object* object;
  static bool pinned_meanwhile, kept_meanwhile;
  pinned_meanwhile = kept_meanwhile = true;
  object = objects[objects.size() / 2];
  held.push_back(object);
  ASSERT_EQ(heap::pin(object), object);
  delete_all(objects);
  EXPECT_EQ(state_of(object), BlockState::kPooled);
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    auto look = [] {
      std::thread([] {
        pinned_meanwhile = pinned_meanwhile && heap::is_pinned(block_of(object));
        kept_meanwhile = kept_meanwhile && heap::release_unpinned(1) == 0;
      }).join();
    };
    scan.stopped(scan.argument);
    look();
    scan.pinned(object, scan.argument);
    look();
    scan.seen(scan.argument);
    look();
    return true;
  });
  ASSERT_TRUE(heap::look_for_pins());
  EXPECT_TRUE(pinned_meanwhile);
  EXPECT_TRUE(kept_meanwhile);
  EXPECT_EQ(heap::release_unpinned(1), 0u);
  EXPECT_EQ(state_of(object), BlockState::kPooled);
  EXPECT_EQ(heap::block_counters.pinned.load(), 1u);
  heap::set_pin_scanner(scan_held);
  held.clear();
  EXPECT_GT(look(), 0u);
  EXPECT_FALSE(heap::is_pinned(block_of(object)));
}

TEST_P(PinsTest, DeadBlockWaitsForTheThread) {
  std::vector<Object*> objects = fill_blocks();
  Object* object = objects[objects.size() / 2];
  auto* content = reinterpret_cast<uint64_t*>(object) + 1;
  *content = 4711;
  held.push_back(object);
  ASSERT_EQ(heap::pin(object), object);
  delete_all(objects);
  EXPECT_EQ(heap::block_counters.pinned.load(), 1u);
  EXPECT_EQ(state_of(object), BlockState::kPooled);
  heap::collect();
  EXPECT_EQ(*content, 4711u);
  EXPECT_EQ(heap::classify(object), heap::AddressState::kDeletedMapped);
  expect_valid("while a dead block is pinned");
  held.clear();
  EXPECT_EQ(look(), 1u);
  EXPECT_EQ(heap::block_counters.pinned.load(), 0u);
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins());
  heap::collect();
  EXPECT_EQ(heap::classify(object), heap::AddressState::kDead);
  expect_valid("after the pin has gone");
}

// Deep recursion: many pinned locals, of few objects and of many. What none of them holds is forgotten all the same.
TEST_P(PinsTest, ManyPinnedLocalsHideNothing) {
  std::vector<Object*> objects = fill_blocks();
  Object* object = objects[objects.size() / 2];
  Object* other = objects[0];
  ASSERT_NE(block_of(object), block_of(other));
  ASSERT_EQ(heap::pin(object), object);
  ASSERT_EQ(heap::pin(other), other);
  held.assign(200'000, other);
  for (size_t i = 0; i < held.size(); i += 3) held[i] = objects.back();
  held.push_back(object);
  delete_all(objects);
  EXPECT_EQ(look(), 0u) << "held by the last of 200,001 locals";
  held.pop_back();
  EXPECT_EQ(look(), 1u);
  EXPECT_FALSE(heap::is_pinned(block_of(object)));
  EXPECT_TRUE(heap::is_pinned(block_of(other)));
  held.clear();
  look();
  expect_valid("at the end");
}

TEST_P(PinsTest, DeadBlockWaitsForItsHandles) {
  std::vector<Object*> objects = fill_blocks();
  Object* object = objects[objects.size() / 2];
  heap::pin(object);
  heap::add_handle_pin(object);
  heap::add_handle_pin(object);
  delete_all(objects);
  EXPECT_EQ(look(), 0u);
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins()) << "no stop can tell anything about handles";
  heap::remove_handle_pin(object);
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins());
  heap::remove_handle_pin(object);
  EXPECT_TRUE(heap::has_blocks_that_wait_for_pins());
  EXPECT_EQ(heap::classify(object), heap::AddressState::kDeletedMapped);
  heap::collect();
  EXPECT_EQ(heap::classify(object), heap::AddressState::kDead);
  expect_valid("after the handles have gone");
}

TEST_P(PinsTest, HugeObjectWaits) {
  auto* object = allocate(&bytes_type.table, 10'000'000);
  auto* inside = reinterpret_cast<uint8_t*>(object) + 7'000'000;
  *inside = 17;
  held.push_back(inside);
  EXPECT_EQ(heap::pin(inside), inside);
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_EQ(heap::block_counters.pinned_huge.load(), 1u);
  EXPECT_GE(heap::resident_bytes(), 10'000'000u);
  heap::collect();
  EXPECT_EQ(*inside, 17);
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  held.clear();
  heap::collect();
  EXPECT_EQ(heap::classify(inside), heap::AddressState::kDead);
  EXPECT_EQ(heap::block_counters.huge_bytes.load(), 0u);
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDangling);
}

TEST_P(PinsTest, DeadPagesOfALiveBlockWait) {
  std::vector<Object*> objects = fill_blocks();
  // Of the block in the middle, every object but one dies.
  std::vector<Object*> dying;
  size_t block = block_of(objects[objects.size() / 2]);
  for (Object* object : objects) {
    if (block_of(object) == block && block_of(object->start()) == block) dying.push_back(object);
  }
  Object* pinned = dying[dying.size() / 3];
  dying.pop_back();
  held.push_back(pinned);
  heap::pin(pinned);
  delete_all(dying);
  heap::collect();
  EXPECT_EQ(pinned->type, &small_type.table);
  EXPECT_EQ(heap::classify(pinned), heap::AddressState::kDeletedMapped);
  expect_valid("while dead pages are pinned");
  held.clear();
  heap::collect();
  EXPECT_EQ(heap::classify(pinned), heap::AddressState::kDead);
  // What is left of its page's neighbours is not to be had either.
  EXPECT_NE(heap::pin(pinned), pinned);
  expect_valid("after the pin has gone");
}

// Nothing changes before the handle is freed: looks for pins would find the same again and again.
TEST_P(PinsTest, DeadPagesThatOnlyAHandlePinsAskForNoLooks) {
  std::vector<Object*> objects = fill_blocks(), dying;
  size_t block = block_of(objects[objects.size() / 2]);
  for (Object* object : objects) {
    if (block_of(object) == block && block_of(object->start()) == block) dying.push_back(object);
  }
  Object* pinned = dying[dying.size() / 3];
  dying.pop_back();
  heap::add_handle_pin(pinned);
  delete_all(dying);
  heap::collect();
  EXPECT_EQ(heap::classify(pinned), heap::AddressState::kDeletedMapped);
  look();
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins());
  heap::remove_handle_pin(pinned);
  EXPECT_TRUE(heap::has_blocks_that_wait_for_pins());
  look();
  EXPECT_EQ(heap::classify(pinned), heap::AddressState::kDead);
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins());
}

// Pages that die leave the ends of the deleted objects that reached into them, beside objects that live.
TEST_P(PinsTest, WhatALostPageHasCutIsNotPinned) {
  constexpr uint32_t kLength = 10'000;
  std::vector<Object*> small, cut;
  for (int i = 0; i < 1'000; i++) {
    small.push_back(allocate(&small_type.table));
    cut.push_back(allocate(&bytes_type.table, kLength));
  }
  for (Object* object : cut) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  for (size_t block = block_of(small.front()); block <= block_of(small.back()); block++) heap::release_dead_pages(block, 1);
  size_t ends = 0, lost = 0;
  // The second time by what the first has noted of where objects begin.
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < cut.size(); i++) {
      EXPECT_EQ(heap::pin(small[i]), small[i]);
      if (!core::arena.blocks[block_of(cut[i])].partly_released) continue;
      auto* bytes = reinterpret_cast<uint8_t*>(cut[i]) + 16;
      for (uint32_t at = 0; at < kLength; at += 500) {
        size_t page = core::arena.page_index(reinterpret_cast<uintptr_t>(bytes + at) - 1), in_block = page % core::kPagesPerBlock;
        bool has_memory = (core::arena.blocks[page / core::kPagesPerBlock].released[in_block / 64].load() >> (in_block % 64) & 1) == 0;
        (has_memory ? ends : lost)++;
        EXPECT_EQ(heap::classify(heap::pin(bytes + at)), heap::AddressState::kDead) << at;
      }
    }
  }
  EXPECT_GT(ends, 1'000u);
  EXPECT_GT(lost, 1'000u);
}

// Where nothing died beside it, what was deleted keeps its memory as long as its page does.
TEST_P(PinsTest, WhatIsDeletedOnAWholePageIsPinned) {
  std::vector<Object*> objects = fill_blocks();
  size_t block = block_of(objects[1000]);
  for (size_t i = 0; i < objects.size(); i++) {
    size_t page = core::arena.page_index(reinterpret_cast<uintptr_t>(objects[i])) % core::kPagesPerBlock;
    if (i == 1000 || (i % 2 != 0 && page <= 200)) continue;
    ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
  }
  heap::release_dead_pages(block, 1);
  ASSERT_TRUE(core::arena.blocks[block].partly_released);
  EXPECT_EQ(heap::pin(objects[1000]), objects[1000]);
  EXPECT_EQ(heap::pin(objects[1002]), objects[1002]);
}

TEST_P(PinsTest, WhatIsGoneIsNotPinned) {
  std::vector<Object*> objects = fill_blocks();
  Object* object = objects[objects.size() / 2];
  delete_all(objects);
  void* answer = heap::pin(object);
  EXPECT_NE(answer, object);
  EXPECT_EQ(heap::classify(answer), heap::AddressState::kDead);
  uint64_t value;
  EXPECT_FALSE(core::try_load(static_cast<const uint64_t*>(answer), &value));
  EXPECT_FALSE(core::try_load(static_cast<const uint64_t*>(answer) - 1, &value)) << "where the header would be";
  EXPECT_EQ(heap::block_counters.pinned.load(), 0u);
}

TEST_P(PinsTest, AddressesOfOthersAreTheirOwn) {
  int local = 0;
  for (void* address : {static_cast<void*>(nullptr), reinterpret_cast<void*>(1), static_cast<void*>(&local),
                        reinterpret_cast<void*>(core::arena.start + core::arena.size + 1)}) {
    EXPECT_EQ(heap::pin(address), address);
  }
  // One past the end belongs to the object before.
  Object* array = allocate(&bytes_type.table, 8);
  auto* end = reinterpret_cast<uint8_t*>(array) + 24;
  EXPECT_EQ(heap::pin(end), end);
  EXPECT_EQ(core::arena.blocks[block_of(array)].stack_pins.load(), 1);
}

TEST_P(PinsTest, PinWaitsWhileTheBlockIsEvacuatedAndFollowsItsObject) {
  std::vector<Object*> objects = fill_blocks();
  Object* from = objects[10];
  Object* to = objects[objects.size() - 10];
  Object* dead = objects[11];
  core::BlockRecord& record = core::arena.blocks[block_of(from)];
  auto draft = std::make_unique<heap::ForwardingDraft>();
  size_t unit = (reinterpret_cast<uintptr_t>(from->start()) - core::arena.start) % core::kBlockSize / core::kUnit;
  for (size_t i = unit; i < unit + 3; i++) draft->live[i / 64] |= uint64_t{1} << (i % 64);
  draft->target[0] = reinterpret_cast<uintptr_t>(to->start());
  draft->split = UINT32_MAX;
  uint32_t number = heap::make_forwarding(*draft);
  ASSERT_NE(number, heap::kNoForwarding);
  record.state.store(BlockState::kEvacuating);
  std::atomic<void*> result{nullptr};
  std::thread thread([&] { result = heap::pin(from); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(result.load(), nullptr);
  record.next = number;
  record.state.store(BlockState::kForwarded);
  thread.join();
  EXPECT_EQ(result.load(), to);
  EXPECT_NE(heap::pin(dead), dead);
  EXPECT_EQ(heap::classify(heap::pin(dead)), heap::AddressState::kDead);
  EXPECT_TRUE(heap::is_pinned(block_of(to)));
  // A thread that was stopped before it stored the new name holds the new place.
  held.push_back(from);
  heap::refresh_stack_pins([](void* block) { heap::forget_stack_pins(*static_cast<size_t*>(block)); }, std::array<size_t, 1>{block_of(to)}.data());
  EXPECT_TRUE(heap::is_pinned(block_of(to)));
  held.clear();
  heap::refresh_stack_pins([](void* block) { heap::forget_stack_pins(*static_cast<size_t*>(block)); }, std::array<size_t, 1>{block_of(to)}.data());
  EXPECT_FALSE(heap::is_pinned(block_of(to)));
  record.state.store(BlockState::kLive);
  heap::drop_all_forwardings();
}

INSTANTIATE_TEST_SUITE_P(Fences, PinsTest, ::testing::Values(false, true), [](const auto& info) { return info.param ? "inPins" : "byMembarrier"; });

class DebugPinsTest : public PinsTest {
 protected:
  void configure(core::Knobs& knobs) override {
    held.clear();
    knobs.debug = true;
  }
};

TEST_P(DebugPinsTest, OnlyThePinnedObjectStays) {
  Object* pinned = allocate(&bytes_type.table, 10'000);
  Object* other = allocate(&small_type.table);
  auto* inside = reinterpret_cast<uint8_t*>(pinned) + 9'000;
  held.push_back(inside);
  EXPECT_EQ(heap::pin(inside), inside);
  ASSERT_EQ(heap::delete_object(pinned), DeleteResult::kMayBePinned);
  ASSERT_EQ(heap::delete_object(other), DeleteResult::kDeleted);
  EXPECT_EQ(heap::classify(other), heap::AddressState::kDead);
  EXPECT_EQ(*inside, 0);
  EXPECT_EQ(pinned->length, 10'000u);
  EXPECT_EQ(heap::delete_object(pinned), DeleteResult::kAlreadyDeleted);
  held.clear();
  EXPECT_GT(look(), 0u);
  EXPECT_EQ(heap::classify(inside), heap::AddressState::kDead);
}

TEST_P(DebugPinsTest, ManyPinnedObjectsHideNothing) {
  constexpr size_t kCount = 20'000;
  std::vector<Object*> objects;
  for (size_t i = 0; i < kCount + 1; i++) objects.push_back(allocate(&small_type.table));
  // Not in the order of their addresses.
  for (size_t i = 0; i < kCount; i++) held.push_back(objects[i * 7 % kCount]);
  for (Object* object : objects) heap::pin(object);
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kMayBePinned);
  EXPECT_GT(look(), 0u);
  uint64_t value;
  EXPECT_FALSE(core::try_load(reinterpret_cast<const uint64_t*>(objects[kCount]), &value)) << "nobody holds it";
  for (size_t i = 0; i < kCount; i++) ASSERT_EQ(objects[i]->type, &small_type.table) << i;
  held.clear();
  look();
  for (Object* object : objects) ASSERT_FALSE(core::try_load(reinterpret_cast<const uint64_t*>(object), &value));
}

// The last object of a block dies while another is pinned: it goes, the other stays.
TEST_P(DebugPinsTest, DeadBlockKeepsOnlyThePinnedObject) {
  std::vector<Object*> objects;
  for (size_t i = 0; i < core::kPagesPerBlock + 1; i++) objects.push_back(allocate(&small_type.table));
  Object* pinned = objects[100];
  held.push_back(pinned);
  heap::pin(pinned);
  heap::add_handle_pin(pinned);
  for (size_t i = 0; i < core::kPagesPerBlock; i++) ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
  EXPECT_EQ(heap::block_counters.pinned.load(), 1u);
  EXPECT_EQ(pinned->type, &small_type.table);
  uint64_t value;
  EXPECT_FALSE(core::try_load(reinterpret_cast<const uint64_t*>(objects[core::kPagesPerBlock - 1]), &value));
  EXPECT_FALSE(core::try_load(reinterpret_cast<const uint64_t*>(objects[99]), &value));
  held.clear();
  look();
  EXPECT_EQ(pinned->type, &small_type.table) << "the handle holds it";
  heap::remove_handle_pin(pinned);
  look();
  EXPECT_FALSE(core::try_load(reinterpret_cast<const uint64_t*>(pinned), &value));
  EXPECT_EQ(heap::block_counters.pinned.load(), 0u);
  EXPECT_EQ(heap::block_counters.released_pages.load(), 0u);
  expect_valid("at the end");
}

INSTANTIATE_TEST_SUITE_P(Fences, DebugPinsTest, ::testing::Values(false), [](const auto&) { return "byMembarrier"; });

}  // namespace
}  // namespace freehold::testing
