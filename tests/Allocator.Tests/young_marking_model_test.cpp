// The algorithm of young reclaims (docs/internals/reclaim.md), by itself: every interleaving of two mutators, the marker, a move and a round of promotion, over two reclaims in a row. Two objects
// are old, and one of them moves once; two are made. After a rule is left out, an interleaving must be found in which something reachable is deleted. What holds of any marking beside threads is in
// concurrent_marking_model_test.cpp: here the marker scans one object after the other.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

#include "exhaustive_model.h"

namespace freehold::testing {
namespace {

constexpr int kObjects = 4, kOld = 2, kMutators = 2, kRegisters = 2, kNone = -1;
constexpr int kMoves = 1;  // the old object that moves; both are always reachable, as static fields are
constexpr int kPages = kObjects + 1, kPageOfCopy = kObjects;

enum Rule : uint32_t {
  kStoresMark = 1 << 0,      // a store of a young reference marks its page first
  kMovesMark = 1 << 1,       // a block move the pages that it has moved to
  kStopTakesMarks = 1 << 2,  // the marks are taken in the first stop
  kRoundsLeaveMarks = 1 << 3,
  kCopiesAreMarked = 1 << 4,
  kRepairsMark = 1 << 5,       // a store that finds its object moved marks the page of the copy
  kMarksAreScanned = 1 << 6,   // fields on marked pages are roots
  kOldStays = 1 << 7,          // only what began since the last reclaim is covered
  kBoundInFirstStop = 1 << 8,  // from the first stop on, what is made is young for the next reclaim, and barriers mark for it
  kStoresShade = 1 << 9,
  kBornMarked = 1 << 10,
  kRegistersScannedAtEnd = 1 << 11,
  kOldPrimariesReach = 1 << 12,  // a dependent handle of an old object
  kNothingMovesMeanwhile = 1 << 13,
  kMovesShade = 1 << 14,
  kAllRules = (1 << 15) - 1,
};
constexpr const char* kRuleNames[] = {"stores mark",
                                      "block moves mark",
                                      "marks are taken in the stop",
                                      "rounds leave the marks",
                                      "copies are marked",
                                      "repairs mark",
                                      "what is marked is scanned",
                                      "what is old stays",
                                      "the bound is set in the first stop",
                                      "stores shade",
                                      "born marked",
                                      "registers are scanned at the end",
                                      "old primaries reach",
                                      "nothing moves meanwhile",
                                      "block moves shade"};

enum Phase : int8_t { kIdle, kMarking, kDeleting };
enum Colour : int8_t { kWhite, kGrey, kBlack };
enum Place : int8_t { kOutside, kBeforeStore, kAfterStore, kHasMoved };

struct Mutator {
  int8_t registers[kRegisters];
  Place place;
  int8_t target, value, page;  // of a store or a move; the page is where the target was when it began
  int8_t sees_marking;
};

struct State {
  int8_t field[kObjects];
  int8_t allocated, deleted, young, covered;  // bit sets of objects
  int8_t marks, taken;                        // bit sets of pages
  int8_t moved;                               // the old object lies on kPageOfCopy
  Mutator mutators[kMutators];
  int8_t primary, secondary;
  Phase phase;
  Colour colour[kObjects];
  int8_t scanning, scanned_value;  // the marker between reading a field and marking what it read
  int8_t reclaims, operations;
};
static_assert(sizeof(State) == kObjects + 4 + 3 + kMutators * sizeof(Mutator) + 2 + 1 + kObjects + 2 + 2);

struct Hash {
  size_t operator()(const State& state) const noexcept {
    uint64_t hash = 1469598103934665603u;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&state);
    for (size_t i = 0; i < sizeof state; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash ^ hash >> 32;
  }
};
struct Equal {
  bool operator()(const State& a, const State& b) const noexcept { return memcmp(&a, &b, sizeof a) == 0; }
};

bool has(int8_t set, int item) { return (set >> item & 1) != 0; }
void add(int8_t* set, int item) { *set = static_cast<int8_t>(*set | 1 << item); }
void drop(int8_t* set, int item) { *set = static_cast<int8_t>(*set & ~(1 << item)); }

int page_of(const State& state, int object) { return object == kMoves && state.moved != 0 ? kPageOfCopy : object; }

class Explorer {
 public:
  Explorer(uint32_t rules, int operations) : rules_(rules), operations_(operations) {}

