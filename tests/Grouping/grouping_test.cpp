// Groups and selectors: worked examples, and random profiles against what must be true of the result, checked the long way.
#include "grouping.h"

#include <gtest/gtest.h>

#include <set>

#include "groups_file.h"
#include "profiles.h"
#include "selectors.h"

namespace freehold::grouping::testing {
namespace {

constexpr Options kAll{1.0, 0, 0.05, 16, 0, 63};

std::set<uint32_t> set_of(const std::vector<uint32_t>& members) { return {members.begin(), members.end()}; }

TEST(GroupingTest, TheScoreIsTheDensityWithLoops) {
  Graph graph;
  graph.edges = {{{0, 1}, 10}, {{1, 2}, 20}, {{1, 1}, 6}};
  EXPECT_EQ(score(graph, {0}), 0);
  EXPECT_EQ(score(graph, {1}), 6);        // one loop
  EXPECT_EQ(score(graph, {0, 1}), 8);     // 16 by one pair and one loop
  EXPECT_EQ(score(graph, {0, 1, 2}), 9);  // 36 by three pairs and one loop
  EXPECT_DOUBLE_EQ(merge_benefit(graph, {0, 1}, {2}, 0.05), 9 - 0.95 * 8);
  EXPECT_DOUBLE_EQ(merge_benefit(graph, {0}, {2}, 0.05), 0);
}

// Two pairs that are used together, and a weak link between them.
TEST(GroupingTest, TwoPairsAreTwoGroups) {
  Profile profile;
  uint32_t site = add_site(profile, "f>malloc#1");
  for (uint64_t accesses : {100, 90, 80, 70}) add_context(profile, accesses, {site});
  profile.affinities = {{{0, 2}, 50}, {{1, 3}, 40}, {{0, 1}, 3}};
  auto groups = groups_of(profile, graph_of(profile, kAll), kAll);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].members, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(groups[0].weight, 50u);
  EXPECT_EQ(groups[0].accesses, 180u);
  EXPECT_EQ(groups[1].members, (std::vector<uint32_t>{1, 3}));
}

// At a tolerance of 5% a third context may cost the group so much of its density, and no more.
TEST(GroupingTest, TheToleranceSaysWhatAMemberMayCost) {
  Profile profile;
  uint32_t site = add_site(profile, "f>malloc#1");
  for (uint64_t accesses : {100, 90, 80}) add_context(profile, accesses, {site});
  profile.affinities = {{{0, 1}, 100}, {{0, 2}, 93}, {{1, 2}, 93}};
  EXPECT_EQ(groups_of(profile, graph_of(profile, kAll), kAll)[0].members.size(), 3u);
  profile.affinities[{1, 2}] = 91;  // 284 / 3 < 95
  EXPECT_EQ(groups_of(profile, graph_of(profile, kAll), kAll)[0].members.size(), 2u);
  Options lax = kAll;
  lax.merge_tolerance = 0.06;
  EXPECT_EQ(groups_of(profile, graph_of(profile, lax), lax)[0].members.size(), 3u);
}

TEST(GroupingTest, EachLimitLeavesOut) {
  Profile profile;
  uint32_t site = add_site(profile, "f>malloc#1");
  for (uint64_t accesses : {700, 250, 50}) add_context(profile, accesses, {site});
  profile.affinities = {{{0, 0}, 100}, {{0, 1}, 200}, {{1, 2}, 4}};
  Options options = kAll;
  options.coverage = 0.9;
  EXPECT_EQ(graph_of(profile, options).nodes, (std::vector<uint32_t>{0, 1}));
  options = kAll;
  options.least_affinity = 0.005;
  EXPECT_EQ(graph_of(profile, options).edges.size(), 2u);
  options = kAll;
  options.least_weight = 0.31;
  EXPECT_TRUE(groups_of(profile, graph_of(profile, options), options).empty());
  options.least_weight = 0.29;
  EXPECT_EQ(groups_of(profile, graph_of(profile, options), options).size(), 1u);
  options.most_members = 1;
  options.least_weight = 0;
  EXPECT_EQ(groups_of(profile, graph_of(profile, options), options)[0].members, (std::vector<uint32_t>{0}));
  options = kAll;
  options.most_groups = 1;
  EXPECT_EQ(groups_of(profile, graph_of(profile, options), options).size(), 1u);
}

// A context whose objects are used with each other is a group, also alone.
TEST(GroupingTest, AContextMayBeAGroupAlone) {
  Profile profile;
  add_context(profile, 10, {add_site(profile, "f>malloc#1")});
  profile.affinities = {{{0, 0}, 10}};
  EXPECT_EQ(groups_of(profile, graph_of(profile, kAll), kAll).size(), 1u);
  profile.affinities.clear();
  EXPECT_TRUE(groups_of(profile, graph_of(profile, kAll), kAll).empty());
}

// The sum over all pairs, by the definition.
double slow_score(const Profile& profile, const std::set<uint32_t>& members) {
  double sum = 0, pairs = 0;
  for (uint32_t a : members) {
    for (uint32_t b : members) {
      if (a > b) continue;
      auto found = profile.affinities.find({a, b});
      if (found != profile.affinities.end()) sum += static_cast<double>(found->second);
      if (a != b || found != profile.affinities.end()) pairs++;
    }
  }
  return pairs == 0 ? 0 : sum / pairs;
}

TEST(GroupingTest, RandomProfilesGiveWhatTheAlgorithmSays) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    std::mt19937_64 random(seed);
    Profile profile = random_profile(random);
    Options options = kAll;
    options.most_members = 1 + random() % 6;
    auto groups = groups_of(profile, graph_of(profile, options), options);
    std::set<uint32_t> taken;
    for (const Group& group : groups) {
      for (uint32_t member : group.members) ASSERT_TRUE(taken.insert(member).second) << seed;
      // Each member was the best one when it came, and was worth it.
      std::set<uint32_t> so_far{group.members[0]};
      for (size_t i = 1; i < group.members.size(); i++) {
        auto benefit = [&](uint32_t stranger) {
          std::set<uint32_t> more = so_far;
          more.insert(stranger);
          return slow_score(profile, more) - 0.95 * std::max(slow_score(profile, so_far), slow_score(profile, {stranger}));
        };
        double chosen = benefit(group.members[i]);
        EXPECT_GT(chosen, 0) << seed;
        for (size_t j = i; j < group.members.size(); j++) EXPECT_LE(benefit(group.members[j]), chosen + 1e-9) << seed;
        so_far.insert(group.members[i]);
      }
      EXPECT_LE(group.members.size(), options.most_members);
    }
    // Nothing that has an affinity with another is left alone without a reason: of two such that are in no group, none would make one.
    for (const auto& [pair, weight] : profile.affinities) {
      bool used = profile.contexts[pair.first].accesses != 0 && profile.contexts[pair.second].accesses != 0;
      if (used && options.most_members > 1) {
        EXPECT_TRUE(taken.contains(pair.first) || taken.contains(pair.second)) << seed;
      }
    }
  }
}

