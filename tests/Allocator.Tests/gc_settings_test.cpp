// What System.GC and GCSettings answer, and where the heap's limit comes from. The runtime's part is the test's.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "heap/accounting.h"
#include "heap/promotion_counters.h"
#include "heap_fixture.h"
#include "runtime/collections.h"
#include "runtime/gc_heap.h"
#include "runtime/runtime_config.h"
#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"

namespace freehold::runtime {

std::map<std::string, int64_t> dotnet_settings;  // by the name in the environment
uint64_t memory_of_process;
bool is_in_group;
int finalizer_requests;

bool int_setting(const char* key, const char* public_key, int64_t* value) {
  EXPECT_EQ(std::string("System.GC.") + (key + strlen("GC")), public_key);
  auto found = dotnet_settings.find(key);
  if (found != dotnet_settings.end()) *value = found->second;
  return found != dotnet_settings.end();
}
uint64_t physical_memory_limit(bool* restricted) {
  if (restricted != nullptr) *restricted = is_in_group;
  return memory_of_process;
}
void memory_status(uint64_t restricted_limit, uint32_t* load, uint64_t* available, uint64_t*) {
  *load = restricted_limit == 0 ? 40 : 70;
  *available = memory_of_process / 100 * (100 - *load);
}
void request_finalizer_thread(bool) { finalizer_requests++; }
int64_t last_pause() noexcept { return 17; }
uint32_t pause_share(uint32_t whole) noexcept { return whole / 4; }

// As the compiler lays them out.
struct EmbeddedSettings {
  uint32_t count;
  const char* text[6];
};
extern EmbeddedSettings embedded_settings asm("g_compilerEmbeddedKnobsBlob");
EmbeddedSettings embedded_settings = {3, {"System.Heap.Statistics", "System.GC.Server", "System.Heap.Debug", "1", "false", "stacks"}};

}  // namespace freehold::runtime

