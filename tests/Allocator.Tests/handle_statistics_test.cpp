// The figures of the runtime of handles, if a library of the process has loaded it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "runtime/native_handles.h"

namespace freehold::testing {
namespace {

// HANDLES_LIBRARY is one of that name whose figures are 100, 101, …
TEST(HandleStatistics, AreThoseOfTheLibraryIfThereIsOne) {
  constexpr int32_t kFigures = 5;
  uint64_t values[kFigures + 1];
  auto ask = [&values] {
    std::fill(std::begin(values), std::end(values), 7);
    runtime::read_handle_figures(values, kFigures);
    EXPECT_EQ(values[kFigures], 7u) << "as many as were asked for";
  };
  ask();
  for (int i = 0; i < kFigures; i++) EXPECT_EQ(values[i], 0u) << i;
  void* library = dlopen(HANDLES_LIBRARY, RTLD_LAZY);
  ASSERT_NE(library, nullptr) << dlerror();
  for (int again = 0; again < 2; again++) {
    ask();
    for (int i = 0; i < kFigures; i++) EXPECT_EQ(values[i], 100u + static_cast<uint64_t>(i));
  }
  // Whoever asks holds it no longer than that.
  ASSERT_EQ(dlclose(library), 0);
  EXPECT_EQ(dlopen(HANDLES_LIBRARY, RTLD_LAZY | RTLD_NOLOAD), nullptr);
  ask();
  EXPECT_EQ(values[0], 0u);
}

}  // namespace
}  // namespace freehold::testing
