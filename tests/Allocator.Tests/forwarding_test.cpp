// The remap tables against a model: a map from each byte of the block to where its copy lies.
#include "heap/forwarding.h"

#include <memory>
#include <random>
#include <vector>

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::kBlockSize;
using core::kUnit;

constexpr size_t kUnits = kBlockSize / kUnit;

class ForwardingTest : public HeapTest {
 protected:
  // Objects of random sizes, live ones and others, that fill a block; `live_share` of 1000 are live.
  void check(uint64_t seed, size_t largest, unsigned live_share, uint32_t split) {
    std::mt19937_64 random(seed);
    auto draft = std::make_unique<heap::ForwardingDraft>();
    size_t block = core::kBlocksPerSegment - 3;  // nobody uses it
    uintptr_t start = reinterpret_cast<uintptr_t>(core::arena.block_start(block));
    draft->target[0] = start - 16 * kBlockSize;
    draft->target[1] = start - 8 * kBlockSize;
    draft->split = split;
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> ranks(kUnits, kNone);
    uint32_t rank = 0;
    for (size_t unit = 0; unit < kUnits;) {
      size_t size = std::min<size_t>(3 + random() % largest, kUnits - unit);
      bool live = random() % 1000 < live_share;
      for (size_t end = unit + size; unit < end; unit++) {
        if (!live) continue;
        ranks[unit] = rank++;
        draft->live[unit / 64] |= uint64_t{1} << (unit % 64);
      }
    }
    ASSERT_TRUE(core::commit_tables(block, 1));
    uint32_t number = heap::make_forwarding(*draft);
    ASSERT_NE(number, heap::kNoForwarding);
    core::BlockRecord& record = core::arena.blocks[block];
    record.forwarding = number;
    record.state.store(core::BlockState::kForwarded);
    for (size_t unit = 0; unit < kUnits; unit++) {
      for (uintptr_t byte : {size_t{0}, random() % kUnit}) {
        // An address belongs to the object that holds the byte before it.
        uintptr_t address = start + unit * kUnit + byte + 1, expected = address;
        if (ranks[unit] != kNone)
          expected = draft->target[ranks[unit] < split ? 0 : 1] + (ranks[unit] < split ? ranks[unit] : ranks[unit] - split) * kUnit + byte + 1;
        ASSERT_EQ(heap::current_address(address), expected) << "seed " << seed << " unit " << unit;
        ASSERT_EQ(heap::whereabouts_of(address), ranks[unit] != kNone ? heap::Whereabouts::kMoved : heap::Whereabouts::kDead);
      }
    }
    record.state.store(core::BlockState::kGone);
  }
};

TEST_F(ForwardingTest, EveryAddressIsForwardedAsTheModelSays) {
  std::random_device entropy;
  for (size_t largest : {1, 8, 200, 4000}) {
    for (unsigned live : {0, 2, 30, 500, 950, 1000}) {
      uint64_t seed = entropy();
      check(seed, largest, live, UINT32_MAX);
      check(seed, largest, live, static_cast<uint32_t>(seed % 2000));
    }
  }
}

TEST_F(ForwardingTest, ATableOfAFewObjectsIsSmall) {
  auto draft = std::make_unique<heap::ForwardingDraft>();
  draft->split = UINT32_MAX;
  for (size_t word = 0; word < heap::ForwardingDraft::kWords; word += 64) draft->live[word] = 0xff0;
  ASSERT_NE(heap::make_forwarding(*draft), heap::kNoForwarding);
  EXPECT_LE(heap::forwarding_bytes(), 832u);
}

TEST_F(ForwardingTest, AfterAllTablesWentTheirBlocksAreDead) {
  auto draft = std::make_unique<heap::ForwardingDraft>();
  size_t block = core::kBlocksPerSegment - 3;
  uintptr_t start = reinterpret_cast<uintptr_t>(core::arena.block_start(block));
  draft->live[0] = 7;
  draft->target[0] = start - kBlockSize;
  draft->split = UINT32_MAX;
  ASSERT_TRUE(core::commit_tables(block, 1));
  core::BlockRecord& record = core::arena.blocks[block];
  record.forwarding = heap::make_forwarding(*draft);
  record.state.store(core::BlockState::kForwarded);
  ASSERT_EQ(heap::current_address(start + 8), start - kBlockSize + 8);
  heap::drop_all_forwardings();
  EXPECT_EQ(heap::forwarding_bytes(), 0u);
  // A reader that is late sees an empty table, not another block's.
  EXPECT_EQ(heap::current_address(start + 8), start + 8);
  EXPECT_EQ(heap::whereabouts_of(start + 8), heap::Whereabouts::kDead);
  record.state.store(core::BlockState::kGone);
}

}  // namespace
}  // namespace freehold::testing
