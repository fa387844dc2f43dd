// SplitMesher on sets of live slots, without memory; and what the theory says of how many pairs there are.
#include <cmath>
#include <set>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

using Candidate = SplitMesher::Candidate;

std::vector<Candidate> random_spans(uint32_t count, uint32_t slots, double occupancy, Random& random) {
  std::vector<Candidate> spans(count);
  for (uint32_t i = 0; i < count; i++) {
    spans[i] = {i + 1, i, {}};
    Bits& bits = spans[i].live;
    for (uint32_t slot = 0; slot < slots; slot++) {
      if (random.below(1 << 20) < occupancy * (1 << 20)) bits.words[slot / 64] |= uint64_t{1} << slot % 64;
    }
  }
  return spans;
}

TEST(SplitMesher, PairsDoNotOverlapAndNoSpanIsInTwo) {
  Random random(3);
  for (double occupancy : {0.0, 0.1, 0.3, 0.6, 1.0}) {
    std::vector<Candidate> spans = random_spans(501, 32, occupancy, random);
    uint32_t found = 0;
    std::set<uint32_t> seen;
    SplitMesher::split(spans.data(), 501, random.below(250), [&](const Candidate& left, const Candidate& right) {
      EXPECT_FALSE(left.live.intersects(right.live));
      EXPECT_TRUE(seen.insert(left.id).second);
      EXPECT_TRUE(seen.insert(right.id).second);
      EXPECT_LT(left.page, right.page) << "what moves is of the upper half";
      found++;
      return true;
    });
    if (occupancy == 0.0) {
      EXPECT_EQ(found, 250u);
    }
    if (occupancy == 1.0) {
      EXPECT_EQ(found, 0u);
    }
  }
}

// The paper's bound: with probability of two spans to mesh q, the pairs found are at least n/4 (1 - e^(-2k)) where t = k/q.
TEST(SplitMesher, FindsAsManyPairsAsTheTheoryPromises) {
  Random random(4);
  for (double occupancy : {0.1, 0.2, 0.3}) {
    constexpr uint32_t kSlots = 16, kCount = 2000;
    std::vector<Candidate> spans = random_spans(kCount, kSlots, occupancy, random);
    uint32_t found = 0;
    SplitMesher::split(spans.data(), kCount, 0, [&](const Candidate&, const Candidate&) { return ++found != 0; });
    double q = std::pow(1 - occupancy * occupancy, kSlots), k = SplitMesher::kProbes * q;
    EXPECT_GE(found, kCount / 4.0 * (1 - std::exp(-2 * k))) << "occupancy " << occupancy;
  }
}

TEST(SplitMesher, FewSpansAreNoError) {
  Candidate one = {1, 1, {}};
  for (uint32_t count : {0, 1}) {
    SplitMesher::split(&one, count, 0, [&](const Candidate&, const Candidate&) {
      ADD_FAILURE() << "a pair of " << count;
      return true;
    });
  }
}

TEST(SplitMesher, StopsWhenItIsTold) {
  Random random(2);
  std::vector<Candidate> spans = random_spans(100, 32, 0, random);
  int calls = 0;
  SplitMesher::split(spans.data(), 100, 7, [&](const Candidate&, const Candidate&) { return ++calls < 3; });
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace freehold::mesh::testing
