// Every system call fails somewhere: allocations may, objects and the heap must not.
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

struct Failure {
  const char* call;
  BarrierKind barrier;
};

class FailureTest : public ::testing::TestWithParam<Failure> {};

// A program that meshes, with the heap opened under the failures. False: it did not even open.
bool run() {
  if (!open_heap()) return false;
  std::vector<std::pair<uint64_t*, uint64_t>> live;
  std::mt19937_64 random(9);
  for (int step = 0; step < 6000; step++) {
    if (step % 3 != 2 || live.empty()) {
      size_t size = step % 50 == 0 ? 8 + random() % 5'000'000 : 8 + random() % 600;
      auto* object = static_cast<uint64_t*>(step % 7 == 0 ? allocate_zeroed(1, size) : allocate(size));
      if (object == nullptr) continue;
      if (step % 7 == 0) {
        EXPECT_EQ(*object, 0u);
      }
      *object = random();
      live.emplace_back(object, *object);
    } else {
      std::swap(live[random() % live.size()], live.back());
      EXPECT_EQ(*live.back().first, live.back().second);
      deallocate(live.back().first);
      live.pop_back();
    }
    if (step % 1500 == 1400) {
      for (size_t i = 0; i < live.size(); i++) {
        if (i % 10 == 0) continue;
        EXPECT_EQ(*live[i].first, live[i].second);
        deallocate(live[i].first);
        live[i] = live.back();
        live.pop_back();
      }
      heap.mesher.run(0, true);
      compact();
    }
  }
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
  for (auto& [object, content] : live) {
    EXPECT_EQ(*object, content);
    deallocate(object);
  }
  return true;
}

TEST_P(FailureTest, AtEachCallInTurn) {
  uint64_t tried = 0;
  for (uint64_t n = 1; n <= 400; n = n < 40 ? n + 1 : n + n / 6) {
    for (const char* onwards : {"", "+"}) {
      knobs = {};
      knobs.seed = n;
      knobs.address_space = size_t{3} << 30;
      knobs.barrier = GetParam().barrier;
      knobs.decay = 0;
      knobs.period = 1'000'000;
      std::string specification = GetParam().call + (":" + std::to_string(n)) + onwards;
      ASSERT_TRUE(os::inject_failures(specification.c_str()));
      run();
      tried++;
      os::inject_failures("");
      close_heap();
      if (HasFailure()) FAIL() << specification;
    }
  }
  EXPECT_GE(tried, 80u);
}

INSTANTIATE_TEST_SUITE_P(Calls, FailureTest,
                         ::testing::Values(Failure{"memfd", BarrierKind::kAuto}, Failure{"mmap", BarrierKind::kAuto}, Failure{"mremap", BarrierKind::kAuto},
                                           Failure{"madvise", BarrierKind::kAuto}, Failure{"userfaultfd", BarrierKind::kAuto},
                                           Failure{"register", BarrierKind::kAuto}, Failure{"writeprotect", BarrierKind::kAuto},
                                           Failure{"membarrier", BarrierKind::kUserMode}, Failure{"mprotect", BarrierKind::kMprotect},
                                           Failure{"mremap", BarrierKind::kMprotect}),
                         [](const auto& info) { return std::string(info.param.call) + "_" + std::to_string(static_cast<int>(info.param.barrier)); });

}  // namespace
}  // namespace freehold::mesh::testing
