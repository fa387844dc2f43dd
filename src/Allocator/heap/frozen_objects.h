// Which object of a frozen segment holds an address: for block moves that have stored references there, while a marking is under way. What they have stored is looked at by the
// thread that moved; so no stop goes through the frozen objects, and a move to a stack, which is no frozen object either, costs none anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

// As RootSupport has it; null: there are none.
using ForEachFrozen = void (*)(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument);

// Notes where objects begin, so that find_frozen() has a page to go through, not a segment. Under the lock of places, while nobody calls find_frozen: before a marking begins. Without
// memory some is not noted, and is gone through instead; so is what is frozen later.
void note_frozen(ForEachFrozen for_each_frozen) noexcept;

// The object of a frozen segment that holds this address, which is a field's; null: it lies in none. Any thread, after note_frozen().
core::Object* find_frozen(uintptr_t address) noexcept;

}  // namespace freehold::heap
