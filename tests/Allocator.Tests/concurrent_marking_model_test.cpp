// The algorithm of concurrent marking (docs/internals/reclaim.md), by itself: every interleaving of two mutators, the marker, the mover and the deleter over a few objects, from
// some beginnings, with so many operations of the mutators. After a rule is left out, an interleaving must be found in which something reachable is lost.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "exhaustive_model.h"

namespace freehold::testing {
namespace {

constexpr int kObjects = 4, kMutators = 2, kRegisters = 2, kNone = -1;
constexpr int kStatics = 0;      // lives for ever: the program's static fields
constexpr int kFinalizable = 3;  // its type has a finalizer
constexpr int kStackDepth = 1;   // of the marker's stack

enum Rule : uint32_t {
  kStoresShade = 1 << 0,  // a store of a reference marks what it stores
  kMovesShade = 1 << 1,   // so do block moves, of what they moved
  kBornMarked = 1 << 2,   // what is allocated while marking is marked
  kRegistersScannedAtEnd = 1 << 3,
  kBeginWaitsForBarriers = 1 << 4,  // a stop: no thread is inside a barrier that has seen no marking
  kEndWaitsForBarriers = 1 << 5,
  kOverflowRemembered = 1 << 6,      // what found no room on the stack is looked for
  kMarksFollowMoves = 1 << 7,        // here by: nothing moves while marking
  kFinalizableReaches = 1 << 8,      // what only finalizable objects lead to stays
  kFinalizedLookedAtAgain = 1 << 9,  // those whose finalizers have run: they may be registered again meanwhile
  kWeakCleared = 1 << 10,            // in the last stop
  kLongWeakCleared = 1 << 11,
  kDependentsReach = 1 << 12,
  kDependentsCleared = 1 << 13,
  kShadedScannedAtEnd = 1 << 14,  // the last stop ends the marking only when nothing waits to be scanned
  kBornMarkedToTheEnd = 1 << 15,  // and while what has no mark is deleted
  kListedShades = 1 << 16,        // what the end of a scope lists for its finalizer
  kAllRules = (1 << 17) - 1,
};
constexpr const char* kRuleNames[] = {"stores shade",
                                      "block moves shade",
                                      "born marked",
                                      "registers scanned at the end",
                                      "the beginning waits for barriers",
                                      "the end waits for barriers",
                                      "overflow remembered",
                                      "marks follow moves",
                                      "finalizable objects reach",
                                      "finalized objects are looked at again",
                                      "weak handles cleared",
                                      "long weak handles cleared",
                                      "dependents reach",
                                      "dependents cleared",
                                      "what is shaded is scanned before the end",
                                      "born marked while the unmarked is deleted",
                                      "what is listed in another stop is shaded"};

enum Phase : int8_t { kIdle, kMarking, kDeleting, kDone };
enum Candidate : int8_t { kIsNone, kIsToRun, kHasRun };
enum Colour : int8_t { kWhite, kOnStack, kOverflowed, kScanned };
enum Place : int8_t { kOutside, kHasRead, kHasStored, kHasMoved };  // where a mutator is in a barrier or a block move

struct Mutator {
  int8_t registers[kRegisters];
  Place place;
  int8_t sees_marking;  // what the barrier has read
  int8_t target, value;
};

struct State {
  int8_t field[kObjects];
  int8_t allocated, deleted, unreadable, finalized, reclaimed, queued;  // bit sets of objects
  Mutator mutators[kMutators];
  int8_t weak, long_weak, primary, secondary;
  Phase phase;
  Colour colour[kObjects];                   // strongly reached
  Colour of_finalizer[kObjects];             // reached from what is finalizable
  int8_t candidates, looked_at;              // what the walk for finalizable objects has found, and whether it is over
  int8_t overflow, scanning, scanned_value;  // the marker between reading a field and marking what it read
  int8_t operations;
};
static_assert(sizeof(State) == kObjects + 6 + kMutators * sizeof(Mutator) + 4 + 1 + 2 * kObjects + 2 + 3 + 1);

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

bool has(int8_t set, int object) { return (set >> object & 1) != 0; }
void add(int8_t* set, int object) { *set = static_cast<int8_t>(*set | 1 << object); }
void drop(int8_t* set, int object) { *set = static_cast<int8_t>(*set & ~(1 << object)); }

class Explorer {
 public:
  explicit Explorer(uint32_t rules, int operations) : rules_(rules), operations_(operations) {}

