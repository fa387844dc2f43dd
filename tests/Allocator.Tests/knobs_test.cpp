#include "core/knobs.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>

namespace freehold::testing {
namespace {

bool read(std::initializer_list<const char*> variables, std::string* error, settings::Lookup lookup = nullptr) {
  core::knobs = {};
  std::vector<const char*> environment(variables);
  environment.push_back(nullptr);
  char text[512] = {};
  bool good = core::read_knobs(environment.data(), lookup, text, sizeof text);
  *error = text;
  return good;
}

TEST(Knobs, ReadsWhatIsSet) {
  std::string error;
  ASSERT_TRUE(read({"PATH=x", "FREEHOLD_STATS=1", "FREEHOLD_HEAP_LIMIT=3G", "FREEHOLD_PROTECTION=mprotect", "FREEHOLD_VERIFY="}, &error)) << error;
  EXPECT_TRUE(core::knobs.statistics);
  EXPECT_FALSE(core::knobs.verify);
  EXPECT_EQ(core::knobs.heap_limit, uint64_t{3} << 30);
  EXPECT_EQ(core::knobs.protection, core::Protection::kMprotect);
}

TEST(Knobs, UnknownAndMalformedAreNamed) {
  std::string error;
  EXPECT_FALSE(read({"FREEHOLD_STAT=1"}, &error));
  EXPECT_NE(error.find("FREEHOLD_STAT "), std::string::npos) << error;
  EXPECT_FALSE(read({"FREEHOLD_STATS=yes"}, &error));
  EXPECT_NE(error.find("FREEHOLD_STATS"), std::string::npos);
  EXPECT_NE(error.find("'yes'"), std::string::npos);
  for (const char* bad : {"FREEHOLD_HEAP_LIMIT=0", "FREEHOLD_HEAP_LIMIT=-1", "FREEHOLD_HEAP_LIMIT=1X", "FREEHOLD_HEAP_LIMIT=1GB",
                          "FREEHOLD_HEAP_LIMIT=99999999T", "FREEHOLD_FAIL=open:1", "FREEHOLD_FAIL=mmap", "FREEHOLD_FAIL=mmap:0"}) {
    EXPECT_FALSE(read({bad}, &error)) << bad;
  }
}

TEST(Knobs, Sample) {
  std::string error;
  ASSERT_TRUE(read({}, &error)) << error;
  EXPECT_FALSE(core::knobs.guards_samples());
  ASSERT_TRUE(read({"FREEHOLD_SAMPLE=10000"}, &error)) << error;
  EXPECT_EQ(core::knobs.sample, 10'000u);
  EXPECT_TRUE(core::knobs.guards_samples());
  ASSERT_TRUE(read({"FREEHOLD_SAMPLE=0"}, &error)) << error;
  EXPECT_FALSE(core::knobs.guards_samples());
  ASSERT_TRUE(read({"FREEHOLD_SAMPLE=1000000000", "FREEHOLD_DEBUG=1"}, &error)) << error;
  EXPECT_FALSE(core::knobs.guards_samples()) << "debug mode guards all";
  for (const char* bad :
       {"FREEHOLD_SAMPLE=1000000001", "FREEHOLD_SAMPLE=-1", "FREEHOLD_SAMPLE=1:10", "FREEHOLD_SAMPLE=1k", "FREEHOLD_SAMPLE=00", "FREEHOLD_SAMPLE=on"})
    EXPECT_FALSE(read({bad}, &error)) << bad;
}

TEST(Knobs, Reclaim) {
  std::string error;
  ASSERT_TRUE(read({}, &error)) << error;
  EXPECT_EQ(core::knobs.reclaim, core::Reclaim::kAuto);
  EXPECT_TRUE(core::knobs.reclaims() && core::knobs.reclaims_by_itself() && core::knobs.reclaim_concurrent);
  EXPECT_EQ(core::knobs.reclaim_growth, 100u);
  ASSERT_TRUE(read({"FREEHOLD_RECLAIM=off", "FREEHOLD_RECLAIM_GROWTH=50"}, &error)) << error;
  EXPECT_FALSE(core::knobs.reclaims());
  EXPECT_FALSE(core::knobs.reclaims_by_itself());
  EXPECT_EQ(core::knobs.reclaim_growth, 50u);
  ASSERT_TRUE(read({"FREEHOLD_RECLAIM=manual", "FREEHOLD_RECLAIM_GROWTH=50", "FREEHOLD_RECLAIM_CONCURRENT=0"}, &error)) << error;
  EXPECT_TRUE(core::knobs.reclaims());
  EXPECT_FALSE(core::knobs.reclaims_by_itself());
  EXPECT_FALSE(core::knobs.reclaim_concurrent);
  ASSERT_TRUE(read({"FREEHOLD_RECLAIM=report"}, &error)) << error;
  EXPECT_FALSE(core::knobs.reclaims() || core::knobs.reclaims_by_itself());
  EXPECT_TRUE(core::knobs.reports_leaks() && core::knobs.samples_allocations());
  ASSERT_TRUE(read({"FREEHOLD_RECLAIM=report", "FREEHOLD_DEBUG=stacks"}, &error)) << error;
  EXPECT_FALSE(core::knobs.samples_allocations());
  for (const char* bad : {"FREEHOLD_RECLAIM=1", "FREEHOLD_RECLAIM=automatic", "FREEHOLD_RECLAIM_GROWTH=0", "FREEHOLD_RECLAIM_GROWTH=50%"})
    EXPECT_FALSE(read({bad}, &error)) << bad;
}

// A profile has its own way of deleting, and objects keep their places.
TEST(Knobs, DeathsSetOthers) {
  std::string error;
  ASSERT_TRUE(read({}, &error)) << error;
  EXPECT_FALSE(core::knobs.records_deaths() || core::knobs.samples_allocations());
  ASSERT_TRUE(read({"FREEHOLD_DEATHS=/tmp/deaths-%p"}, &error)) << error;
  EXPECT_TRUE(core::knobs.records_deaths() && core::knobs.samples_allocations());
  EXPECT_STREQ(core::knobs.deaths, "/tmp/deaths-%p");
  EXPECT_EQ(core::knobs.reclaim, core::Reclaim::kManual);
  EXPECT_FALSE(core::knobs.reclaim_concurrent || core::knobs.promotion);
  // A seed alone is that of the samples.
  ASSERT_TRUE(read({"FREEHOLD_DEATHS=deaths", "FREEHOLD_STRESS=seed:2"}, &error)) << error;
  EXPECT_TRUE(core::knobs.stress.seed == 2 && !core::knobs.stress.moves() && !core::knobs.promotion);
  ASSERT_TRUE(read({"FREEHOLD_DEATHS=deaths", "FREEHOLD_STRESS=fault,seed:2"}, &error)) << error;
  EXPECT_TRUE(core::knobs.stress.moves() && core::knobs.promotion);
  // What somebody has asked for is not overridden, and the error says who.
  for (std::string given : {"FREEHOLD_RECLAIM=report", "FREEHOLD_RECLAIM=off", "FREEHOLD_DEBUG=1", "FREEHOLD_DEBUG=stacks", "FREEHOLD_SAMPLE=1000",
                            "FREEHOLD_COMPACTION=1", "FREEHOLD_RECLAIM_CONCURRENT=true"}) {
    EXPECT_FALSE(read({given.c_str(), "FREEHOLD_DEATHS=deaths"}, &error)) << given;
    EXPECT_EQ(error.find("FREEHOLD_DEATHS does not go with " + given + ": "), 0u) << error;
    std::string variable = given.substr(0, given.find('=')),
                instead = " Set " + variable + "=" + (variable == "FREEHOLD_RECLAIM" ? "manual" : "0") + " for the profile.";
    EXPECT_NE(error.find(instead), std::string::npos) << error;
  }
  EXPECT_TRUE(read(
      {"FREEHOLD_DEATHS=deaths", "FREEHOLD_RECLAIM=auto", "FREEHOLD_COMPACTION=0", "FREEHOLD_RECLAIM_CONCURRENT=0", "FREEHOLD_SAMPLE=0", "FREEHOLD_DEBUG=0"},
      &error))
      << error;
  EXPECT_EQ(core::knobs.reclaim, core::Reclaim::kManual);
  settings::Lookup published = [](const char* key, char* value, size_t capacity) {
    snprintf(value, capacity, "report");
    return strcmp(key, "System.Heap.Reclaim") == 0;
  };
  EXPECT_FALSE(read({"FREEHOLD_DEATHS=deaths", "FREEHOLD_RECLAIM="}, &error, published));
  EXPECT_EQ(error.find("FREEHOLD_DEATHS does not go with the configuration setting System.Heap.Reclaim=report: "), 0u) << error;
  EXPECT_NE(error.find("Set FREEHOLD_RECLAIM=manual"), std::string::npos) << error;
  EXPECT_TRUE(read({"FREEHOLD_DEATHS=deaths", "FREEHOLD_RECLAIM=manual"}, &error, published)) << error;
  EXPECT_FALSE(read({("FREEHOLD_DEATHS=" + std::string(core::kPathAtMost, 'x')).c_str()}, &error));
  EXPECT_NE(error.find("FREEHOLD_DEATHS"), std::string::npos) << error;
}

TEST(Knobs, StressIsAListOfModes) {
  std::string error;
  struct {
    const char* text;
    core::Stress expected;
  } cases[] = {
      {"FREEHOLD_STRESS=promote", {.promote = 10'000}},
      {"FREEHOLD_STRESS=promote:500", {.promote = 500}},
      {"FREEHOLD_STRESS=fault", {.promote = 10'000, .fault = true}},
      {"FREEHOLD_STRESS=sites,deletion:9", {.deletion = 9, .fault = true, .sites = true}},
      {"FREEHOLD_STRESS=delay,promote:7", {.promote = 7, .delay = 100}},
      {"FREEHOLD_STRESS=seed:123456789012", {.promote = 10'000, .seed = 123456789012, .only_seed = true}},
      {"FREEHOLD_STRESS=deletion:100", {.deletion = 100}},
      {"FREEHOLD_STRESS=fault,deletion:3,seed:2,delay:5", {.deletion = 3, .delay = 5, .fault = true, .seed = 2}},
      {"FREEHOLD_STRESS=deletion:3,promote:9", {.promote = 9, .deletion = 3}},
      {"FREEHOLD_STRESS=reclaim", {.reclaim = 10'000}},
      {"FREEHOLD_STRESS=promote,reclaim:300", {.promote = 10'000, .reclaim = 300}},
      {"FREEHOLD_STRESS=preempt", {.promote = 10'000, .preempt = 2'000, .dedangle = true}},
      {"FREEHOLD_STRESS=preempt:500,fault,promote:900", {.promote = 900, .preempt = 500, .fault = true, .dedangle = true}},
      {"FREEHOLD_STRESS=dedangle", {.promote = 10'000, .dedangle = true}},
  };
  for (const auto& [text, expected] : cases) {
    ASSERT_TRUE(read({text}, &error)) << error;
    EXPECT_EQ(core::knobs.stress, expected) << text;
  }
  for (const char* bad : {"FREEHOLD_STRESS=move", "FREEHOLD_STRESS=promote,", "FREEHOLD_STRESS=,promote", "FREEHOLD_STRESS=promote:",
                          "FREEHOLD_STRESS=promote:0", "FREEHOLD_STRESS=promote:-1", "FREEHOLD_STRESS=promote:99999999", "FREEHOLD_STRESS=deletion",
                          "FREEHOLD_STRESS=deletion:0", "FREEHOLD_STRESS=fault:3", "FREEHOLD_STRESS=sites:3", "FREEHOLD_STRESS=dedangle:3",
                          "FREEHOLD_STRESS=seed", "FREEHOLD_STRESS=reclaim:0", "FREEHOLD_STRESS=preempt:0", "FREEHOLD_STRESS=promote;fault"}) {
    EXPECT_FALSE(read({bad}, &error)) << bad;
    EXPECT_NE(error.find("FREEHOLD_STRESS"), std::string::npos) << error;
  }
}

TEST(Knobs, DebugModeMayKeepStacks) {
  std::string error;
  auto configured = [](const char* key, char* value, size_t capacity) {
    if (std::string(key) != "System.Heap.Debug") return false;
    snprintf(value, capacity, "stacks");
    return true;
  };
  ASSERT_TRUE(read({"FREEHOLD_DEBUG=1"}, &error));
  EXPECT_TRUE(core::knobs.debug && !core::knobs.stacks);
  ASSERT_TRUE(read({}, &error, configured));
  EXPECT_TRUE(core::knobs.debug && core::knobs.stacks);
  ASSERT_TRUE(read({"FREEHOLD_DEBUG=1"}, &error, configured));
  EXPECT_TRUE(core::knobs.debug && !core::knobs.stacks);
  ASSERT_TRUE(read({"FREEHOLD_DEBUG=0"}, &error, configured));
  EXPECT_FALSE(core::knobs.debug || core::knobs.stacks);
  for (const char* bad : {"FREEHOLD_DEBUG=stack", "FREEHOLD_DEBUG=stacks,1", "FREEHOLD_DEBUG=2"}) {
    EXPECT_FALSE(read({bad}, &error)) << bad;
    EXPECT_NE(error.find("FREEHOLD_DEBUG"), std::string::npos);
  }
}

TEST(Knobs, TheEnvironmentHasTheLastWord) {
  std::string error;
  auto lookup = [](const char* key, char* value, size_t capacity) {
    if (std::string(key) != "System.Heap.Limit") return false;
    snprintf(value, capacity, "1G");
    return true;
  };
  ASSERT_TRUE(read({}, &error, lookup));
  EXPECT_EQ(core::knobs.heap_limit, uint64_t{1} << 30);
  ASSERT_TRUE(read({"FREEHOLD_HEAP_LIMIT=2G"}, &error, lookup));
  EXPECT_EQ(core::knobs.heap_limit, uint64_t{2} << 30);
}

}  // namespace
}  // namespace freehold::testing
