// A heap for each test, with the knobs that it wants. What a test allocates with it is the test's to free, or gone with the heap.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "heap.h"
#include "knobs.h"

namespace freehold::mesh::testing {

class MeshTest : public ::testing::Test {
 protected:
  virtual void configure(Knobs&) {}

  void SetUp() override {
    knobs = {};
    knobs.seed = 7;
    knobs.address_space = size_t{6} << 30;
    knobs.period = 1'000'000;  // passes only when a test asks for one
    configure(knobs);
    os::inject_failures("");
    ASSERT_TRUE(open_heap());
    heap.mesher.run(0, false);
  }

  void TearDown() override {
    os::inject_failures("");
    if (heap.state.load() == 2) {
      EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
    }
    close_heap();
    knobs = {};
  }

  // Many objects, of which each `step`-th stays, filled with a number of its own: spans that mesh.
  static std::vector<uint64_t*> sparse(size_t size, size_t count, size_t step, uint64_t first = 1) {
    std::vector<uint64_t*> all, kept;
    for (size_t i = 0; i < count; i++) all.push_back(static_cast<uint64_t*>(allocate(size)));
    for (size_t i = 0; i < count; i++) {
      if (i % step != 0) {
        deallocate(all[i]);
        continue;
      }
      for (size_t w = 0; w < size / 8; w++) all[i][w] = first + kept.size();
      kept.push_back(all[i]);
    }
    return kept;
  }

  static void expect_intact(const std::vector<uint64_t*>& kept, size_t size, uint64_t first = 1) {
    for (size_t i = 0; i < kept.size(); i++) {
      for (size_t w = 0; w < size / 8; w++) ASSERT_EQ(kept[i][w], first + i) << "object " << i << ", word " << w;
    }
  }

  static void free_all(const std::vector<uint64_t*>& kept) {
    for (uint64_t* object : kept) deallocate(object);
  }
};

inline uint64_t seed_of_run() {
  const char* given = getenv("FREEHOLD_TEST_SEED");
  return given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
}

}  // namespace freehold::mesh::testing