  // Whether no interleaving from there loses anything. `what` says what was lost.
  bool explore(State start) {
    start.operations = static_cast<int8_t>(operations_);
    push(start);
    while (!todo_.empty() && lost_.empty()) {
      State state = todo_.back();
      todo_.pop_back();
      for (int mutator = 0; mutator < kMutators; mutator++) step_mutator(state, mutator);
      step_others(state);
      end_scope(state);
      step_marker(state);
    }
    todo_.clear();
    return lost_.empty();
  }
  const std::string& lost() const { return lost_; }
  size_t states() const { return seen_.size(); }
  // What was deleted and what was queued, of each end: bit sets, one above the other.
  const std::set<int>& ends() const { return ends_; }
  size_t reclaimed() const { return reclaimed_; }

 private:
  bool rule(uint32_t which) const { return (rules_ & which) != 0; }
  void push(const State& state) {
    if (seen_.insert(state).second) todo_.push_back(state);
  }
  static bool readable(const State& state, int object) { return !has(state.unreadable, object); }

  // ---- What the program does.

  void shade(State* state, int object) {
    if (object == kNone || state->colour[object] != kWhite || state->phase != kMarking) return;
    grey(state, object);
  }
  // Marked, and on the stack if there is room.
  void grey(State* state, int object) {
    int on_stack = 0;
    for (Colour colour : state->colour) on_stack += colour == kOnStack;
    if (on_stack < kStackDepth) {
      state->colour[object] = kOnStack;
    } else {
      state->colour[object] = kOverflowed;
      if (rule(kOverflowRemembered)) state->overflow = 1;
    }
  }

  void step_mutator(const State& state, int index) {
    const Mutator& mutator = state.mutators[index];
    State next = state;
    Mutator& moved = next.mutators[index];
    switch (mutator.place) {
      case kHasRead:  // the barrier: the store
        if (readable(next, mutator.target)) next.field[mutator.target] = mutator.value;
        moved.place = kHasStored;
        return push(next);
      case kHasStored:
        if (mutator.sees_marking && rule(kStoresShade)) shade(&next, mutator.value);
        return push(leave(next, index));
      case kHasMoved:
        if (next.phase == kMarking && rule(kMovesShade) && readable(next, mutator.target)) shade(&next, next.field[mutator.target]);
        return push(leave(next, index));
      case kOutside: break;
    }
    if (state.operations == 0) return;
    next.operations--;
    auto changed = [&](auto change) {
      State copy = next;
      change(copy, copy.mutators[index]);
      push(copy);
    };
    int first = mutator.registers[0], second = mutator.registers[1];
    auto load = [&](int from) {
      if (from != kNone && readable(state, from) && state.field[from] != kNone) changed([&](State& s, Mutator& m) { m.registers[1] = s.field[from]; });
    };
    auto store = [&](int to, int value) {
      changed([&](State& s, Mutator& m) {
        m.place = kHasRead;
        m.sees_marking = s.phase == kMarking;
        m.target = static_cast<int8_t>(to);
        m.value = static_cast<int8_t>(value);
      });
    };
    auto is_object = [&](int object) { return object != kNone && object != kStatics; };
    load(kStatics);
    load(second);
    if (first != second) changed([&](State&, Mutator& m) { m.registers[0] = m.registers[1]; });
    if (second != kNone) changed([&](State&, Mutator& m) { m.registers[1] = kNone; });
    for (int to : {kStatics, first}) {
      if (to == kNone || !readable(state, to)) continue;
      if (second != kNone) store(to, second);
      // null needs no barrier
      if (state.field[to] != kNone) changed([&](State& s, Mutator&) { s.field[to] = kNone; });
      // a block move from the object in the second register
      if (is_object(second) && readable(state, second) && second != to && state.field[second] != kNone)
        changed([&](State& s, Mutator& m) {
          s.field[to] = s.field[second];
          m.place = kHasMoved;
          m.target = static_cast<int8_t>(to);
        });
    }
    for (int object = 1; object < kObjects; object++) {
      if (has(state.allocated, object)) continue;
      changed([&](State& s, Mutator& m) {
        add(&s.allocated, object);
        s.field[object] = kNone;
        if (s.phase == kMarking && rule(kBornMarked)) s.colour[object] = kScanned;
        if (s.phase == kDeleting && rule(kBornMarkedToTheEnd)) s.colour[object] = kScanned;
        m.registers[1] = static_cast<int8_t>(object);
      });
      break;
    }
    for (int handle : {state.weak, state.long_weak, state.primary, state.secondary}) {
      if (handle != kNone && !has(state.deleted, handle)) changed([&](State&, Mutator& m) { m.registers[1] = static_cast<int8_t>(handle); });
    }
    if (is_object(second)) {
      if (!has(state.deleted, second) && second != kFinalizable) changed([&](State& s, Mutator&) { add(&s.deleted, second); });
      if (second == kFinalizable && has(state.finalized, second)) changed([&](State& s, Mutator&) { drop(&s.finalized, second); });
      changed([&](State& s, Mutator&) { s.long_weak = static_cast<int8_t>(second); });
      if (is_object(first) && first != second)
        changed([&](State& s, Mutator&) { s.primary = static_cast<int8_t>(first), s.secondary = static_cast<int8_t>(second); });
    }
    // As the thread of finalizers.
    if (has(state.queued, kFinalizable))
      changed([&](State& s, Mutator& m) {
        drop(&s.queued, kFinalizable);
        add(&s.finalized, kFinalizable);
        m.registers[1] = kFinalizable;
      });
  }

