// A heap whose frames, roots and handles are lists of the test, and that records deaths.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heap/allocation_samples.h"
#include "heap/death_look.h"
#include "heap/holder_support.h"
#include "reachability_fixture.h"

namespace freehold::testing {

// No type: static fields.
inline TypeOf<core::MethodTable::kHasPointers, 40> statics_type = {{0, 24 - 40, 8, 1}, {core::MethodTable::kHasPointers, 40, nullptr, 1, 0, 0}};

class DeathsTest : public ReachabilityTest {
 protected:
  using Kind = heap::DeathKind;

  struct Frame {
    heap::FrameSeen seen;
    std::vector<uint64_t*> places;
  };
  // The innermost first, of one thread after the other.
  static inline std::vector<Frame> frames;
  static inline std::vector<uint64_t*> handles, weak_handles, places_without_frame;
  static inline uint64_t clock_now, look_takes;  // nanoseconds
  static constexpr uint64_t kThread = 17;

  static constexpr heap::HolderSupport kHolderSupport = {[](void (*frame)(const heap::FrameSeen&, void*), void (*slot)(const void*, void*), void* argument) {
                                                           for (const Frame& there : frames) {
                                                             frame(there.seen, argument);
                                                             for (const uint64_t* place : there.places) slot(place, argument);
                                                           }
                                                         },
                                                         [](void (*fn)(heap::HolderRoot, const void*, uintptr_t, bool, void*), void* argument) {
                                                           for (const Frame& there : frames)
                                                             for (const uint64_t* place : there.places)
                                                               fn(heap::HolderRoot::kStack, place, *place, false, argument);
                                                           for (const uint64_t* place : places_without_frame)
                                                             fn(heap::HolderRoot::kStack, place, *place, false, argument);
                                                           for (const uint64_t* handle : handles)
                                                             fn(heap::HolderRoot::kHandle, handle, *handle, false, argument);
                                                           for (const uint64_t* handle : weak_handles)
                                                             fn(heap::HolderRoot::kWeak, handle, *handle, false, argument);
                                                         },
                                                         [](heap::FrameSeen* into, size_t capacity) {
                                                           size_t count = 0;
                                                           for (const Frame& there : frames)
                                                             if (there.seen.thread == kThread && count < capacity) into[count++] = there.seen;
                                                           return count;
                                                         }};

  void SetUp() override {
    ReachabilityTest::SetUp();
    frames = {frame(1)};
    handles.clear();
    weak_handles.clear();
    clock_now = look_takes = 0;
    heap::set_look_clock([] { return clock_now += look_takes; });
    places_without_frame.clear();
    heap::set_holder_support(&kHolderSupport);
    heap::thread_heap.is_not_sampled = true;  // but what born() makes
    if (begins) {
      ASSERT_TRUE(heap::begin_deaths());
    }
  }
  void TearDown() override {
    heap::thread_heap.is_not_sampled = false;
    heap::set_marking_look(nullptr);
    heap::set_holder_support(nullptr);
    ReachabilityTest::TearDown();
  }
  void configure(core::Knobs& knobs) override {
    ReachabilityTest::configure(knobs);
    knobs.reclaim = core::Reclaim::kManual;
    knobs.stress.seed = 2;  // the same objects are sampled in each run
    snprintf(knobs.deaths, sizeof knobs.deaths, "deaths");
  }

  // A method has a page of code; the place says how far the frame is.
  static Frame frame(uint64_t method, uint64_t place = 1, uint64_t thread = kThread) {
    return {{thread, 0x7ffe'0000'0000 + method * 256, method << 12, (method << 12) + place}, {}};
  }

  // What the next look sees as a root: all places.
  static void look() {
    roots.clear();
    for (const Frame& there : frames)
      for (const uint64_t* place : there.places) roots.push_back({*place, false});
    for (const auto& list : {handles, places_without_frame})
      for (const uint64_t* place : list) roots.push_back({*place, false});
    heap::look_at_deaths();
  }

  Object* born(const core::MethodTable* type = &node_type.table) {
    Object* object = node({}, type);
    for (size_t word = 1; word <= 3 && type->has_pointers(); word++) set(object, word, nullptr);
    heap::note_birth(object, uint64_t{64} << 10);
    return object;
  }
  // Something that nobody samples.
  Object* plain(const core::MethodTable* type = &node_type.table) {
    Object* object = node({}, type);
    for (size_t word = 1; word <= 3 && type->has_pointers(); word++) set(object, word, nullptr);
    return object;
  }

  struct Told {
    std::vector<heap::DeathRow> rows;
    std::vector<heap::DeathFieldRow> fields;
    heap::DeathTotals totals;

    uint64_t count(Kind kind) const {
      uint64_t count = 0;
      for (const heap::DeathRow& row : rows) count += row.kind == kind ? row.samples : 0;
      return count;
    }
    const heap::DeathRow* only(Kind kind) const {
      const heap::DeathRow* found = nullptr;
      for (const heap::DeathRow& row : rows) {
        if (row.kind != kind) continue;
        if (found != nullptr) return nullptr;
        found = &row;
      }
      return found;
    }
    heap::DeathFieldRow field(const core::MethodTable* type, uint64_t offset) const {
      for (const heap::DeathFieldRow& row : fields)
        if (row.type == type && row.offset == offset) return row;
      return {};
    }
  };
  static Told told() {
    std::vector<heap::DeathRow> rows(heap::kDeathRows);
    std::vector<heap::DeathFieldRow> fields(heap::kDeathFieldRows);
    Told told = {};
    heap::take_deaths(rows.data(), fields.data(), &told.totals);
    for (const heap::DeathRow& row : rows)
      if (row.type != nullptr) told.rows.push_back(row);
    for (const heap::DeathFieldRow& row : fields)
      if (row.type != nullptr) told.fields.push_back(row);
    return told;
  }

  bool begins = true;
};

}  // namespace freehold::testing