  bool explore(State start) {
    start.operations = static_cast<int8_t>(operations_);
    push(start);
    while (!todo_.empty() && lost_.empty()) {
      State state = todo_.back();
      todo_.pop_back();
      for (int mutator = 0; mutator < kMutators; mutator++) step_mutator(state, mutator);
      step_promotion(state);
      step_marker(state);
    }
    todo_.clear();
    return lost_.empty();
  }
  const std::string& lost() const { return lost_; }
  size_t states() const { return seen_.size(); }
  size_t reclaimed() const { return reclaimed_; }

 private:
  static constexpr int kReclaims = 2;

  bool rule(uint32_t which) const { return (rules_ & which) != 0; }
  void push(const State& state) {
    if (seen_.insert(state).second) todo_.push_back(state);
  }

  // ---- What the program does.

  bool is_marked_by_barriers(const State& state, int object) const { return has(state.young, object) && (rule(kBoundInFirstStop) || state.phase == kIdle); }
  static void shade(State* state, int object) {
    if (object != kNone && state->phase == kMarking && has(state->covered, object) && state->colour[object] == kWhite) state->colour[object] = kGrey;
  }

  void step_mutator(const State& state, int index) {
    const Mutator& mutator = state.mutators[index];
    State next = state;
    Mutator& changed = next.mutators[index];
    switch (mutator.place) {
      case kBeforeStore:
        // Its object has moved since: the store faults, and is repaired.
        if (mutator.page != page_of(state, mutator.target) && rule(kRepairsMark)) add(&next.marks, page_of(state, mutator.target));
        next.field[mutator.target] = mutator.value;
        changed.place = kAfterStore;
        return push(next);
      case kAfterStore:
        if (mutator.sees_marking && rule(kStoresShade)) shade(&next, mutator.value);
        return push(leave(next, index));
      case kHasMoved:
        if (rule(kMovesMark)) add(&next.marks, mutator.page);
        if (rule(kMovesShade)) shade(&next, next.field[mutator.target]);
        return push(leave(next, index));
      case kOutside: break;
    }
    if (state.operations == 0) return;
    next.operations--;
    auto then = [&](auto change) {
      State copy = next;
      change(copy, copy.mutators[index]);
      push(copy);
    };
    for (int number = 0; number < kRegisters; number++) {
      int held = mutator.registers[number], other = mutator.registers[1 - number];
      if (held == kNone) continue;
      then([&](State&, Mutator& m) { m.registers[number] = kNone; });
      if (state.field[held] != kNone) then([&](State& s, Mutator&) { s.field[held] = kNone; });
      if (other == kNone && state.field[held] != kNone) then([&](State& s, Mutator& m) { m.registers[1 - number] = s.field[held]; });
      for (int to : {0, kMoves, other}) {
        if (to == kNone || to == held) continue;
        // By its name, or by the one that it had before it moved.
        for (int page : {page_of(state, to), to}) {
          then([&](State& s, Mutator& m) {
            m.place = kBeforeStore;
            m.target = static_cast<int8_t>(to);
            m.value = static_cast<int8_t>(held);
            m.page = static_cast<int8_t>(page);
            m.sees_marking = s.phase == kMarking;
            if (rule(kStoresMark) && is_marked_by_barriers(s, held)) add(&s.marks, page);
          });
        }
        // A block move from what the register holds.
        if (state.field[held] != kNone)
          then([&](State& s, Mutator& m) {
            s.field[to] = s.field[held];
            m.place = kHasMoved;
            m.target = static_cast<int8_t>(to);
            m.page = static_cast<int8_t>(page_of(s, to));
          });
      }
      if (state.secondary == kNone && state.reclaims == 0) then([&](State& s, Mutator&) { s.primary = kMoves, s.secondary = static_cast<int8_t>(held); });
    }
    for (int from : {0, kMoves}) {
      if (state.field[from] == kNone) continue;
      if (mutator.registers[0] == kNone) then([&](State& s, Mutator& m) { m.registers[0] = s.field[from]; });
      then([&](State& s, Mutator&) { s.field[from] = kNone; });
    }
    if (state.secondary != kNone && !has(state.deleted, state.secondary) && mutator.registers[0] == kNone)
      then([&](State& s, Mutator& m) { m.registers[0] = s.secondary; });
    for (int object = kOld; object < kObjects; object++) {
      if (has(state.allocated, object)) continue;
      for (int number = 0; number < kRegisters; number++) {
        if (mutator.registers[number] != kNone) continue;
        then([&](State& s, Mutator& m) {
          add(&s.allocated, object);
          s.field[object] = kNone;
          add(&s.young, object);
          if (s.phase != kIdle && !rule(kBornMarked)) add(&s.covered, object);
          m.registers[number] = static_cast<int8_t>(object);
        });
        break;
      }
      break;
    }
  }