  static State leave(State state, int index) {
    Mutator& mutator = state.mutators[index];
    mutator.place = kOutside;
    mutator.sees_marking = 0;
    mutator.target = mutator.value = kNone;
    return state;
  }

  void step_others(const State& state) {
    for (int object = 1; object < kObjects; object++) {
      // Memory of what is deleted goes.
      if (has(state.deleted, object) && readable(state, object)) {
        State next = state;
        add(&next.unreadable, object);
        next.field[object] = kNone;
        push(next);
      }
      // An object moves: all its names lead to where it is, and no bit is set there.
      if (!rule(kMarksFollowMoves) && state.phase == kMarking && state.colour[object] != kWhite && has(state.allocated, object)) {
        State next = state;
        next.colour[object] = kWhite;
        push(next);
      }
    }
  }

  // The end of a scope, in a stop of its own at any time of the marking: an object that nothing strong leads to is deleted, or, if its finalizer has not run, stored where a thread finds it.
  void end_scope(const State& state) {
    if (state.operations == 0 || is_in_barrier(state)) return;
    int8_t reached = strongly_reached(state);
    auto is_unreached = [&](int object) { return has(state.allocated, object) && !has(state.deleted, object) && !has(reached, object); };
    State next = state;
    next.operations--;
    auto clear_weak = [](State* s, int object) {
      if (s->weak == object) s->weak = kNone;
    };
    if (is_unreached(kFinalizable) && !has(state.finalized, kFinalizable)) {
      for (int to : {kStatics, static_cast<int>(state.mutators[0].registers[0])}) {
        if (to == kNone || !readable(state, to)) continue;
        State listed = next;
        listed.field[to] = kFinalizable;
        add(&listed.finalized, kFinalizable);
        clear_weak(&listed, kFinalizable);
        if (rule(kListedShades)) shade(&listed, kFinalizable);
        push(listed);
      }
      return;
    }
    for (int object = 1; object < kObjects; object++) {
      if (!is_unreached(object)) continue;
      State gone = next;
      add(&gone.deleted, object);
      clear_weak(&gone, object);
      push(gone);
    }
  }

  static int8_t strongly_reached(const State& state) {
    int8_t reached = 1 << kStatics;
    auto reach = [&](int object) {
      if (object != kNone) add(&reached, object);
    };
    for (const Mutator& mutator : state.mutators) {
      for (int object : mutator.registers) reach(object);
    }
    if (has(state.queued, kFinalizable)) reach(kFinalizable);
    for (int i = 0; i < kObjects; i++) {
      for (int object = 0; object < kObjects; object++) {
        if (has(reached, object) && readable(state, object)) reach(state.field[object]);
      }
      if (state.primary != kNone && has(reached, state.primary)) reach(state.secondary);
    }
    return reached;
  }

