#include "heap/phases.h"

#include <atomic>

namespace freehold::heap {

os::FairLock maintenance_lock;
os::FairLock promotion_lock;
os::FairLock place_lock;

namespace {

std::atomic<PhaseHook> phase_hook{nullptr};

}  // namespace

void phase_done(const char* phase) noexcept {
  if (PhaseHook hook = phase_hook.load(std::memory_order_acquire); hook != nullptr) hook(phase);
}

void set_phase_hook(PhaseHook hook) noexcept { phase_hook.store(hook, std::memory_order_release); }

MaintenancePause::MaintenancePause() noexcept { maintenance_lock.lock(); }
MaintenancePause::~MaintenancePause() { maintenance_lock.unlock(); }

PromotionPause::PromotionPause() noexcept { promotion_lock.lock(); }
PromotionPause::~PromotionPause() { promotion_lock.unlock(); }

PromotionPauseIfIdle::PromotionPauseIfIdle(bool waits) noexcept : paused_(waits || promotion_lock.try_lock()) {
  if (waits) promotion_lock.lock();
}
PromotionPauseIfIdle::~PromotionPauseIfIdle() {
  if (paused_) promotion_lock.unlock();
}

MovingTurn::MovingTurn(bool waits) noexcept {
  if (waits) {
    place_lock.lock();
    promotion_lock.lock();
  } else if (!place_lock.try_lock()) {
    return;
  } else if (!promotion_lock.try_lock()) {
    place_lock.unlock();
    return;
  }
  has_turn_ = true;
}
MovingTurn::~MovingTurn() {
  if (!has_turn_) return;
  promotion_lock.unlock();
  place_lock.unlock();
}

void forget_place_lock() noexcept { place_lock.forget(); }

void keep_pauses_in_child() noexcept {
  forget_pauses_in_child();
  promotion_lock.lock();
  maintenance_lock.lock();
}

void forget_pauses_in_child() noexcept {
  promotion_lock.forget();
  maintenance_lock.forget();
}

}  // namespace freehold::heap
