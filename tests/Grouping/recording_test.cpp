// The parts of the runtime of profiles, against slow models of what the paper says.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "affinity.h"
#include "contexts.h"
#include "knobs.h"
#include "objects.h"

namespace freehold::profile::testing {
namespace {

// All allocations of a history, in order: the context of each; its number is its sequence.
struct History {
  std::vector<uint32_t> contexts{0};

  bool could_lie_together(uint64_t a, uint64_t b) const {
    for (uint64_t between = std::min(a, b) + 1; between < std::max(a, b); between++) {
      if (contexts[between] == contexts[a] || contexts[between] == contexts[b]) return false;
    }
    return true;
  }
  Access access(uint64_t object, uint32_t bytes) const {
    Access made{contexts[object], bytes, object, 0, 0};
    for (uint64_t at = object - 1; at > 0 && made.previous == 0; at--) {
      if (contexts[at] == contexts[object]) made.previous = at;
    }
    for (uint64_t at = object + 1; at < contexts.size() && made.following == 0; at++) {
      if (contexts[at] == contexts[object]) made.following = at;
    }
    return made;
  }
};

TEST(AffinityTest, IsThatOfTheModel) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    std::mt19937_64 random(seed);
    History history;
    uint64_t objects = 2 + random() % 20, contexts = 1 + random() % 5, distance = 1 + random() % 200;
    for (uint64_t i = 0; i < objects; i++) history.contexts.push_back(static_cast<uint32_t>(1 + random() % contexts));
    Affinity affinity(distance);
    std::vector<std::pair<uint64_t, uint32_t>> queue;  // objects and bytes, all of them
    std::map<uint64_t, uint64_t> expected, counted;
    for (int i = 0; i < 400; i++) {
      uint64_t object = 1 + random() % objects;
      auto bytes = static_cast<uint32_t>(1 + random() % 24);
      affinity.add(history.access(object, bytes));
      if (!queue.empty() && queue.back().first == object) continue;
      expected[history.contexts[object]]++;
      uint64_t sum = 0;
      std::set<uint64_t> met{object};
      for (auto other = queue.rbegin(); other != queue.rend(); ++other) {
        sum += other->second;
        if (sum > distance) break;
        if (!met.insert(other->first).second || !history.could_lie_together(object, other->first)) continue;
        expected[Affinity::key_of(history.contexts[object], history.contexts[other->first])]++;
      }
      queue.push_back({object, bytes});
    }
    affinity.counts().for_each([&](uint64_t key, uint64_t count) { counted[key] = count; });
    ASSERT_EQ(counted, expected) << seed;
  }
}

TEST(AffinityTest, NothingIsUsedTogetherAcrossAnInterruption) {
  History history{{0, 1, 2}};
  Affinity affinity(128);
  affinity.add(history.access(1, 8));
  affinity.interrupt();
  affinity.add(history.access(2, 8));
  affinity.counts().for_each([&](uint64_t key, uint64_t) { EXPECT_EQ(key >> 32, 0u); });
  affinity.add(history.access(1, 8));
  uint64_t pairs = 0;
  affinity.counts().for_each([&](uint64_t key, uint64_t count) { pairs += key >> 32 != 0 ? count : 0; });
  EXPECT_EQ(pairs, 1u);
}

class ContextsTest : public ::testing::Test {
 protected:
  ContextsTest() {
    EXPECT_TRUE(contexts_.initialize());
    for (int i = 0; i < 6; i++) names_.push_back("f" + std::to_string(i) + ">g#1");
    for (int i = 0; i < 6; i++) sites_.emplace_back(names_[static_cast<size_t>(i)].c_str(), 0, 0, 0);
  }
  const Site* site(size_t number) {
    auto at = sites_.begin();
    std::advance(at, number);
    return &*at;
  }
  std::vector<std::string> chain(uint32_t context) {
    std::vector<std::string> names;
    for (; context != kNoContext; context = contexts_[context].parent) names.insert(names.begin(), contexts_.site(contexts_[context].site).name);
    return names;
  }

  Contexts contexts_;
  std::vector<std::string> names_;
  std::list<Site> sites_;
};

// The latest of several calls at one site stays, and equal chains have one number.
TEST_F(ContextsTest, ChainsAreReducedAsInTheModel) {
  std::map<std::vector<std::string>, uint32_t> numbers;
  for (uint64_t seed = 0; seed < 500; seed++) {
    std::mt19937_64 random(seed);
    uint32_t context = kNoContext;
    std::vector<std::string> expected;
    for (uint64_t length = random() % 12; length != 0; length--) {
      size_t number = random() % 6;
      context = contexts_.extend(context, site(number));
      std::erase(expected, names_[number]);
      expected.push_back(names_[number]);
      ASSERT_EQ(chain(context), expected) << seed;
    }
    ASSERT_EQ(numbers.emplace(expected, context).first->second, context) << seed;
  }
}

