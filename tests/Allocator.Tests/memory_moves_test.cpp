// The assembly block moves against a model: random sizes, distances and alignments, every byte around the target checked. The seed is printed
// and can be given as FREEHOLD_TEST_SEED.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/memory_moves.h"

namespace {

class MemoryMoves : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    freehold::runtime::configure_memory_moves();
    if (!GetParam()) freehold_fast_strings = 0;
    const char* given = getenv("FREEHOLD_TEST_SEED");
    seed_ = given != nullptr ? strtoull(given, nullptr, 0) : std::random_device{}();
    random_.seed(seed_);
    RecordProperty("seed", std::to_string(seed_));
    printf("seed %llu\n", static_cast<unsigned long long>(seed_));
  }

  size_t below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(random_); }

  // Sizes around the limits of the code paths, and now and then a large one.
  size_t size() {
    switch (below(4)) {
      case 0: return below(20);
      case 1: return below(300);
      case 2: return 2048 - 70 + below(140);
      default: return below(20000);
    }
  }

  void fill(std::vector<uint8_t>& bytes) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random_());
  }

  uint64_t seed_ = 0;
  std::mt19937_64 random_;
};

constexpr int kRounds = 20000;
constexpr size_t kRoom = 48 * 1024;

TEST_P(MemoryMoves, MoveAgreesWithTheModelWhateverTheOverlap) {
  std::vector<uint8_t> ours(kRoom), model(kRoom);
  fill(ours);
  model = ours;
  for (int round = 0; round < kRounds; round++) {
    size_t length = size(), from = below(kRoom - length), to;
    // Half of the time close together, so that the blocks overlap.
    do {
      to = below(2) == 0 ? below(kRoom - length) : from + below(200) - 100;
    } while (to > kRoom - length);
    memmove(&model[to], &model[from], length);
    ASSERT_EQ(freehold_memmove(&ours[to], &ours[from], length), &ours[to]);
    ASSERT_EQ(memcmp(ours.data(), model.data(), kRoom), 0) << "seed " << seed_ << " round " << round << " size " << length << " from " << from << " to " << to;
  }
}

TEST_P(MemoryMoves, FillAgreesWithTheModel) {
  std::vector<uint8_t> ours(kRoom), model(kRoom);
  for (int round = 0; round < kRounds; round++) {
    size_t length = size(), to = below(kRoom - length);
    int value = static_cast<int>(random_());
    memset(&model[to], value, length);
    ASSERT_EQ(freehold_memset(&ours[to], value, length), &ours[to]);
    ASSERT_EQ(memcmp(ours.data(), model.data(), kRoom), 0) << "seed " << seed_ << " round " << round << " size " << length << " to " << to;
  }
}

TEST_P(MemoryMoves, ReferencesMoveAsWords) {
  constexpr size_t kWords = 4096;
  std::vector<uint64_t> ours(kWords), model(kWords);
  for (auto& word : ours) word = random_();
  model = ours;
  for (int round = 0; round < kRounds; round++) {
    size_t length = below(below(8) == 0 ? 2000 : 40), from = below(kWords - length), to;
    do {
      to = below(2) == 0 ? below(kWords - length) : from + below(20) - 10;
    } while (to > kWords - length);
    memmove(&model[to], &model[from], length * 8);
    RhBulkMoveWithWriteBarrier(&ours[to], &ours[from], length * 8);
    ASSERT_EQ(ours, model) << "seed " << seed_ << " round " << round << " words " << length << " from " << from << " to " << to;
  }
}

TEST_P(MemoryMoves, ZeroingStopsAtItsEnds) {
  std::vector<uint8_t> ours(kRoom), model(kRoom);
  for (int round = 0; round < kRounds; round++) {
    size_t length = size(), to = below(kRoom - length);
    memset(ours.data() + (to > 64 ? to - 64 : 0), 0xcc, 64);
    memset(&ours[to], 0xcc, length);
    model = ours;
    memset(&model[to], 0, length);
    ASSERT_EQ(RhpGcSafeZeroMemory(&ours[to], length), &ours[to]);
    ASSERT_EQ(memcmp(ours.data(), model.data(), kRoom), 0) << "seed " << seed_ << " round " << round << " size " << length << " to " << to;
  }
}

TEST_P(MemoryMoves, NothingOutsideTheBlocksIsTouched) {
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<uint8_t*>(mmap(nullptr, 6 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  // Two islands with inaccessible pages on both sides: blocks that begin or end at their edges.
  uint8_t* first = pages + kPage;
  uint8_t* second = pages + 4 * kPage;
  ASSERT_EQ(mprotect(first, kPage, PROT_READ | PROT_WRITE), 0);
  ASSERT_EQ(mprotect(second, kPage, PROT_READ | PROT_WRITE), 0);
  for (size_t length = 0; length <= kPage; length += length < 300 ? 1 : 101) {
    for (bool at_end : {false, true}) {
      size_t offset = at_end ? kPage - length : 0;
      freehold_memmove(first + offset, second + offset, length);
      freehold_memmove(second + offset, first + offset, length);
      freehold_memset(first + offset, 1, length);
      RhpGcSafeZeroMemory(second + offset, length);
      if (length % 8 == 0) RhBulkMoveWithWriteBarrier(first + offset, second + offset, length);
      if (length % 8 == 0 && length > 16) RhBulkMoveWithWriteBarrier(first + offset + (at_end ? 0 : 8), first + offset + (at_end ? 8 : 0), length - 8);
    }
  }
  munmap(pages, 6 * kPage);
}

// Two threads: one moves an array of words that are all ones or all zeros, the other must never see a mixture.
TEST_P(MemoryMoves, AnotherThreadNeverSeesHalfAReference) {
  constexpr size_t kWords = 512;
  alignas(64) static uint64_t source[kWords + 8], target[kWords + 8];
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> torn{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (size_t i = 0; i < kWords + 8; i++) {
        uint64_t word = __atomic_load_n(&target[i], __ATOMIC_RELAXED);
        if (word != 0 && word != ~uint64_t{0}) torn.fetch_add(1);
      }
    }
  });
  for (int round = 0; round < 20000; round++) {
    uint64_t value = round % 2 == 0 ? ~uint64_t{0} : 0;
    for (auto& word : source) word = value;
    size_t from = below(8), to = below(8);
    RhBulkMoveWithWriteBarrier(&target[to], &source[from], kWords * 8);
    if (round % 7 == 0) RhpGcSafeZeroMemory(&target[to], kWords * 8);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(torn.load(), 0u) << "seed " << seed_;
}

INSTANTIATE_TEST_SUITE_P(StringInstructions, MemoryMoves, testing::Bool(), [](const auto& info) { return info.param ? "AsTheProcessorHas" : "Off"; });

}  // namespace