namespace freehold::testing {
namespace {

using namespace freehold::runtime;

constexpr uint64_t kMegabyte = 1 << 20, kMemory = 8'000 * kMegabyte;

class GcSettingsTest : public HeapTest {
 protected:
  void SetUp() override {
    HeapTest::SetUp();
    dotnet_settings.clear();
    memory_of_process = kMemory;
    is_in_group = false;
    finalizer_requests = 0;
    heap::set_limit(1'000 * kMegabyte);
  }

  void allocate_bytes(uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += 100'000) ASSERT_NE(allocate(&bytes_type.table, 100'000), nullptr);
  }
};

TEST_F(GcSettingsTest, TheLimitIsWhatTheFirstOfItsSourcesSays) {
  EXPECT_EQ(heap_limit(), kMemory / 100 * 95);
  is_in_group = true;
  EXPECT_EQ(heap_limit(), kMemory / 4 * 3);
  memory_of_process = 24 * kMegabyte;
  EXPECT_EQ(heap_limit(), 20 * kMegabyte) << "the least in a group";
  memory_of_process = kMemory;

  // The later ones first: each wins over those before.
  dotnet_settings = {{"GCHeapHardLimitSOHPercent", 10}, {"GCHeapHardLimitLOHPercent", 20}, {"GCHeapHardLimitPOHPercent", 5}};
  EXPECT_EQ(heap_limit(), kMemory / 100 * 35);
  dotnet_settings["GCHeapHardLimitLOHPercent"] = 90;
  EXPECT_EQ(heap_limit(), kMemory / 4 * 3) << "more than there is says nothing";
  dotnet_settings["GCHeapHardLimitPercent"] = 50;
  EXPECT_EQ(heap_limit(), kMemory / 2);
  for (int64_t nonsense : {-1, 0, 100}) {
    dotnet_settings["GCHeapHardLimitPercent"] = nonsense;
    EXPECT_EQ(heap_limit(), kMemory / 4 * 3) << nonsense;
  }
  dotnet_settings["GCHeapHardLimitPercent"] = 50;
  dotnet_settings["GCHeapHardLimitSOH"] = 100;
  dotnet_settings["GCHeapHardLimitLOH"] = 200;
  dotnet_settings["GCHeapHardLimitPOH"] = -5;
  EXPECT_EQ(heap_limit(), 300u);
  dotnet_settings["GCHeapHardLimit"] = 70;
  EXPECT_EQ(heap_limit(), 70u);
  dotnet_settings["GCHeapHardLimit"] = 0;
  EXPECT_EQ(heap_limit(), 300u);
  core::knobs.heap_limit = 60;
  EXPECT_EQ(heap_limit(), 60u);
}

// A library may ask for each of its requests. Each counts; a round over the whole heap is for who forces it.
TEST_F(GcSettingsTest, OnlyAForcedCollectionCompacts) {
  core::knobs.promotion = true;
  constexpr int32_t kNonBlocking = 1, kBlocking = 2, kOptimized = 4;
  const uint64_t before = heap::promotion_counters.rounds;
  const int32_t collections = collection_count(0);
  for (int i = 0; i < 20; i++) {
    for (int32_t generation : {0, 1}) collect_garbage(generation, kBlocking);
    for (int32_t mode : {kOptimized, kBlocking | kOptimized, kNonBlocking}) collect_garbage(2, mode);
  }
  EXPECT_EQ(heap::promotion_counters.rounds, before);
  EXPECT_GE(collection_count(0), collections + 100);
  collect_garbage(2, kBlocking);
  EXPECT_GT(heap::promotion_counters.rounds, before);
}

TEST_F(GcSettingsTest, EmbeddedSettingsAreFoundByName) {
  char value[7];
  ASSERT_TRUE(public_config("System.Heap.Debug", value, sizeof value));
  EXPECT_STREQ(value, "stacks");
  ASSERT_TRUE(public_config("system.heap.STATISTICS", value, sizeof value));
  EXPECT_STREQ(value, "1");
  EXPECT_FALSE(public_config("System.Heap.Debug", value, 6)) << "no room for it";
  EXPECT_FALSE(public_config("System.Heap", value, sizeof value));
  EXPECT_FALSE(public_config("stacks", value, sizeof value)) << "a value is no name";
}

TEST_F(GcSettingsTest, ModesAreRemembered) {
  EXPECT_EQ(latency_mode(), 1) << "interactive";
  for (int32_t mode : {0, 1, 2, 3}) {
    EXPECT_EQ(set_latency_mode(mode), 0);
    EXPECT_EQ(latency_mode(), mode);
  }
  // GCLatencyMode.NoGCRegion begins by another call only.
  for (int32_t mode : {-1, 4, 5}) {
    set_latency_mode(mode);
    EXPECT_EQ(latency_mode(), 3);
  }
  EXPECT_EQ(loh_compaction_mode(), 1);
  set_loh_compaction_mode(2);
  EXPECT_EQ(loh_compaction_mode(), 2);
}

TEST_F(GcSettingsTest, ARegionWithoutCollections) {
  constexpr int32_t kDone = 0, kNoRoom = 1, kTooLarge = 2, kInProgress = 3, kNotInProgress = 1, kRefused = 1, kRegion = 4;
  set_latency_mode(2);
  EXPECT_EQ(end_no_gc_region(), kNotInProgress);
  EXPECT_EQ(start_no_gc_region(0), kTooLarge);
  EXPECT_EQ(start_no_gc_region(1'000 * kMegabyte + 1), kTooLarge);
  allocate_bytes(2 * kMegabyte);
  EXPECT_EQ(start_no_gc_region(999 * kMegabyte), kNoRoom);
  memory_of_process = 500 * kMegabyte;
  EXPECT_EQ(start_no_gc_region(501 * kMegabyte), kTooLarge) << "a limit of more than there is";
  EXPECT_EQ(latency_mode(), 2);
  EXPECT_EQ(start_no_gc_region(50 * kMegabyte), kDone);
  EXPECT_EQ(latency_mode(), kRegion);
  EXPECT_EQ(set_latency_mode(0), kRefused);
  EXPECT_EQ(start_no_gc_region(1), kInProgress);
  EXPECT_EQ(end_no_gc_region(), kDone);
  EXPECT_EQ(latency_mode(), 2);
  EXPECT_EQ(finalizer_requests, 0);
}

TEST_F(GcSettingsTest, TheCallbackOfARegion) {
  constexpr int32_t kDone = 0, kNotInProgress = 1, kTooLarge = 2, kRegistered = 3;
  NoGcRegionCallback first = {}, second = {};
  EXPECT_EQ(enable_no_gc_callback(&first, 1), kNotInProgress);
  // Its threshold is passed.
  ASSERT_EQ(start_no_gc_region(10 * kMegabyte), kDone);
  EXPECT_EQ(enable_no_gc_callback(&first, 10 * kMegabyte + 1), kTooLarge);
  EXPECT_FALSE(allocations_are_noted());
  EXPECT_EQ(enable_no_gc_callback(&first, 5 * kMegabyte), kDone);
  EXPECT_EQ(enable_no_gc_callback(&second, 5 * kMegabyte), kRegistered);
  EXPECT_TRUE(allocations_are_noted());
  note_allocation();
  EXPECT_FALSE(first.scheduled) << "nothing was allocated";
  allocate_bytes(8 * kMegabyte);
  note_allocation();
  EXPECT_TRUE(first.scheduled);
  EXPECT_FALSE(first.abandoned);
  EXPECT_FALSE(allocations_are_noted());
  EXPECT_EQ(finalizer_requests, 1);
  note_allocation();
  EXPECT_EQ(finalizer_requests, 1) << "once";
  // The region ends before: the next one's is not due. The finalizer thread takes both.
  ASSERT_EQ(end_no_gc_region(), kDone);
  ASSERT_EQ(start_no_gc_region(10 * kMegabyte), kDone);
  ASSERT_EQ(enable_no_gc_callback(&second, 10 * kMegabyte), kDone);
  ASSERT_EQ(end_no_gc_region(), kDone);
  EXPECT_TRUE(second.scheduled);
  EXPECT_TRUE(second.abandoned);
  EXPECT_EQ(finalizer_requests, 2);
  EXPECT_EQ(take_finalizer_work(), &second);
  EXPECT_EQ(second.next, &first);
  EXPECT_EQ(first.next, nullptr);
  EXPECT_EQ(take_finalizer_work(), nullptr);
  // The region ends behind it, and no allocation has looked since.
  NoGcRegionCallback third = {};
  ASSERT_EQ(start_no_gc_region(10 * kMegabyte), kDone);
  ASSERT_EQ(enable_no_gc_callback(&third, 5 * kMegabyte), kDone);
  allocate_bytes(8 * kMegabyte);
  ASSERT_EQ(end_no_gc_region(), kDone);
  EXPECT_TRUE(third.scheduled);
  EXPECT_FALSE(third.abandoned);
}

TEST_F(GcSettingsTest, MemoryFigures) {
  uint64_t number[10] = {}, generations[20], pauses[2] = {};
  uint32_t generation = 9, percentage = 9;
  bool compacting = true, concurrent = true;
  std::fill_n(generations, std::size(generations), 9);
  MemoryInfo info = {&number[0], &number[1], &number[2],  &number[3],  &number[4],  &number[5],  &number[6],  &number[7],
                     &number[8], &number[9], &generation, &percentage, &compacting, &concurrent, generations, pauses};
  allocate_bytes(3 * kMegabyte);
  fill_memory_info(info, 0);
  EXPECT_EQ(*info.high_load_threshold, kMemory / 10 * 9);
  EXPECT_EQ(*info.total_available, 1'000 * kMegabyte);
  EXPECT_EQ(*info.memory_load, kMemory / 100 * 40);
  EXPECT_GE(*info.heap_size, 3 * kMegabyte);
  EXPECT_EQ(*info.heap_size - *info.fragmentation, heap::total_bytes_in_use());
  EXPECT_EQ(generations[0], *info.heap_size);
  EXPECT_EQ(generations[3], *info.fragmentation);
  EXPECT_EQ(generations[19], 0u);
  EXPECT_FALSE(compacting);
  EXPECT_FALSE(concurrent);
  EXPECT_EQ(*info.index, 0u);
  EXPECT_EQ(pauses[0], 0u) << "there was no collection";

  is_in_group = true;
  collection_begins(heap::ReclaimScope::kAll);
  collection_ends(heap::ReclaimScope::kAll, true);
  fill_memory_info(info, static_cast<int32_t>(CollectionKind::kFullBlocking));
  EXPECT_EQ(*info.memory_load, kMemory / 100 * 70) << "of the group";
  EXPECT_EQ(*info.index, 1u);
  EXPECT_EQ(generation, 2u);
  EXPECT_EQ(pauses[0], 17u);
  EXPECT_EQ(percentage, 2500u) << "in hundredths of a percent";
  EXPECT_TRUE(compacting);
  fill_memory_info(info, static_cast<int32_t>(CollectionKind::kEphemeral));
  EXPECT_EQ(*info.index, 0u);
  fill_memory_info(info, static_cast<int32_t>(CollectionKind::kBackground));
  EXPECT_EQ(*info.index, 0u);
}

TEST_F(GcSettingsTest, TheLimitCanBeRefreshed) {
  constexpr int32_t kDone = 0, kTooLow = 1;
  allocate_bytes(3 * kMegabyte);
  dotnet_settings["GCHeapHardLimit"] = 1'000'000;
  EXPECT_EQ(refresh_memory_limit(), kTooLow);
  EXPECT_EQ(heap::heap_limit(), 1'000 * kMegabyte);
  dotnet_settings["GCHeapHardLimit"] = 100 * kMegabyte;
  EXPECT_EQ(refresh_memory_limit(), kDone);
  EXPECT_EQ(heap::heap_limit(), 100 * kMegabyte);
  EXPECT_EQ(available_memory(), 100 * kMegabyte);
}

}  // namespace
}  // namespace freehold::testing
