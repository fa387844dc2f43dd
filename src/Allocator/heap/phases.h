// The heap's background work is done in phases, which exclude each other: those of maintenance, and rounds of promotion with remaps.
#pragma once

#include "Platform/lock.h"

namespace freehold::heap {

// One phase of maintenance at a time. Held for less than a millisecond or so, by whoever changes blocks.
extern os::Lock maintenance_lock;
// One round, or one remap, at a time. Taken before maintenance_lock.
extern os::Lock promotion_lock;

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

// While one exists no round and no remap runs. Its owner may stop the threads, and then take a MaintenancePause.
class PromotionPause {
 public:
  PromotionPause() noexcept;
  ~PromotionPause();
  PromotionPause(const PromotionPause&) = delete;
  PromotionPause& operator=(const PromotionPause&) = delete;
};

// The same, but only if none runs now, or if it may wait.
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
