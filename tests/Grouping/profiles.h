// Profiles for tests: by hand, and random ones.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "profile.h"

namespace freehold::grouping::testing {

inline uint32_t add_site(Profile& profile, const std::string& name, uint64_t shape = 1) {
  profile.sites.push_back({name, shape});
  return static_cast<uint32_t>(profile.sites.size() - 1);
}

inline uint32_t add_context(Profile& profile, uint64_t accesses, std::vector<uint32_t> sites) {
  profile.contexts.push_back({1, 16, accesses, std::move(sites)});
  return static_cast<uint32_t>(profile.contexts.size() - 1);
}

// Chains that have much in common: few sites, of which the last are allocations.
inline Profile random_profile(std::mt19937_64& random) {
  Profile profile;
  auto below = [&](uint64_t n) { return random() % n; };
  uint32_t calls = static_cast<uint32_t>(2 + below(6)), allocations = static_cast<uint32_t>(1 + below(3));
  for (uint32_t i = 0; i < calls + allocations; i++) add_site(profile, "f" + std::to_string(i) + ">g#1", i);
  uint64_t wanted = 2 + below(12);
  for (uint64_t i = 0; i < wanted; i++) {
    std::vector<uint32_t> chain;
    for (uint64_t length = below(calls + 1); chain.size() < length;) {
      auto site = static_cast<uint32_t>(below(calls));
      if (std::find(chain.begin(), chain.end(), site) == chain.end()) chain.push_back(site);
    }
    chain.push_back(static_cast<uint32_t>(calls + below(allocations)));
    bool is_new = std::none_of(profile.contexts.begin(), profile.contexts.end(), [&](const Context& context) { return context.sites == chain; });
    if (is_new) add_context(profile, below(1000), chain);
  }
  for (uint64_t i = below(40); i != 0; i--) {
    auto a = static_cast<uint32_t>(below(profile.contexts.size())), b = static_cast<uint32_t>(below(profile.contexts.size()));
    profile.affinities[{std::min(a, b), std::max(a, b)}] = 1 + below(500);
  }
  return profile;
}

}  // namespace freehold::grouping::testing
