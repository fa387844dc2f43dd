// What the tests of exhaustive models share: every interleaving loses nothing, and with each rule left out one does.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace freehold::testing {

struct Outcome {
  std::string lost;
  size_t states = 0, reclaimed = 0;
};

// `Explorer` has a constructor of rules and a number of operations, explore(start) (false: something was lost), lost(), states() and reclaimed().
template <typename Explorer, typename Beginnings>
Outcome explore_all(uint32_t rules, int operations, const Beginnings& beginnings) {
  Explorer explorer(rules, operations);
  for (const auto& start : beginnings) {
    if (!explorer.explore(start)) break;
  }
  return {explorer.lost(), explorer.states(), explorer.reclaimed()};
}

inline void expect_nothing_lost(const Outcome& outcome) {
  std::printf("%zu states, %zu deletions\n", outcome.states, outcome.reclaimed);
  EXPECT_EQ(outcome.lost, "");
  EXPECT_GT(outcome.reclaimed, 1000u);
}

inline void expect_something_lost(const Outcome& outcome, const char* rule) {
  std::printf("without \"%s\": %zu states, %s\n", rule, outcome.states, outcome.lost.c_str());
  EXPECT_NE(outcome.lost, "") << "without the rule: " << rule;
}

}  // namespace freehold::testing
