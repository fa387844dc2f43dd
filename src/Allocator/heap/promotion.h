// Promotion (Kedia et al., sections 3 and 4): live objects leave sparse blocks while the program runs, and references to them are repaired.
//
//   choose     blocks of which 5/16 or more are dead, the emptiest first, until less than 3/16 of the live bytes is wasted
//   collect    a walk over the references of all live objects notes the fields that lead into the chosen blocks; in short rounds, which choose young
//              blocks only, over those of the pages whose cards are marked (heap/cards.h)
//   per block  plan (what lives, where it goes) -> protect (readers go on, writers fault and wait) -> copy -> no access, forwarding instead -> patch the
//              fields noted
//
// No thread is stopped, except once, briefly, when something was pinned in a chosen block and may still be (heap/pins.h). What the walk did not see
// (registers, stacks, references stored since) faults at its first use and is repaired there (runtime/stale_references.h), or by a later remap
// (heap/dedangling.h).
#pragma once

#include <cstdint>

#include "heap/promotion_scope.h"

namespace freehold::heap {

// One round; not in a signal handler. One at a time: others wait, unless they may not stop the threads (one that allocates is itself among those to
// be stopped), in which case there is nothing done. Returns the number of objects promoted.
uint64_t promote(PromotionScope scope, bool may_stop = true) noexcept;

// One remap (heap/dedangling.h) between two rounds. `scan_addresses`: it looks for addresses to use again, whether they are short or not. The caller holds no lock that
// a managed thread may want. True: no old name is left.
bool dedangle(bool scan_addresses = false) noexcept;
// Until it is called with false again, remaps are refused: for tests that keep old names where no remap finds them. May wait.
void refuse_remaps(bool refuse) noexcept;

// FREEHOLD_STRESS: rounds for ever, and remaps. `round_done` is called after each.
[[noreturn]] void promote_for_ever(void (*round_done)(const char* phase)) noexcept;

}  // namespace freehold::heap
