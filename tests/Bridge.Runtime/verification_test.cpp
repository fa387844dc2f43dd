// The verifier finds damage in each kind of record of the heap of handles, names it and its place, and finds nothing when the damage is undone. Compiled without access control: the
// records are private.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compiled.h"
#include "objects.h"
#include "scoped_pins.h"

namespace freehold::bridge::test {
namespace {

// A heap with records of every kind.
class HandleDamageTest : public ::testing::Test {
 protected:
  static constexpr size_t kSmall = 200, kOther = 1000;

  HandleDamageTest() {
    for (int i = 0; i < 3000; i++) small_.push_back(__freehold_malloc(kSmall));
    for (size_t i = 0; i < small_.size(); i++) {
      if (i % 3 != 0) __freehold_free(std::exchange(small_[i], nullptr));
    }
    for (int i = 0; i < 12; i++) large_.push_back(__freehold_malloc(200'000 + static_cast<size_t>(i) * 70'000));
    for (size_t i = 1; i < large_.size(); i += 3) __freehold_free(std::exchange(large_[i], nullptr));
    other_ = __freehold_malloc(kOther);
    first_pin_ = scoped_pins.add(reinterpret_cast<uint64_t>(small_[0]));
    second_pin_ = scoped_pins.add(reinterpret_cast<uint64_t>(small_[3]));
    uint64_t third = scoped_pins.add(reinterpret_cast<uint64_t>(small_[6]));
    scoped_pins.remove(third, reinterpret_cast<uint64_t>(small_[6]));
  }
  ~HandleDamageTest() override {
    scoped_pins.remove(first_pin_, reinterpret_cast<uint64_t>(small_[0]));
    scoped_pins.remove(second_pin_, reinterpret_cast<uint64_t>(small_[3]));
    for (void* one : small_) __freehold_free(one);
    for (void* one : large_) __freehold_free(one);
    __freehold_free(other_);
    EXPECT_STREQ(heap.verify() == nullptr ? "" : heap.verify(), "");
  }

  template <typename Word, typename Value>
  static void expect_found(const char* what, Word& word, Value damaged, const std::string& where = "") {
    auto before = static_cast<Value>(word);
    ASSERT_NE(before, damaged) << what << ": that is no damage";
    word = damaged;
    const char* found = heap.verify();
    std::string text = found == nullptr ? "nothing" : found;
    word = before;
    EXPECT_NE(text.find(what), std::string::npos) << "expected: " << what << "; found: " << text;
    EXPECT_NE(text.find(where), std::string::npos) << "expected at: " << where << "; found: " << text;
    EXPECT_EQ(heap.verify(), nullptr) << "undone: " << what;
  }

  static Span* span_of(void* pointer) { return spans().span_at(reinterpret_cast<uintptr_t>(at(pointer))); }
  static Spans& spans() { return heap.spans(); }
  static std::string unit(const Span* span) { return "(unit " + std::to_string(spans().number_of(span)); }
  template <typename Wanted>
  static Span* find(Wanted wanted) {
    for (size_t at = 1; at < spans().frontier(); at += spans().info_[at].units) {
      if (wanted(spans().info_[at])) return &spans().info_[at];
    }
    ADD_FAILURE() << "no such span";
    return &spans().info_[1];
  }