  static State leave(State state, int index) {
    Mutator& mutator = state.mutators[index];
    mutator.place = kOutside;
    mutator.target = mutator.value = mutator.page = kNone;
    mutator.sees_marking = 0;
    return state;
  }

  void step_promotion(const State& state) {
    if (state.moved == 0 && (state.phase == kIdle || !rule(kNothingMovesMeanwhile))) {
      State next = state;
      next.moved = 1;
      if (rule(kCopiesAreMarked)) add(&next.marks, kPageOfCopy);
      push(next);
    }
    if (!rule(kRoundsLeaveMarks) && state.phase == kIdle && state.marks != 0) {
      State next = state;
      next.marks = 0;
      push(next);
    }
  }

  // ---- The reclaim.

  static bool is_in_barrier(const State& state) {
    for (const Mutator& mutator : state.mutators) {
      if (mutator.place != kOutside) return true;
    }
    return false;
  }

  void step_marker(const State& state) {
    switch (state.phase) {
      case kIdle: return begin(state);
      case kMarking: return mark(state);
      case kDeleting: return remove(state);
    }
  }

  void begin(State state) {
    if (state.reclaims == kReclaims || is_in_barrier(state)) return;
    state.phase = kMarking;
    state.covered = rule(kOldStays) ? state.young : static_cast<int8_t>(state.allocated & ~((1 << kOld) - 1));
    state.young = 0;
    state.taken = state.marks;
    if (rule(kStopTakesMarks)) state.marks = 0;
    for (Colour& colour : state.colour) colour = kWhite;
    for (const Mutator& mutator : state.mutators) {
      for (int object : mutator.registers) shade(&state, object);
    }
    push(state);
  }

  void mark(const State& state) {
    if (state.scanning != kNone) {  // the second half of the scan of a field
      State next = state;
      next.scanning = next.scanned_value = kNone;
      shade(&next, state.scanned_value);
      return push(next);
    }
    bool any = false;
    auto scan = [&](State next, int object) {
      any = true;
      next.scanning = static_cast<int8_t>(object);
      next.scanned_value = state.field[object];
      push(next);
    };
    for (int page = 0; page < kPages; page++) {
      if (!has(state.taken, page)) continue;
      State next = state;
      drop(&next.taken, page);
      if (!rule(kStopTakesMarks)) drop(&next.marks, page);
      int object = page == kPageOfCopy ? kMoves : page;
      // The page of an object that has moved, and one of covered objects, has nothing to scan.
      bool is_there = page_of(state, object) == page && has(state.allocated, object) && !has(state.covered, object);
      if (is_there && rule(kMarksAreScanned)) {
        scan(next, object);
      } else {
        any = true;
        push(next);
      }
    }
    for (int object = 0; object < kObjects; object++) {
      if (state.colour[object] != kGrey) continue;
      State next = state;
      next.colour[object] = kBlack;
      scan(next, object);
    }
    if (!any) end(state);
  }