// What frames say while calls come and go, also when some have not been asked for, and deeper than the stack of frames.
TEST_F(ContextsTest, FramesGiveTheChainOfTheCallsUnderWay) {
  std::vector<Frame> frames(kMostFrames);
  std::mt19937_64 random(3);
  std::vector<size_t> calls;
  for (int i = 0; i < 20000; i++) {
    if (calls.empty() || (calls.size() < 40 && random() % 2 == 0)) {
      calls.push_back(random() % 6);
      frames[calls.size() - 1] = {site(calls.back()), 0};
    } else {
      calls.pop_back();
    }
    if (random() % 4 != 0) continue;
    std::vector<std::string> expected;
    for (size_t call : calls) {
      std::erase(expected, names_[call]);
      expected.push_back(names_[call]);
    }
    ASSERT_EQ(chain(contexts_.of_frames(frames.data(), calls.size())), expected) << i;
  }
  for (uint64_t depth = 0; depth < kMostFrames + 10; depth++) frames[depth % kMostFrames] = {site(depth % 3), 0};
  EXPECT_EQ(chain(contexts_.of_frames(frames.data(), kMostFrames + 10)).size(), 3u);
}

// Copies of a function have sites of their own under one name.
TEST_F(ContextsTest, SitesOfOneNameAreOne) {
  std::string copy = names_[0];
  Site other{copy.c_str(), 0, 0, 0};
  EXPECT_EQ(contexts_.extend(kNoContext, site(0)), contexts_.extend(kNoContext, &other));
}

TEST(ObjectsTest, EachByteOfALiveObjectIsFound) {
  Objects objects;
  ASSERT_TRUE(objects.initialize());
  constexpr uintptr_t kHeap = (uintptr_t{1} << 40) - 4096;  // across two leaves
  std::map<uintptr_t, std::pair<size_t, uint32_t>> live;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; i++) {
    uintptr_t start = kHeap + random() % 512 * 16;
    auto after = live.lower_bound(start);
    bool is_free =
        (after == live.end() || after->first >= start + 64) && (after == live.begin() || std::prev(after)->first + std::prev(after)->second.first <= start);
    if (live.contains(start)) {
      auto [size, number] = live[start];
      if (random() % 3 == 0) {
        size_t changed = 1 + random() % size;
        objects.resize(number, start, size, changed);
        live[start].first = (changed + 15) & ~size_t{15};
      } else {
        objects.remove(number, start, size);
        live.erase(start);
      }
    } else if (is_free) {
      size_t size = 1 + random() % 64;
      uint32_t number = objects.add(start, size);
      ASSERT_NE(number, 0u);
      live[start] = {(size + 15) & ~size_t{15}, number};
    }
    uintptr_t address = kHeap + random() % (513 * 16);
    auto holder = live.upper_bound(address);
    uint32_t expected = 0;
    if (holder != live.begin() && address < std::prev(holder)->first + std::prev(holder)->second.first) expected = std::prev(holder)->second.second;
    ASSERT_EQ(objects.number_at(address), expected) << i;
  }
  EXPECT_EQ(objects.number_at(8), 0u);
  EXPECT_EQ(objects.number_at(UINTPTR_MAX), 0u);
}

TEST(CountsTest, AreThoseOfAMap) {
  Counts counts;
  std::map<uint64_t, uint64_t> expected, counted;
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; i++) {
    uint64_t key = 1 + random() % 20000 * 0x100000001;
    expected[key]++;
    ++*counts.at(key);
  }
  counts.for_each([&](uint64_t key, uint64_t count) { counted[key] = count; });
  EXPECT_EQ(counted, expected);
}

struct Row {
  std::string variable, default_value;
};
const Row kRows[] = {
#define FREEHOLD_KNOB(variable, key, property, values, default_value, effect, parser) {variable, default_value},
#include "knobs.inc"
#undef FREEHOLD_KNOB
};

TEST(ProfileKnobsTest, TheTableIsTrue) {
  auto read = [](const std::string& setting) {
    knobs = {};
    const char* environment[] = {"PATH=/", setting.c_str(), nullptr};
    char error[512];
    return read_knobs(environment, error, sizeof error);
  };
  for (const Row& row : kRows) {
    if (!row.default_value.starts_with('`')) continue;
    EXPECT_TRUE(read(row.variable + "=" + row.default_value.substr(1, row.default_value.size() - 2)));
    EXPECT_EQ(knobs, Knobs{}) << row.variable;
  }
  EXPECT_TRUE(read("FREEHOLD_PROFILE_GAP=0"));
  EXPECT_EQ(knobs.gap, 0u);
  EXPECT_TRUE(read("FREEHOLD_PROFILE=/some/where"));
  EXPECT_STREQ(knobs.path, "/some/where");
  for (const char* wrong :
       {"FREEHOLD_PROFILE_BURST=0", "FREEHOLD_PROFILE_DISTANCE=0", "FREEHOLD_PROFILE_DISTANCE=4097", "FREEHOLD_PROFILE_GAP=x", "FREEHOLD_PROFILE_SPEED=1"}) {
    EXPECT_FALSE(read(wrong)) << wrong;
  }
  knobs = {};
}

}  // namespace
}  // namespace freehold::profile::testing