  // ---- The marker.

  bool is_in_barrier(const State& state) const {
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
      case kDone: ends_.insert(state.reclaimed << kObjects | state.queued);
    }
  }

  void begin(State state) {
    if (rule(kBeginWaitsForBarriers) && is_in_barrier(state)) return;
    state.phase = kMarking;
    grey(&state, kStatics);
    push(state);
  }

  void mark(const State& state) {
    if (state.scanning != kNone) {  // the second half of the scan of an object
      State next = state;
      next.scanning = next.scanned_value = kNone;
      if (state.scanned_value != kNone && state.colour[state.scanned_value] == kWhite) grey(&next, state.scanned_value);
      return push(next);
    }
    bool any = false;
    for (int object = 0; object < kObjects; object++) {
      bool waits = state.colour[object] == kOnStack || (state.colour[object] == kOverflowed && state.overflow != 0);
      if (!waits) continue;
      any = true;
      State next = state;
      next.colour[object] = kScanned;
      next.scanning = static_cast<int8_t>(object);
      next.scanned_value = readable(state, object) ? state.field[object] : int8_t{kNone};
      push(next);
    }
    if (!any) look_for_finalizable(state);
    if (!any || !rule(kShadedScannedAtEnd)) end(state);
  }

  // Beside the threads too, before the last stop: what is finalizable and not reached, then what that leads to.
  void look_for_finalizable(const State& state) {
    if (state.looked_at == 0) {
      State next = state;
      next.looked_at = 1;
      if (has(state.allocated, kFinalizable) && state.colour[kFinalizable] == kWhite) {
        next.candidates = has(state.finalized, kFinalizable) ? kHasRun : kIsToRun;
        if (next.candidates == kIsToRun && rule(kFinalizableReaches)) next.of_finalizer[kFinalizable] = kOnStack;
      }
      push(next);
    }
    for (int object = 1; object < kObjects; object++) {
      if (state.of_finalizer[object] != kOnStack) continue;
      State next = state;
      next.of_finalizer[object] = kScanned;
      int to = readable(state, object) ? state.field[object] : kNone;
      if (to != kNone && next.of_finalizer[to] == kWhite && next.colour[to] == kWhite) next.of_finalizer[to] = kOnStack;
      push(next);
    }
  }

  static bool is_kept(const State& state, int object) { return state.colour[object] != kWhite || state.of_finalizer[object] != kWhite; }

  // The last stop. One that finds more than it may do itself lets the threads go on.
  void end(State state) {
    if (rule(kEndWaitsForBarriers) && is_in_barrier(state)) return;
    if (state.looked_at == 0) return;
    for (int object = 0; object < kObjects; object++) {
      if (state.of_finalizer[object] == kOnStack) return;
    }
    bool found = false;
    auto reach = [&](int object) {
      if (object == kNone || state.colour[object] != kWhite) return;
      grey(&state, object);
      found = true;
    };
    if (rule(kRegistersScannedAtEnd)) {
      for (const Mutator& mutator : state.mutators) {
        for (int object : mutator.registers) reach(object);
      }
    }
    if (has(state.queued, kFinalizable)) reach(kFinalizable);
    if (rule(kFinalizedLookedAtAgain) && state.candidates == kHasRun && !has(state.finalized, kFinalizable)) reach(kFinalizable);
    if (rule(kDependentsReach) && state.primary != kNone) {
      if (state.colour[state.primary] != kWhite) reach(state.secondary);
      else if (state.of_finalizer[state.primary] != kWhite && state.secondary != kNone && !is_kept(state, state.secondary)) {
        state.of_finalizer[state.secondary] = kOnStack;
        found = true;
      }
    }
    if (found) return push(state);
    // Nothing more is reached. What leads to the rest goes, while the threads stand.
    if (rule(kWeakCleared) && state.weak != kNone && state.colour[state.weak] == kWhite) state.weak = kNone;
    if (rule(kLongWeakCleared) && state.long_weak != kNone && !is_kept(state, state.long_weak)) state.long_weak = kNone;
    if (rule(kDependentsCleared) && state.primary != kNone && !is_kept(state, state.primary)) state.primary = state.secondary = kNone;
    if (state.candidates == kIsToRun && state.colour[kFinalizable] == kWhite && !has(state.finalized, kFinalizable)) add(&state.queued, kFinalizable);
    state.phase = kDeleting;
    push(state);
  }