  static bool stays(const State& state, int object) { return !has(state.covered, object) || state.colour[object] != kWhite; }

  void end(State state) {
    if (is_in_barrier(state)) return;
    State before = state;
    if (rule(kRegistersScannedAtEnd)) {
      for (const Mutator& mutator : state.mutators) {
        for (int object : mutator.registers) shade(&state, object);
      }
    }
    if (state.secondary != kNone && (has(state.covered, state.primary) ? state.colour[state.primary] != kWhite : rule(kOldPrimariesReach)))
      shade(&state, state.secondary);
    if (memcmp(&before, &state, sizeof state) != 0) return push(state);
    state.phase = kDeleting;
    push(state);
  }

  void remove(const State& state) {
    State next = state;
    for (int object = kOld; object < kObjects; object++) {
      if (!has(state.allocated, object) || has(state.deleted, object) || stays(state, object)) continue;
      if (is_reachable(state, object))
        lost_ = "object " + std::to_string(object) + " is reachable and was deleted by reclaim " + std::to_string(state.reclaims + 1);
      add(&next.deleted, object);
      reclaimed_++;
      return push(next);
    }
    next.phase = kIdle;
    next.covered = 0;
    for (Colour& colour : next.colour) colour = kWhite;
    next.reclaims++;
    push(next);
  }

  static bool is_reachable(const State& state, int wanted) {
    int8_t reached = (1 << kOld) - 1;
    auto reach = [&](int object) {
      if (object != kNone) add(&reached, object);
    };
    for (const Mutator& mutator : state.mutators) {
      for (int object : mutator.registers) reach(object);
      reach(mutator.value);
    }
    reach(state.secondary);  // its primary lives for ever
    for (int i = 0; i < kObjects; i++) {
      for (int object = 0; object < kObjects; object++) {
        if (has(reached, object)) reach(state.field[object]);
      }
    }
    return has(reached, wanted);
  }

  const uint32_t rules_;
  const int operations_;
  std::unordered_set<State, Hash, Equal> seen_;
  std::vector<State> todo_;
  std::string lost_;
  size_t reclaimed_ = 0;
};

State empty() {
  State state;
  memset(&state, 0, sizeof state);
  for (int8_t& field : state.field) field = kNone;
  for (Mutator& mutator : state.mutators) {
    for (int8_t& object : mutator.registers) object = kNone;
    mutator.target = mutator.value = mutator.page = kNone;
  }
  state.primary = state.secondary = kNone;
  state.scanning = state.scanned_value = kNone;
  state.allocated = (1 << kOld) - 1;
  return state;
}

// What there is after a reclaim, and then.
std::vector<State> beginnings() {
  State held = empty();  // something young, which a thread holds
  held.allocated = 0b0111, held.young = 0b0100;
  held.mutators[0].registers[0] = 2;
  State stored = held;  // and an old object leads to it: its page is marked
  stored.mutators[0].registers[0] = kNone;
  stored.field[kMoves] = 2, stored.marks = 1 << kMoves;
  State marked = empty();  // a mark of before
  marked.marks = 1 << kMoves;
  State linked = held;  // two young objects
  linked.allocated = 0b1111, linked.young = 0b1100;
  linked.field[2] = 3;
  return {empty(), held, stored, marked, linked};
}

TEST(YoungMarkingModel, LosesNothing) { expect_nothing_lost(explore_all<Explorer>(kAllRules, 4, beginnings())); }

TEST(YoungMarkingModel, EachRuleIsNeeded) {
  for (size_t i = 0; i < std::size(kRuleNames); i++) expect_something_lost(explore_all<Explorer>(kAllRules & ~(1u << i), 4, beginnings()), kRuleNames[i]);
}

}  // namespace
}  // namespace freehold::testing