Profile chains(const std::vector<std::vector<uint32_t>>& all, uint32_t sites) {
  Profile profile;
  for (uint32_t i = 0; i < sites; i++) add_site(profile, "f" + std::to_string(i) + ">g#1");
  for (const auto& chain : all) add_context(profile, 1, chain);
  return profile;
}

// Where the allocation itself is enough no call is marked.
TEST(SelectorsTest, TheAllocationAloneWhereItIsEnough) {
  Profile profile = chains({{0, 3}, {1, 4}}, 5);
  auto selectors = selectors_of(profile, {{{0}, 1, 1}});
  EXPECT_EQ(selectors[0].any_of, (std::vector<Conjunction>{{3, {}}}));
}

// All through one allocation (a wrapper of malloc): one site tells 0 from the others, where its other ones would not.
TEST(SelectorsTest, TheFewestSitesThatTellItApart) {
  Profile profile = chains({{0, 1, 2, 9}, {0, 1, 9}, {0, 3, 9}, {1, 3, 9}}, 10);
  auto selectors = selectors_of(profile, {{{0}, 1, 1}});
  EXPECT_EQ(selectors[0].any_of, (std::vector<Conjunction>{{9, {2}}}));
  // Two together where none alone does.
  selectors = selectors_of(profile, {{{1}, 1, 1}, {{0}, 1, 1}});
  EXPECT_EQ(select(selectors, profile.contexts[2]), 2u);
  EXPECT_EQ(select(selectors, profile.contexts[3]), 2u);
  EXPECT_EQ(selectors[0].any_of[0].marked.size(), 2u);
}

