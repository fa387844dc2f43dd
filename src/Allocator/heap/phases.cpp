#include "heap/phases.h"

#include <atomic>

namespace freehold::heap {

os::Lock maintenance_lock;
os::Lock promotion_lock;

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

}  // namespace freehold::heap
