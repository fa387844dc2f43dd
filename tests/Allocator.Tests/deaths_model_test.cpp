// Deaths in a random program, beside a model of it.
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "deaths_fixture.h"

namespace freehold::testing {
namespace {

// A look after each step of a random program says what a model says that keeps its own lists.
class DeathModelTest : public DeathsTest {
 protected:
  static constexpr size_t kSlots = 24, kFields = 3;

  struct Modelled {
    Object* object;
    bool sampled, seen, was_shared, was_elsewhere;
    // In the last look.
    size_t places, handles, stacks;
    std::pair<size_t, size_t> held_by;  // object, field
    std::array<size_t, kFields> fields;
  };
  static constexpr size_t kNobody = SIZE_MAX;

  std::vector<Modelled> all;
  std::array<uint64_t, kSlots> locals = {}, handle_values = {};
  std::array<size_t, kSlots> local_of, handle_of;
  std::map<std::tuple<Kind, uint64_t>, uint64_t> expected;
  std::set<size_t> alive;

  void make(bool sampled) {
    all.push_back({sampled ? born() : plain(), sampled, false, false, false, 0, 0, 0, {kNobody, 0}, {kNobody, kNobody, kNobody}});
    alive.insert(all.size() - 1);
  }
  std::set<size_t> reached() const {
    std::set<size_t> found;
    std::vector<size_t> next;
    auto reach = [&](size_t index) {
      if (index != kNobody && found.insert(index).second) next.push_back(index);
    };
    for (size_t index : local_of) reach(index);
    for (size_t index : handle_of) reach(index);
    while (!next.empty()) {
      size_t index = next.back();
      next.pop_back();
      for (size_t field : all[index].fields) reach(field);
    }
    return found;
  }
  void model_look() {
    std::set<size_t> now = reached();
    for (size_t index : alive) {
      const Modelled& object = all[index];
      if (!object.sampled || now.count(index) != 0) continue;
      auto [holder, field] = object.held_by;
      Kind kind = !object.seen ? Kind::kUnseen : object.was_shared ? Kind::kShared : Kind::kOther;
      uint64_t offset = 0;
      if (kind == Kind::kOther && object.places == 1) {
        kind = now.count(holder) == 0 ? Kind::kHolderDied : all[holder].fields[field] == kNobody ? Kind::kEmptied : Kind::kReplaced;
        offset = 8 + 8 * field;
      } else if (kind == Kind::kOther && object.handles != 0) {
        kind = Kind::kHandle;
      } else if (kind == Kind::kOther && object.stacks != 0 && !object.was_elsewhere) {
        kind = Kind::kStack;
      }
      expected[{kind, offset}]++;
    }
    alive = now;
    for (size_t index : alive) {
      Modelled& object = all[index];
      object.seen = true;
      object.places = object.handles = object.stacks = 0;
      object.held_by = {kNobody, 0};
    }
    for (size_t index : alive) {
      for (size_t field = 0; field < kFields; field++) {
        size_t to = all[index].fields[field];
        if (to == kNobody || to == index) continue;
        if (all[to].places++ == 0) all[to].held_by = {index, field};
      }
    }
    for (size_t index : local_of)
      if (index != kNobody) all[index].stacks++;
    for (size_t index : handle_of)
      if (index != kNobody) all[index].handles++;
    for (size_t index : alive) all[index].was_elsewhere |= all[index].places + all[index].handles != 0;
    for (size_t index : alive)
      if (all[index].places + all[index].handles + (all[index].stacks != 0 ? 1 : 0) > 1) all[index].was_shared = true;
  }
};

TEST_F(DeathModelTest, AgreesWithAModel) {
  uint64_t seed = seed_of_run();
  SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  local_of.fill(kNobody);
  handle_of.fill(kNobody);
  for (size_t i = 0; i < kSlots; i++) {
    places_without_frame.push_back(&locals[i]);
    handles.push_back(&handle_values[i]);
  }
  auto pick = [&]() -> size_t {
    std::vector<size_t> from(alive.begin(), alive.end());
    return from.empty() ? kNobody : from[random() % from.size()];
  };
  for (int step = 0; step < 3000; step++) {
    make(random() % 2 == 0);
    size_t newest = all.size() - 1;
    for (int i = 0; i < 3; i++) {
      size_t to = random() % 3 == 0 ? kNobody : random() % 3 == 0 ? newest : pick();
      uint64_t value = to == kNobody ? 0 : address(all[to].object);
      size_t slot = random() % kSlots;
      switch (random() % 4) {
        case 0:
          locals[slot] = value;
          local_of[slot] = to;
          break;
        case 1:
          if (random() % 4 != 0) break;
          handle_values[slot] = value;
          handle_of[slot] = to;
          break;
        default: {
          size_t from = pick(), field = random() % kFields;
          if (from == kNobody) break;
          all[from].fields[field] = to;
          reinterpret_cast<uint64_t*>(all[from].object)[1 + field] = value;
        }
      }
    }
    if (random() % 4 == 0) {
      look();
      model_look();
    }
  }
  look();
  model_look();
  std::map<std::tuple<Kind, uint64_t>, uint64_t> found;
  for (const heap::DeathRow& row : told().rows) {
    if (row.kind != Kind::kLives) found[{row.kind, row.offset}] += row.samples;
  }
  EXPECT_EQ(found, expected);
  EXPECT_FALSE(expected.empty());
  uint64_t living = 0;
  for (size_t index : alive) living += all[index].sampled ? 1 : 0;
  EXPECT_EQ(told().count(Kind::kLives), living);
  expect_valid("a random program");
}

}  // namespace
}  // namespace freehold::testing
