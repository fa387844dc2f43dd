// The heap's background work is done in phases, which exclude each other: those of maintenance, and rounds of promotion with remaps. A marking beside the threads excludes rounds and remaps only:
// threads fork meanwhile, and end scopes.
#pragma once

#include "Platform/fair_lock.h"
#include "Platform/lock.h"

namespace freehold::heap {

// The three are fair: some threads take one again and again, others wait for it with all threads stopped.
// Maintenance of one block, or one phase of maintenance, at a time. Held for less than a millisecond or so, by whoever changes blocks.
extern os::FairLock maintenance_lock;
// One round, or one remap, at a time; and who stops the threads and needs objects to stay where they are. Held for as long as a round or a stop takes. Taken before maintenance_lock.
extern os::FairLock promotion_lock;
// One round, one remap, or one reclaim at a time: marks belong to places. A reclaim holds it from its beginning to its end, so nobody may wait for it who cannot wait for a whole marking. Taken
// before promotion_lock.
extern os::FairLock place_lock;

// While one exists no phase of maintenance runs. For the verifier, once the threads stand still, and for whoever changes blocks outside cooperative
// mode. Its owner must not wait for a suspension.
class MaintenancePause {
 public:
  MaintenancePause() noexcept;
  ~MaintenancePause();
  MaintenancePause(const MaintenancePause&) = delete;
  MaintenancePause& operator=(const MaintenancePause&) = delete;
};

// Called after each phase with its name, on the thread that did it; the layer above verifies the heap then (FREEHOLD_VERIFY).
using PhaseHook = void (*)(const char* phase);
void set_phase_hook(PhaseHook hook) noexcept;
void phase_done(const char* phase) noexcept;

// While one exists no round and no remap runs; a marking may. Its owner may stop the threads, and then take a MaintenancePause.
class PromotionPause {
 public:
  PromotionPause() noexcept;
  ~PromotionPause();
  PromotionPause(const PromotionPause&) = delete;
  PromotionPause& operator=(const PromotionPause&) = delete;
};

// Whoever moves objects has one: no other does, no reclaim runs, and nobody has a PromotionPause. `waits`: else it is only tried for.
class MovingTurn {
 public:
  explicit MovingTurn(bool waits) noexcept;
  ~MovingTurn();
  MovingTurn(const MovingTurn&) = delete;
  MovingTurn& operator=(const MovingTurn&) = delete;

  bool has_turn() const noexcept { return has_turn_; }

 private:
  bool has_turn_ = false;
};

// In the child of a fork: who had it is not here.
void forget_place_lock() noexcept;
// The same, of a thread that has the two pauses itself: those who wait for them are not here.
void keep_pauses_in_child() noexcept;
// The same, of a thread that has none of them.
void forget_pauses_in_child() noexcept;

// A PromotionPause, but only if nothing moves now, or if it may wait.
class PromotionPauseIfIdle {
 public:
  explicit PromotionPauseIfIdle(bool waits) noexcept;
  ~PromotionPauseIfIdle();
  PromotionPauseIfIdle(const PromotionPauseIfIdle&) = delete;
  PromotionPauseIfIdle& operator=(const PromotionPauseIfIdle&) = delete;

  bool paused() const noexcept { return paused_; }

 private:
  const bool paused_;
};

}  // namespace freehold::heap
