// Packets that markers share (heap/mark_packets.h): nothing is lost, nothing comes twice, and the end is found once, whoever gives, takes, joins and leaves in whatever order.
#include "heap/mark_packets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "heap/marker.h"

namespace freehold::testing {
namespace {

using heap::MarkPackets;

constexpr size_t kItems = MarkPackets::kItems;

TEST(MarkPacketsTest, HoldAsManyAsThereIsRoomFor) {
  MarkPackets packets;
  uintptr_t items[kItems] = {1, 2, 3};
  EXPECT_FALSE(packets.give(items, 1)) << "not begun";
  packets.begin(3);
  for (size_t count : {size_t{1}, kItems, size_t{2}}) EXPECT_TRUE(packets.give(items, count));
  EXPECT_FALSE(packets.give(items, 1));
  bool ended = true;
  uintptr_t taken[kItems];
  EXPECT_EQ(packets.take(taken, &ended), 2u);
  EXPECT_FALSE(ended);
  EXPECT_EQ(taken[1], 2u);
  EXPECT_EQ(packets.take_or_wait(taken), kItems);
  EXPECT_TRUE(packets.give(items, 3));
  EXPECT_EQ(packets.take_or_wait(taken), 3u);
  EXPECT_EQ(packets.take_or_wait(taken), 1u);
  EXPECT_EQ(packets.take_or_wait(taken), 0u);
  EXPECT_EQ(packets.take(taken, &ended), 0u);
  EXPECT_TRUE(ended);
  packets.begin(0);
  EXPECT_FALSE(packets.give(items, 1));
  packets.begin(SIZE_MAX);
  for (size_t i = 0; i < MarkPackets::kPacketsAtMost; i++) ASSERT_TRUE(packets.give(items, kItems));
  EXPECT_FALSE(packets.give(items, 1));
  packets.abandon();
  EXPECT_FALSE(packets.is_abandoned());
  EXPECT_EQ(packets.take_or_wait(taken), 0u);
  packets.release();
}

// A helper that works is not the end; that it waits is no reason to wait for it.
TEST(MarkPacketsTest, TheEndIsWhenNobodyWorks) {
  // Helpers wait for ever: as in the heap, what they wait for stays.
  struct Shared {
    MarkPackets packets;
    std::atomic<int> joined{0}, may_leave{0};
  };
  auto& [packets, joined, may_leave] = *new Shared();
  packets.begin(4);
  std::thread([&packets = packets, &joined = joined, &may_leave = may_leave] {
    uintptr_t items[kItems];
    while (true) {
      size_t count = packets.join(items);
      joined++;
      while (may_leave == 0) std::this_thread::yield();
      may_leave--;
      EXPECT_TRUE(packets.give(items, count));
      while (packets.take_or_leave(items) != 0) {}
    }
  }).detach();
  while (!packets.are_wanted()) std::this_thread::yield();
  uintptr_t items[kItems] = {7};
  bool ended = false;
  for (int round = 1; round <= 3; round++) {
    EXPECT_EQ(packets.take_or_wait(items), 0u) << "nobody works";
    EXPECT_TRUE(packets.give(items, 5));
    while (joined != round) std::this_thread::yield();
    EXPECT_FALSE(packets.are_wanted());
    EXPECT_EQ(packets.take(items, &ended), 0u);
    EXPECT_FALSE(ended) << "one works";
    may_leave++;
    // The packet that the helper gives may be had by either.
    while (packets.take_or_wait(items) != 0) {}
    EXPECT_EQ(packets.take(items, &ended), 0u);
    EXPECT_TRUE(ended);
  }
}

// A tree of numbers from 1 on, of which each is seen by one marker. Each gives what it has no room for, or drops it into a set that the first looks at when it has come to the end, as with overflowed blocks.
class Tree {
 public:
  static constexpr uintptr_t kNodes = 200'000;
  explicit Tree(size_t room) : room_(room) {}

