// When a remap is worth its time, and the memory outside the arena that it makes current (heap/dedangling.h).
#include "heap/dedangling.h"

#include <utility>
#include <vector>

#include "core/fault_counters.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "heap_fixture.h"
#include "os/kernel.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;

class DedanglingTest : public HeapTest {
 protected:
  static inline std::vector<Object*> kept;
  static inline bool second_stop_fails;
  static inline std::vector<std::pair<uint8_t*, uint8_t*>> frozen;
  static constexpr heap::RemapSupport kSupport = {[](void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                    for (Object*& object : kept) {
                                                      if (patch != nullptr) patch(reinterpret_cast<uint64_t*>(&object));
                                                    }
                                                    if (patch != nullptr && second_stop_fails) {
                                                      os::pause(500'000);
                                                      return false;
                                                    }
                                                    stopped(argument);
                                                    return true;
                                                  },
                                                  [](void (*fn)(uint8_t*, uint8_t*, void*), void* argument) {
                                                    for (auto [first, end] : frozen) fn(first, end, argument);
                                                  },
                                                  nullptr};

  void configure(core::Knobs& knobs) override { knobs.promotion = true; }
  void SetUp() override {
    HeapTest::SetUp();
    kept.clear();
    frozen.clear();
    second_stop_fails = false;
    heap::set_remap_support(&kSupport);
    repairs_ = core::fault_counters.repairs.load();
  }
  void TearDown() override {
    core::fault_counters.repairs.store(repairs_);
    HeapTest::TearDown();
  }

  // Some blocks of nodes of which every eighth lives; promoted.
  void promote_some() {
    std::vector<Object*> all;
    for (size_t bytes = 0; bytes < 4 * core::kBlockSize; bytes += 40) {
      all.push_back(allocate(&node_type.table));
      memset(reinterpret_cast<uint64_t*>(all.back()) + 1, 0, 24);
    }
    for (size_t i = 0; i < all.size(); i++) {
      if (i % 8 == 0) kept.push_back(all[i]);
      else EXPECT_EQ(heap::delete_object(all[i]), DeleteResult::kDeleted);
    }
    EXPECT_GT(heap::promote(heap::PromotionScope::kSparse), 0u);
    EXPECT_GT(heap::forwarding_bytes(), 0u);
  }

  uint64_t repairs_ = 0;
};

TEST_F(DedanglingTest, ARemapIsDueWhenFaultsOrMappingsAreMany) {
  constexpr uint64_t kMany = 1'000'000'000;  // 4 us each: more than an eighth of any time that a test takes
  core::fault_counters.repairs.fetch_add(kMany);
  EXPECT_FALSE(heap::should_remap()) << "no name is old";
  promote_some();
  EXPECT_TRUE(heap::should_remap()) << "faults";
  ASSERT_TRUE(heap::dedangle());
  EXPECT_FALSE(heap::should_remap()) << "the faults of before count no more, nor are there tables";
  promote_some();
  EXPECT_FALSE(heap::should_remap());
  core::fault_counters.repairs.fetch_add(kMany);
  EXPECT_TRUE(heap::should_remap()) << "faults";
  core::fault_counters.repairs.fetch_sub(kMany);
  EXPECT_FALSE(heap::should_remap());
  uint64_t forwarded = heap::block_counters.forwarded.exchange(4096);
  EXPECT_FALSE(heap::should_remap());
  heap::block_counters.forwarded.store(4097);
  EXPECT_TRUE(heap::should_remap()) << "kernel mappings";
  heap::block_counters.forwarded.store(forwarded);
  ASSERT_TRUE(heap::dedangle());
  EXPECT_FALSE(heap::should_remap());
  expect_valid("after the remaps");
}

// It was a walk over the heap: the next one waits for several times as long as it took, unless addresses are short.
TEST_F(DedanglingTest, AfterOneThatFailedTheNextWaits) {
  constexpr uint64_t kMany = 1'000'000'000;
  promote_some();
  second_stop_fails = true;
  EXPECT_FALSE(heap::dedangle());
  core::fault_counters.repairs.fetch_add(kMany);
  EXPECT_FALSE(heap::should_remap());
  second_stop_fails = false;
  ASSERT_TRUE(heap::dedangle()) << "who needs it does not wait";
  promote_some();
  core::fault_counters.repairs.fetch_add(kMany);
  EXPECT_TRUE(heap::should_remap());
  ASSERT_TRUE(heap::dedangle());
  expect_valid("after the remaps");
}

TEST_F(DedanglingTest, FieldsOfFrozenObjectsAreMadeCurrent) {
  // Two nodes, and the memory for a third.
  static uint64_t memory[3 * 5];
  memset(memory, 0, sizeof memory);
  for (size_t i : {0, 1}) memory[5 * i + 1] = reinterpret_cast<uint64_t>(&node_type.table);
  frozen.emplace_back(reinterpret_cast<uint8_t*>(memory + 1), reinterpret_cast<uint8_t*>(memory + std::size(memory)));
  promote_some();
  std::vector<uint64_t> moved;  // old names
  for (Object* object : kept) {
    auto name = reinterpret_cast<uint64_t>(object);
    if (heap::current_address(name) != name) moved.push_back(name);
  }
  ASSERT_GT(moved.size(), 1000u);
  memory[2] = moved.front();
  memory[5 + 4] = moved.back();
  memory[10 + 2] = moved.front();  // behind the last object: nobody's field
  uint64_t of_first = heap::current_address(moved.front()), of_second = heap::current_address(moved.back());
  ASSERT_TRUE(heap::dedangle());
  EXPECT_EQ(memory[2], of_first);
  EXPECT_EQ(memory[5 + 4], of_second);
  EXPECT_EQ(memory[10 + 2], moved.front());
  EXPECT_EQ(memory[3], 0u);
}

}  // namespace
}  // namespace freehold::testing
