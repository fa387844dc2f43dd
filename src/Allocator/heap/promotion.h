// Promotion (Kedia et al., sections 3 and 4): live objects leave sparse blocks while the program runs, and references to them are repaired.
//
//   choose     blocks of which 5/16 or more are dead, the emptiest first, until less than 3/16 of the live bytes is wasted
//   collect    a walk over the references of all live objects notes the fields that lead into the chosen blocks; in short rounds, which choose young
//              blocks only, over those of the pages whose cards are marked (heap/cards.h)
//   per block  plan (what lives, where it goes) -> freeze (readers go on, writers fault and wait) -> copy -> no access, forwarding instead -> patch the
//              fields noted
//
// No thread is stopped, except once, briefly, when something was pinned in a chosen block and may still be (heap/pins.h). What the walk did not see
// (registers, stacks, references stored since) faults at its first use and is repaired there (runtime/stale_references.h), or by a later sweep
// (heap/dedangling.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::heap {

struct PromotionCounters {
  std::atomic<uint64_t> rounds, blocks, objects, bytes;
  std::atomic<uint64_t> short_rounds, cards;  // that looked at marked pages only, and at how many
  std::atomic<uint64_t> collected;  // fields that led into chosen blocks
  std::atomic<uint64_t> patched;    // of these, and of older stale references met on the way, those that a walk repaired
  std::atomic<uint64_t> refused;    // blocks that were pinned, or not complete
  std::atomic<uint64_t> frame_waits;  // of wait_for_frames
  std::atomic<uint64_t> longest_freeze;  // nanoseconds
  std::atomic<uint64_t> walk_time, copy_time, patch_time;  // nanoseconds of processor time; copying includes freezing and forwarding
};
extern PromotionCounters promotion_counters;

// Fragmentation f = (deleted - released) / (allocated - deleted) is above 3/8, 16 MB aside, and enough was deleted since the last round.
bool should_promote() noexcept;
// The first of these: memory is to come from sparse blocks, not from the system.
bool is_heap_fragmented() noexcept;
// No round is due, and the heap is below 32 MB: what quiet blocks have in dead pages is better released page by page.
bool is_too_small_to_promote() noexcept;

enum class PromotionScope : uint8_t {
  kFragmented,  // as should_promote() has it: until f is below 3/16
  kSparse,      // every block of which 5/16 or more are dead
  kYoung,       // the young ones of these, in a short round: for tests
  kAll,         // every block that is complete: for tests
  kRandom,      // half of these, as the seed of FREEHOLD_STRESS has it
};
// One round; not in a signal handler. One at a time: others wait, unless they may not stop the threads (one that allocates is itself among those to
// be stopped), in which case there is nothing done. Returns the number of objects promoted.
uint64_t promote(PromotionScope scope, bool may_stop = true) noexcept;

// Whether the last round of kFragmented found as many sparse blocks as it wanted, by what the pages' counters say. A hint.
bool had_enough_candidates() noexcept;

// Before a thread takes another block to allocate from. While a round has blocks to free and the heap holds far more than lives, promotion is behind: the
// thread then waits for frames, a third of a millisecond or so. If there are none it has to take new memory, and is paced (thread_heap.paced_windows) while it
// fills it: many short waits, instead of one that could be felt. Else it returns at once.
void wait_for_frames() noexcept;
// A paced thread goes on to the next window of its block: it sleeps a little, unless there are frames by now. The caller holds no lock; a stop of the
// threads waits as long.
void pace() noexcept;

// One sweep (heap/dedangling.h) between two rounds. `search`: it looks for addresses to use again, whether they are short or not. The caller holds no lock that
// a managed thread may want. True: no old name is left.
bool dedangle(bool search = false) noexcept;
// Until it is called with false again, sweeps are refused: for tests that keep old names where no sweep finds them. May wait.
void hold_sweeps(bool hold) noexcept;

// While one exists no round and no sweep runs. Its owner may stop the threads, and then take a MaintenancePause.
class PromotionPause {
 public:
  PromotionPause() noexcept;
  ~PromotionPause();
  PromotionPause(const PromotionPause&) = delete;
  PromotionPause& operator=(const PromotionPause&) = delete;
};

// FREEHOLD_STRESS: rounds for ever, and sweeps. `round_done` is called after each.
[[noreturn]] void promote_for_ever(void (*round_done)(const char* phase)) noexcept;

// Every block forgets the pins that no pinned local shows any more, with one stop. Without locks.
void refresh_pins() noexcept;
// FREEHOLD_STRESS=deletion: asks for pins for ever. The rounds that a deletion makes cannot, and would find each block pinned that anything ever was.
[[noreturn]] void refresh_pins_for_ever() noexcept;

void reset_promotion() noexcept;  // tests only

}  // namespace freehold::heap
