// A lock that threads get in the order in which they asked for it (a ticket lock, Mellor-Crummey and Scott 1991, that sleeps): one that takes it again and again keeps no other one from it.
// For long sections: each that is waited for costs a wake. try_lock() fails while anybody waits. Not recursive; never taken in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>

#include "Platform/futex.h"

namespace freehold::os {

class FairLock {
 public:
  void lock() noexcept {
    uint32_t ticket = next_.fetch_add(1, std::memory_order_seq_cst);
    for (uint32_t serving; (serving = serving_.load(std::memory_order_seq_cst)) != ticket;) wait_with_bit(serving_, serving, bit_of(ticket));
  }

  // Only if nobody holds it or waits for it.
  bool try_lock() noexcept {
    uint32_t serving = serving_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(serving, serving + 1, std::memory_order_acq_rel);
  }

  void unlock() noexcept {
    uint32_t following = serving_.load(std::memory_order_relaxed) + 1;
    serving_.store(following, std::memory_order_seq_cst);
    // Who has asked since then sees the new number and does not wait.
    if (next_.load(std::memory_order_seq_cst) != following) wake_with_bit(serving_, bit_of(following));
  }

  // Whether a thread waits for it, of one that is held; how many do.
  bool is_wanted() const noexcept { return waiters() != 0; }
  uint32_t waiters() const noexcept { return next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) - 1; }

  // For the child of a fork, which has none of the threads that held it or waited.
  void forget() noexcept {
    next_.store(0, std::memory_order_relaxed);
    serving_.store(0, std::memory_order_relaxed);
  }

 private:
  // Who comes next is woken, and one in 32 of the others.
  static constexpr uint32_t bit_of(uint32_t ticket) noexcept { return 1u << (ticket % 32); }

  std::atomic<uint32_t> next_{0};     // the ticket of who asks next
  std::atomic<uint32_t> serving_{0};  // the ticket of who holds it, or may take it
};

}  // namespace freehold::os