// One conjunction may do for several members.
TEST(SelectorsTest, MembersShareAConjunction) {
  Profile profile = chains({{0, 1, 9}, {0, 2, 9}, {3, 9}}, 10);
  auto selectors = selectors_of(profile, {{{0, 1}, 1, 1}});
  EXPECT_EQ(selectors[0].any_of, (std::vector<Conjunction>{{9, {0}}}));
}

TEST(SelectorsTest, RandomProfilesAreToldApartWhereTheyCanBe) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    std::mt19937_64 random(seed);
    Profile profile = random_profile(random);
    auto groups = groups_of(profile, graph_of(profile, kAll), kAll);
    auto selectors = selectors_of(profile, groups);
    std::vector<size_t> group_of(profile.contexts.size(), groups.size());
    for (size_t g = 0; g < groups.size(); g++) {
      for (uint32_t member : groups[g].members) group_of[member] = g;
    }
    // It has all call sites of some member, and the same allocation: no conjunction of the member's sites can leave it out.
    auto looks_like = [&](const Context& context, const Group& group) {
      return std::any_of(group.members.begin(), group.members.end(), [&](uint32_t member) {
        const auto& sites = profile.contexts[member].sites;
        auto there = set_of(context.sites), wanted = set_of(sites);
        return context.sites.back() == sites.back() && std::includes(there.begin(), there.end(), wanted.begin(), wanted.end());
      });
    };
    for (uint32_t c = 0; c < profile.contexts.size(); c++) {
      size_t chosen = select(selectors, profile.contexts[c]);
      if (group_of[c] < groups.size()) {
        EXPECT_LE(chosen, group_of[c]) << seed << " context " << c;
      }
      if (chosen < groups.size() && chosen != group_of[c]) {
        EXPECT_TRUE(looks_like(profile.contexts[c], groups[chosen])) << seed << " context " << c;
      }
    }
  }
}

// More marked sites than a word has bits: the last groups go, and what is left fits.
TEST(SelectorsTest, GroupsThatNeedTooManyBitsAreLeftOut) {
  Profile profile;
  uint32_t allocation = add_site(profile, "get>malloc#1");
  std::vector<Group> groups;
  for (uint32_t i = 0; i < kMostBits + 4; i++) {
    uint32_t site = add_site(profile, "f" + std::to_string(i) + ">get#1");
    add_context(profile, 10, {site, allocation});
    if (i % 2 == 0) {
      groups.push_back({{i}, 1, 10});
    } else {
      groups.back().members.push_back(i);
    }
  }
  add_context(profile, 1, {allocation});
  size_t dropped;
  GroupsFile made = make_groups(profile, groups, &dropped);
  EXPECT_EQ(dropped, 2u);
  EXPECT_EQ(made.groups.size(), groups.size() - 2);
  std::set<int> bits(made.bits.begin(), made.bits.end());
  EXPECT_LT(*bits.rbegin(), static_cast<int>(kMostBits));
}

}  // namespace
}  // namespace freehold::grouping::testing
