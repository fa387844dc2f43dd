// Random programs of many threads against what they should find in their objects, with meshing as often as possible. FREEHOLD_TEST_SEED repeats a run,
// as far as threads can be repeated.
#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

struct Entry {
  uint64_t* object;
  size_t words;
  uint64_t content;
};

class MeshModelTest : public MeshTest, public ::testing::WithParamInterface<BarrierKind> {
 protected:
  void configure(Knobs& k) override {
    k.barrier = GetParam();
    k.stress = 7;
    k.decay = 0;
  }
  std::atomic<Entry*> mailbox_[32] = {};

  static bool is_intact(const Entry& entry) {
    for (size_t i = 0; i < entry.words; i++) {
      if (entry.object[i] != entry.content + i) return false;
    }
    return true;
  }
  static void fill(Entry& entry, uint64_t content) {
    entry.content = content;
    for (size_t i = 0; i < entry.words; i++) entry.object[i] = content + i;
  }

  void run(uint64_t seed, int steps) {
    std::mt19937_64 random(seed);
    std::vector<Entry> live;
    size_t target = 1000;
    auto size = [&]() -> size_t {
      uint64_t shape = random() % 1000;
      return shape < 700 ? 1 + random() % 40 : shape < 950 ? 1 + random() % 440 : shape < 998 ? 1 + random() % 4000 : 1 + random() % 100'000;
    };
    for (int step = 0; step < steps; step++) {
      uint64_t draw = random();
      if (draw % 2000 == 0) target = size_t{1} << (3 + random() % 10);
      if (live.size() < target) {
        size_t words = size();
        bool zeroed = draw % 16 == 1;
        void* memory = zeroed ? allocate_zeroed(words, 8) : draw % 16 == 2 ? allocate_aligned(words * 8, size_t{16} << random() % 9) : allocate(words * 8);
        ASSERT_NE(memory, nullptr);
        Entry entry = {static_cast<uint64_t*>(memory), words, 0};
        if (zeroed) {
          for (size_t i = 0; i < words; i++) ASSERT_EQ(entry.object[i], 0u) << "seed " << seed;
        }
        fill(entry, random());
        live.push_back(entry);
        continue;
      }
      size_t which = random() % live.size();
      ASSERT_TRUE(is_intact(live[which])) << "seed " << seed << ", step " << step;
      switch (draw >> 32 & 7) {
        case 0: fill(live[which], random()); break;
        case 1: {
          size_t words = size();
          auto* moved = static_cast<uint64_t*>(reallocate(live[which].object, words * 8));
          ASSERT_NE(moved, nullptr);
          live[which].object = moved;
          live[which].words = std::min(words, live[which].words);
          ASSERT_TRUE(is_intact(live[which])) << "seed " << seed;
          live[which].words = words;
          fill(live[which], random());
          break;
        }
        case 2: {  // another thread frees it
          auto* letter = mailbox_[random() % 32].exchange(new Entry(live[which]));
          live[which] = live.back();
          live.pop_back();
          if (letter != nullptr) {
            ASSERT_TRUE(is_intact(*letter)) << "seed " << seed;
            deallocate(letter->object);
            delete letter;
          }
          break;
        }
        default:
          deallocate(live[which].object);
          live[which] = live.back();
          live.pop_back();
      }
    }
    for (const Entry& entry : live) {
      ASSERT_TRUE(is_intact(entry)) << "seed " << seed;
      deallocate(entry.object);
    }
    leave_heap();
  }
};

TEST_P(MeshModelTest, ManyThreads) {
  uint64_t seed = seed_of_run();
  std::vector<std::thread> threads;
  const char* millions = getenv("FREEHOLD_TEST_MILLIONS");
  int steps = millions != nullptr ? atoi(millions) * 1'000'000 / 4 : 40'000;
  for (uint64_t i = 0; i < 4; i++) threads.emplace_back([this, seed, i, steps] { run(seed + i, steps); });
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : mailbox_) {
    if (Entry* letter = slot.exchange(nullptr)) {
      EXPECT_TRUE(is_intact(*letter)) << "seed " << seed;
      deallocate(letter->object);
      delete letter;
    }
  }
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "") << "seed " << seed;
  if (heap.barrier.kind() != BarrierKind::kNone) {
    EXPECT_GT(heap.mesher.figures().meshes.load(), 0u) << "seed " << seed;
  }
  compact();
  EXPECT_EQ(heap.arena.used_pages(), 0u) << "all was freed; seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Barriers, MeshModelTest, ::testing::Values(BarrierKind::kAuto, BarrierKind::kUserMode, BarrierKind::kMprotect), [](const auto& info) {
  return info.param == BarrierKind::kAuto ? "best" : info.param == BarrierKind::kUserMode ? "user" : "mprotect";
});

}  // namespace
}  // namespace freehold::mesh::testing