  void work(std::vector<uintptr_t>& mine, uintptr_t first) {
    mine.push_back(first);
    while (!mine.empty() && !packets.is_abandoned()) {
      uintptr_t node = mine.back();
      mine.pop_back();
      for (uintptr_t child = 3 * node - 1; child < 3 * node + 2 && child < kNodes; child++) {
        if (seen[child].exchange(true)) continue;
        mine.push_back(child);
        count++;
      }
      if (mine.size() <= room_ && !packets.are_wanted()) continue;
      size_t given = std::min((mine.size() + 1) / 2, kItems);
      if (given == 0) continue;
      if (packets.give(mine.data(), given)) {
        mine.erase(mine.begin(), mine.begin() + static_cast<ptrdiff_t>(given));
      } else if (mine.size() > room_) {
        overflowed[mine.back() / 1'000] = true;
        mine.pop_back();
      }
    }
    mine.clear();
  }
  // As the first marker does.
  void run() {
    std::vector<uintptr_t> mine;
    uintptr_t items[kItems];
    work(mine, 1);
    while (true) {
      for (size_t taken; (taken = packets.take_or_wait(items)) != 0;) {
        for (size_t i = 0; i < taken; i++) work(mine, items[i]);
      }
      bool any = false;
      for (size_t part = 0; part <= kNodes / 1'000; part++) {
        if (!overflowed[part].exchange(false)) continue;
        any = true;
        for (uintptr_t node = part * 1'000; node < (part + 1) * 1'000 && node < kNodes; node++) {
          if (node != 0 && (seen[node] || node == 1)) work(mine, node);
        }
      }
      if (!any) return;
    }
  }
  void help() {
    std::vector<uintptr_t> mine;
    uintptr_t items[kItems];
    while (!ends) {
      for (size_t taken = packets.join(items); taken != 0; taken = packets.take_or_leave(items)) {
        for (size_t i = 0; i < taken; i++) work(mine, items[i]);
      }
    }
  }

  MarkPackets packets;
  std::unique_ptr<std::atomic<bool>[]> seen{new std::atomic<bool>[kNodes]()};
  std::atomic<bool> overflowed[kNodes / 1'000 + 1] = {};
  std::atomic<uintptr_t> count{0};
  std::atomic<bool> ends{false};

 private:
  const size_t room_;
};

TEST(MarkPacketsTest, ManyMarkersSeeEachOnce) {
  for (size_t packets : {0, 1, 7, 2'000}) {
    for (size_t helpers : {0, 1, 3}) {
      for (size_t room : {1, 64}) {
        auto tree = std::make_unique<Tree>(room);
        tree->packets.begin(packets);
        std::vector<std::thread> threads;
        for (size_t i = 0; i < helpers; i++) threads.emplace_back([&] { tree->help(); });
        for (int cycle = 0; cycle < 3; cycle++) {
          tree->run();
          ASSERT_EQ(tree->count.load(), Tree::kNodes - 2) << packets << " packets, " << helpers << " helpers";
          for (size_t i = 0; i < Tree::kNodes; i++) tree->seen[i] = false;
          tree->count = 0;
        }
        // For the end of the test: each is to see that it is over.
        tree->ends = true;
        tree->packets.begin(2'000);
        uintptr_t last = Tree::kNodes;
        std::vector<bool> joined(helpers);
        std::atomic<size_t> left{helpers};
        std::vector<std::thread> joiners;
        for (std::thread& thread : threads) joiners.emplace_back([&] { thread.join(), left--; });
        while (left != 0) {
          tree->packets.give(&last, 1);
          std::this_thread::yield();
          bool ended;
          uintptr_t items[kItems];
          while (tree->packets.take(items, &ended) != 0) {}
        }
        for (std::thread& thread : joiners) thread.join();
        tree->packets.release();
      }
    }
  }
}

// One that would never come to its end is told.
TEST(MarkPacketsTest, HelpersAreToldThatItIsAbandoned) {
  auto* packets = new MarkPackets();
  packets->begin(10);
  auto* joined = new std::atomic<int>{0};
  std::thread([packets, joined] {
    uintptr_t items[kItems];
    while (true) {
      for (size_t count = packets->join(items); count != 0; count = packets->take_or_leave(items)) {
        ++*joined;
        while (!packets->is_abandoned()) std::this_thread::yield();
        packets->give(items, count);
      }
    }
  }).detach();
  uintptr_t items[kItems] = {1};
  for (int round = 1; round <= 3; round++) {
    int before = *joined;
    ASSERT_TRUE(packets->give(items, 1));
    while (*joined == before) std::this_thread::yield();
    packets->abandon();
    EXPECT_FALSE(packets->is_abandoned());
    bool ended;
    EXPECT_EQ(packets->take(items, &ended), 0u);
    EXPECT_TRUE(ended);
  }
}

// A marker that works for a team forgets what it has, and scans none of it.
TEST(MarkPacketsTest, AMarkerIsToldThatItIsAbandoned) {
  auto* packets = new heap::MarkPackets();
  packets->begin(10);
  uintptr_t items[kItems] = {1};
  ASSERT_TRUE(packets->give(items, 1));
  std::atomic<bool> joined{false};
  std::thread helper([&] {
    auto marker = std::make_unique<heap::Marker>(*packets);
    uintptr_t mine[kItems];
    ASSERT_EQ(packets->join(mine), 1u);
    for (uintptr_t nowhere = 8; nowhere <= 80; nowhere += 8) marker->push(nowhere);
    joined = true;
    while (!packets->is_abandoned()) std::this_thread::yield();
    EXPECT_TRUE(marker->work(UINT64_MAX, true));
    EXPECT_EQ(marker->scanned(), 0u);
    EXPECT_EQ(packets->take_or_leave(mine), 0u);
  });
  while (!joined) std::this_thread::yield();
  packets->abandon();
  helper.join();
  EXPECT_FALSE(packets->is_abandoned());
}

// Wherever helpers are: none works behind it, and what they had is forgotten.
TEST(MarkPacketsTest, AbandonedWhileHelpersWork) {
  auto* tree = new Tree(64);
  tree->packets.begin(100);
  for (int i = 0; i < 3; i++) std::thread([tree] { tree->help(); }).detach();
  for (int cycle = 0; cycle < 50; cycle++) {
    uintptr_t root = 1;
    ASSERT_TRUE(tree->packets.give(&root, 1));
    while (tree->count == 0 && cycle % 2 != 0) std::this_thread::yield();
    tree->packets.abandon();
    uintptr_t count = tree->count;
    uintptr_t items[kItems];
    EXPECT_EQ(tree->packets.take_or_wait(items), 0u);
    EXPECT_EQ(tree->count.load(), count);
    for (size_t i = 0; i < Tree::kNodes; i++) tree->seen[i] = false;
    tree->count = 0;
  }
}

}  // namespace
}  // namespace freehold::testing