  Compiled compiled_;
  std::vector<void*> small_, large_;
  void* other_;
  uint64_t first_pin_, second_pin_;
};

TEST_F(HandleDamageTest, SlotsOfASpan) {
  Span* span = span_of(small_[0]);
  uint32_t slot = spans().index_of(span, reinterpret_cast<uintptr_t>(at(small_[0])));
  auto& word = spans().word(span, slot);
  expect_found("the entry of an object is not its slot", word, id(small_[3]), "(id " + std::to_string(id(small_[3])));
  expect_found("the entry of an object is not its slot", word, uint32_t{0x7ffffff}, "(id ");
  expect_found("a span's slots do not add up", word, kFreeSlot | 1, unit(span));
  expect_found("a span's slots do not add up", span->live, span->live + 1, unit(span));
  Span* room = find([](const Span& one) { return one.kind == SpanKind::kSmall && one.free_slot != kNoSlot && one.live > 0; });
  expect_found("a list of free slots leads out of its span", room->free_slot, room->slots, unit(room));
  uint32_t used = 0;
  while ((spans().word(room, used).load() & kFreeSlot) != 0 && spans().word(room, used).load() != kLoose) used++;
  expect_found("a list of free slots leads to one in use", room->free_slot, used, unit(room));
  auto& first = spans().word(room, room->free_slot);
  expect_found("", first, kFreeSlot | room->free_slot, unit(room));
  expect_found("", room->free_slot, kNoSlot);
  expect_found("a span has another number of slots than its class", span->slots, span->slots + 1, unit(span));
  expect_found("a span has no size class", span->size_class, static_cast<int>(kClasses), unit(span));
}

TEST_F(HandleDamageTest, UnitsAndRuns) {
  Span* span = span_of(small_[0]);
  Span* large = span_of(large_[0]);
  Span* free = find([](const Span& one) { return one.kind == SpanKind::kFree && one.units > 1; });
  expect_found("a unit is in no span", span->kind, SpanKind::kUnused, unit(span));
  expect_found("a span of small objects is longer than a unit", span->units, 2, unit(span));
  expect_found("a span ends outside of the heap", large->units, 0, unit(large));
  expect_found("a span ends outside of the heap", large->units, 1 << 28, unit(large));
  expect_found("a large object has another number of units than its size", large->size, large->size + kUnit, unit(large));
  expect_found("a unit inside of a large object does not lead to its start", large[1].units, 7, unit(large));
  expect_found("a unit inside of a large object does not lead to its start", large[1].kind, SpanKind::kSmall, unit(large));
  expect_found("the entry of a large object is not its address", large->id, id(small_[0]), "(id ");
  expect_found("a unit of a free run looks like a span", free[1].kind, SpanKind::kSmall, unit(free));
  expect_found("the end of a free run has another length", free[free->units - 1].units, free->units + 1, unit(free));
  uint32_t& head = spans().free_list(free->units);
  expect_found("", head, 0);
  expect_found("a list of free runs leads to what is none", head, static_cast<int>(spans().number_of(large)));
  expect_found("a free run does not know the one before it", free->previous, 77777, unit(free));
  expect_found("", spans().info_[head].next, static_cast<int>(head));
  expect_found("the first unused unit is outside of the heap", spans().frontier_, spans().units_ + 1);
}

TEST_F(HandleDamageTest, ListsOfSpansWithRoom) {
  // Several spans of a class with room: each third of their objects is there.
  uint32_t size_class = class_of_size(kSmall);
  threads::current();
  heap.take_loose(threads::current().cache, size_class);
  uint32_t& head = heap.partial(size_class);
  ASSERT_NE(head, 0u);
  Span* first = spans().numbered(head);
  ASSERT_NE(first->next, 0u);
  expect_found("a span with room is not in its list", head, 0, std::to_string(size_of_class(size_class)));
  expect_found("a span with room is not in its list", first->next, 0, std::to_string(size_of_class(size_class)));
  expect_found("", first->next, static_cast<int>(head));
  expect_found("a span with room does not know the one before it", spans().numbered(first->next)->previous, 0);
  expect_found("a list of spans with room leads to what is none", head, static_cast<int>(spans().number_of(span_of(large_[0]))));
}

TEST_F(HandleDamageTest, Counts) {
  expect_found("the count of used bytes is wrong", spans().used_bytes_, spans().used() + kUnit);
  expect_found("the count of live bytes is wrong", spans().live_bytes_, spans().live() - 16);
  expect_found("the count of units that wait for their next use is wrong", spans().dirty_units_, spans().dirty_units_.load() + 1);
}

TEST_F(HandleDamageTest, TheTable) {
  uint32_t mine = id(small_[0]);
  expect_found("the entry of an object is not its slot", HandleTable::entry(mine), HandleTable::entry(mine).load() + 16, "(id " + std::to_string(mine));
  expect_found("the entry of an object is not its slot", HandleTable::entry(mine), uint64_t{0}, "(id " + std::to_string(mine));
  expect_found("an object has a size that none can have", table.note(mine), 0u, "(id " + std::to_string(mine));
  // An id in use that no object has.
  objects::empty(threads::current().ids);
  ASSERT_GT(table.waiting_, 1u);
  uint32_t freed = table.first_, link = table.note(freed).exchange(16);
  HandleTable::entry(freed) = 16;
  const char* found = heap.verify();
  EXPECT_NE(std::string(found == nullptr ? "nothing" : found).find("the heap and the table have different numbers of objects"), std::string::npos) << found;
  HandleTable::entry(freed) = 0;
  table.note(freed) = link;
  expect_found("the queue of freed ids leads to one that was never given out", table.first_, static_cast<int>(table.frontier_.load()));
  expect_found("the queue of freed ids has one in use", table.first_, static_cast<int>(mine), "(id " + std::to_string(mine));
  expect_found("the queue of freed ids has another end", table.last_, static_cast<int>(mine));
  expect_found("the queue of freed ids", table.waiting_, table.waiting_ - 1);
  expect_found("the first id that was never given out is none", table.frontier_, uint64_t{kFirstReservedId} + 1);
}

TEST_F(HandleDamageTest, WhatThreadsKeep) {
  Thread& thread = threads::current();
  for (int i = 0; i < 4; i++) __freehold_free(__freehold_malloc(kSmall));
  ThreadCache::Loose& loose = thread.cache.loose[class_of_size(kSmall)];
  void* one = __freehold_malloc(kSmall);
  void* two = __freehold_malloc(kSmall);
  __freehold_free(one);
  __freehold_free(two);
  ASSERT_GE(loose.count, 2u);
  uint8_t*& slot = loose.slots[loose.count - 1];
  uint8_t local;
  expect_found("a thread keeps a slot that is outside of the heap", slot, &local);
  expect_found("a thread keeps a slot of another size", slot, at(other_));
  expect_found("a thread keeps an address at which no slot begins", slot, slot + 8);
  expect_found("a slot that a thread keeps is free or used in its span", slot, at(small_[0]));
  expect_found("a thread keeps a slot twice", slot, loose.slots[loose.count - 2]);
  expect_found("a thread keeps more slots than it has room for", loose.count, kMostLoose + 1);
  Ids& ids = thread.ids;
  ASSERT_GE(ids.freed_count, 2u);
  expect_found("a thread keeps an id that is in use", ids.freed[0], static_cast<int>(id(small_[0])));
  expect_found("a thread keeps an id that was never given out", ids.freed[0], 0);
  expect_found("a thread keeps an id twice", ids.freed[0], static_cast<int>(ids.freed[1]));
  expect_found("a thread keeps more ids than it has room for", ids.count, static_cast<int>(kMostIds) + 1);
}

TEST_F(HandleDamageTest, PinsOfOtherCode) {
  expect_found("the count of pins is wrong", scoped_pins.count_, scoped_pins.count() + 1);
  uint64_t unused = scoped_pins.unused_.load();
  expect_found("the list of unused places for pins leads to one that is used", scoped_pins.unused_,
               (unused & ~uint64_t{UINT32_MAX}) | static_cast<uint32_t>(first_pin_));
  auto& word = scoped_pins.entries_.load()[static_cast<uint32_t>(unused)].word;
  expect_found("the list of unused places for pins is a circle", word, uint64_t{static_cast<uint32_t>(unused)});
  expect_found("the number of places for pins is beyond what there can be", scoped_pins.end_, ScopedPins::kMost + 1);
}

}  // namespace
}  // namespace freehold::bridge::test
