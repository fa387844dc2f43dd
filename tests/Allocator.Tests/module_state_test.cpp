#include "core/module_state.h"

#include <gtest/gtest.h>
#include <atomic>

namespace freehold::testing {
namespace {

int released = 0;

struct State {
  std::atomic<int> value{7};
  int of_release = 0;

  void release() noexcept { released += of_release; }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

constinit uint32_t word = 0;
FREEHOLD_MODULE_STATE(word);

TEST(ModuleState, BeginsAnew) {
  released = 0;
  state.value = 8;
  state.of_release = 3;
  word = 5;
  core::renew_states();
  EXPECT_EQ(state.value.load(), 7);
  EXPECT_EQ(state.of_release, 0);
  EXPECT_EQ(released, 3) << "what it had is given back, once";
  EXPECT_EQ(word, 0u);
}

}  // namespace
}  // namespace freehold::testing
