// Every system call fails somewhere: allocations may, objects and the heap must not. calls.txt has the places, calls_test.cpp compares it with the source.
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

struct Failure {
  const char* call;
  BarrierKind barrier = BarrierKind::kAuto;
  const char* also = "";  // what leads to the call
};

class FailureTest : public ::testing::TestWithParam<Failure> {};

// What a system call of a thread does before and after, in frames that it has left by a jump.
void announce_much() {
  WriteBarrier& barrier = heap.barrier;
  ThreadLocalHeap* own = own_heap();
  if (own == nullptr || !barrier.needs_announcements()) return;
  const void* address = &barrier;
  auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  for (uint32_t i = 0; i < 30; i++) barrier.announce(*own, &address, 1, frame - 16 * i);
  while (own->announced_count.load() != 0) WriteBarrier::retract(*own, 1);
}

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
      announce_much();
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

os::Call call_named(const std::string& name) {
  for (size_t i = 0; i < static_cast<size_t>(os::Call::kCount); i++) {
    if (name == os::call_name(static_cast<os::Call>(i))) return static_cast<os::Call>(i);
  }
  ADD_FAILURE() << "no call is named " << name;
  return os::Call::kMmap;
}

TEST_P(FailureTest, AtEachCallInTurn) {
  uint64_t reached = 0;
  for (uint64_t n = 1; n <= 400; n = n < 40 ? n + 1 : n + n / 6) {
    for (const char* onwards : {"", "+"}) {
      knobs = {};
      knobs.seed = std::string(GetParam().call) == "random" ? 0 : n;
      knobs.address_space = std::string(GetParam().call) == "sysinfo" ? 0 : size_t{3} << 30;
      knobs.barrier = GetParam().barrier;
      knobs.decay = 0;
      knobs.period = 1'000'000;
      std::string specification = GetParam().call + (":" + std::to_string(n)) + onwards + GetParam().also;
      ASSERT_TRUE(os::inject_failures(specification.c_str()));
      run();
      close_heap();
      reached = std::max(reached, os::call_count(call_named(GetParam().call)));
      os::inject_failures("");
      if (HasFailure()) FAIL() << specification;
    }
    // Later ones are not made.
    if (n > reached + 1) break;
  }
  bool has_userfaultfd = false;
  for (bool user_mode : {false, true}) {
    int descriptor = os::open_userfaultfd(user_mode);
    has_userfaultfd |= descriptor >= 0;
    if (descriptor >= 0) os::close(descriptor);
  }
  if (reached == 0 && !has_userfaultfd && GetParam().barrier == BarrierKind::kAuto) GTEST_SKIP() << "no userfaultfd here";
  EXPECT_GT(reached, 0u) << "the program makes no such call";
}

INSTANTIATE_TEST_SUITE_P(Calls, FailureTest,
                         ::testing::Values(Failure{"memfd"}, Failure{"ftruncate"}, Failure{"fstat"}, Failure{"fcntl"}, Failure{"prlimit"}, Failure{"open"},
                                           Failure{"mmap"}, Failure{"munmap"}, Failure{"mremap"}, Failure{"madvise"},
                                           Failure{"mincore", BarrierKind::kAuto, ",mremap:1"}, Failure{"userfaultfd"}, Failure{"handshake"},
                                           Failure{"register"}, Failure{"writeprotect"}, Failure{"unregister", BarrierKind::kAuto, ",writeprotect:2"},
                                           Failure{"membarrier", BarrierKind::kUserMode}, Failure{"altstack", BarrierKind::kMprotect},
                                           Failure{"mprotect", BarrierKind::kMprotect}, Failure{"mremap", BarrierKind::kMprotect},
                                           Failure{"sigmask", BarrierKind::kMprotect}, Failure{"random"}, Failure{"sysinfo"}),
                         [](const auto& info) { return std::string(info.param.call) + "_" + std::to_string(static_cast<int>(info.param.barrier)); });

}  // namespace
}  // namespace freehold::mesh::testing