  // Beside the threads: one unmarked object.
  void remove(const State& state) {
    for (int object = 1; object < kObjects; object++) {
      if (!has(state.allocated, object) || has(state.deleted, object) || is_kept(state, object)) continue;
      State next = state;
      if (is_reachable(state, object)) lost_ = "object " + std::to_string(object) + " is reachable and was deleted";
      if (object == kFinalizable && !has(state.finalized, object)) lost_ = "an object was deleted whose finalizer has not run";
      add(&next.deleted, object);
      add(&next.reclaimed, object);
      reclaimed_++;
      return push(next);
    }
    State next = state;
    next.phase = kDone;
    push(next);
  }

  static bool is_reachable(const State& state, int wanted) {
    int8_t reached = 1 << kStatics;
    auto reach = [&](int object) {
      if (object != kNone) add(&reached, object);
    };
    for (const Mutator& mutator : state.mutators) {
      for (int object : mutator.registers) reach(object);
      reach(mutator.value);
    }
    for (int handle : {state.weak, state.long_weak, state.primary, state.secondary}) reach(handle);  // a thread may read them at any time
    for (int object = 1; object < kObjects; object++) {
      if (has(state.queued, object)) reach(object);
    }
    for (int i = 0; i < kObjects; i++) {
      for (int object = 0; object < kObjects; object++) {
        if (has(reached, object) && readable(state, object)) reach(state.field[object]);
      }
    }
    return has(reached, wanted);
  }

  const uint32_t rules_;
  const int operations_;
  std::unordered_set<State, Hash, Equal> seen_;
  std::vector<State> todo_;
  std::string lost_;
  std::set<int> ends_;
  size_t reclaimed_ = 0;
};

State empty() {
  State state;
  memset(&state, 0, sizeof state);
  for (int8_t& field : state.field) field = kNone;
  for (Mutator& mutator : state.mutators) {
    for (int8_t& object : mutator.registers) object = kNone;
    mutator.target = mutator.value = kNone;
  }
  state.weak = state.long_weak = state.primary = state.secondary = kNone;
  state.scanning = state.scanned_value = kNone;
  state.allocated = 1 << kStatics;
  return state;
}

// What the heap is like when marking may begin.
std::vector<State> beginnings() {
  std::vector<State> all;
  // A chain behind the statics, and a weak handle to its end.
  State chain = empty();
  chain.allocated = 0b0111;
  chain.field[0] = 1, chain.field[1] = 2, chain.weak = 2;
  all.push_back(chain);
  // Two threads hold objects that nothing else leads to.
  State held = empty();
  held.allocated = 0b0111;
  held.field[1] = 2;
  held.mutators[0].registers[1] = 1, held.mutators[1].registers[1] = 2, held.mutators[1].registers[0] = 2;
  all.push_back(held);
  // What is finalizable leads to an object, and long weak handles lead to both.
  State finalizable = empty();
  finalizable.allocated = 0b1101;
  finalizable.field[3] = 2, finalizable.weak = 2, finalizable.long_weak = 3;
  all.push_back(finalizable);
  finalizable.finalized = 0b1000;
  finalizable.field[0] = 3, finalizable.weak = kNone;
  all.push_back(finalizable);
  // A dependent handle whose primary is reached, or is not.
  State dependent = empty();
  dependent.allocated = 0b0111;
  dependent.field[0] = 1, dependent.primary = 1, dependent.secondary = 2;
  all.push_back(dependent);
  return all;
}

TEST(ConcurrentMarkingModel, LosesNothing) { expect_nothing_lost(explore_all<Explorer>(kAllRules, 4, beginnings())); }

TEST(ConcurrentMarkingModel, EachRuleIsNeeded) {
  for (size_t i = 0; i < std::size(kRuleNames); i++) expect_something_lost(explore_all<Explorer>(kAllRules & ~(1u << i), 4, beginnings()), kRuleNames[i]);
}

}  // namespace
}  // namespace freehold::testing
