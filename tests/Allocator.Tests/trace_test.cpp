// The queue of events: in order, bounded, from any number of threads; and who puts events there.
#include "heap/trace.h"

#include <map>
#include <thread>
#include <vector>

#include "heap/notices.h"
#include "heap/promotion.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using heap::TraceEvent;
using heap::TraceKind;

constexpr size_t kRoom = 1024;

class TraceTest : public HeapTest {
 protected:
  void SetUp() override {
    HeapTest::SetUp();
    heap::set_tracing(true);
  }
  void TearDown() override {
    heap::set_tracing(false);
    HeapTest::TearDown();
  }

  static std::vector<TraceEvent> take(uint64_t* lost, size_t capacity = 64) {
    std::vector<TraceEvent> all, some(capacity);
    *lost = 0;
    size_t count;
    do {
      uint64_t lost_now = 0;
      count = heap::take_traces(some.data(), capacity, &lost_now);
      *lost += lost_now;
      all.insert(all.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(count));
    } while (count == capacity);
    return all;
  }
};

TEST_F(TraceTest, nothing_is_noted_while_nobody_listens) {
  heap::set_tracing(false);
  heap::trace(TraceKind::kPinStop, 5);
  heap::promote(heap::PromotionScope::kSparse);
  uint64_t lost;
  EXPECT_TRUE(take(&lost).empty());
  EXPECT_EQ(lost, 0u);
  heap::NoticeGiven notice = {};
  EXPECT_FALSE(heap::take_notice(&notice));
}

TEST_F(TraceTest, events_come_in_order_lap_after_lap) {
  uint64_t next = 0, lost;
  for (uint64_t written = 0; written < 5 * kRoom;) {
    for (int i = 0; i < 100; i++) heap::trace(TraceKind::kScopeStop, written++, 1, 2);
    for (const TraceEvent& event : take(&lost, 7)) {
      ASSERT_EQ(event.nanoseconds, next++);
      ASSERT_EQ(event.kind, TraceKind::kScopeStop);
      ASSERT_EQ(event.objects + event.bytes, 3u);
    }
    ASSERT_EQ(lost, 0u);
    ASSERT_EQ(next, written);
  }
}

TEST_F(TraceTest, what_has_no_room_is_counted_and_then_it_goes_on) {
  for (int lap = 0; lap < 3; lap++) {
    for (size_t i = 0; i < kRoom + 10; i++) heap::trace(TraceKind::kRemap, i);
    uint64_t lost;
    std::vector<TraceEvent> taken = take(&lost);
    ASSERT_EQ(taken.size(), kRoom);
    EXPECT_EQ(lost, 10u);
    EXPECT_EQ(taken.front().nanoseconds, 0u);
    EXPECT_EQ(taken.back().nanoseconds, kRoom - 1);
  }
}

TEST_F(TraceTest, whoever_waits_for_notices_is_told) {
  heap::trace(TraceKind::kPinStop, 1);
  heap::NoticeGiven notice = {};
  ASSERT_TRUE(heap::take_notice(&notice));
  EXPECT_EQ(notice.notices, heap::kTrace);
}

TEST_F(TraceTest, a_round_is_told_of) {
  core::knobs.promotion = true;
  heap::promote(heap::PromotionScope::kSparse);
  uint64_t lost;
  std::vector<TraceEvent> taken = take(&lost);
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(taken.back().kind, TraceKind::kCompaction);
}

TEST_F(TraceTest, many_threads_lose_nothing_that_is_not_counted) {
  constexpr uint64_t kThreads = 4, kEach = 20'000;
  std::vector<std::thread> writers;
  std::atomic<uint64_t> running{kThreads};
  for (uint64_t thread = 0; thread < kThreads; thread++)
    writers.emplace_back([&running, thread] {
      for (uint64_t i = 0; i < kEach; i++) heap::trace(TraceKind::kReclaim, i + 1, thread, ~i);
      running--;
    });
  std::map<uint64_t, uint64_t> last;
  uint64_t taken = 0, lost = 0;
  while (true) {
    bool over = running == 0;
    uint64_t lost_now;
    for (const TraceEvent& event : take(&lost_now)) {
      taken++;
      ASSERT_EQ(event.bytes, ~(event.nanoseconds - 1));  // never the half of one and of another
      ASSERT_GT(event.nanoseconds, last[event.objects]);
      last[event.objects] = event.nanoseconds;
    }
    lost += lost_now;
    if (over) break;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(taken + lost, kThreads * kEach);
  EXPECT_GE(taken, kRoom);
}

}  // namespace
}  // namespace freehold::testing
