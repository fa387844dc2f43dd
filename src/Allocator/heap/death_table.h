// FREEHOLD_DEATHS: what is known of sampled objects that have died, added up by where they were allocated and how they ended; and of fields, what became of the sampled objects that they held.
// Of a fixed size: what finds no room is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

// How an object ended, by what held it in the last look that found it alive. System.DeathRow and the tool have the same numbers.
enum class DeathKind : uint8_t {
  kLives = 0,       // it has not
  kDeleted = 1,     // the program has deleted it
  kUnseen = 2,      // no look found it alive
  kStack = 3,       // only stacks held it, in all looks
  kHolderDied = 4,  // one field held it, of an object that is dead too
  kReplaced = 5,    // one field held it, which has another value now
  kShared = 6,      // several places held it at once, in this look or before; all stacks are one
  kHandle = 7,      // a handle alone held it
  kOther = 8,       // a dependent handle, a queue of finalizers, a deleted object; or only stacks, but something else before
  kEmptied = 9,     // one field held it, which is null now
};

inline constexpr uint8_t kNotKnown = 255;  // of alive_after

// System.DeathRow has the same layout. All but the last four members are the key.
struct DeathRow {
  const core::MethodTable* type;         // null: the row is not used
  const core::MethodTable* holder_type;  // of kHolderDied, kReplaced and kEmptied: the class that declares the field; one that is no type: static fields
  uint64_t method;                       // of kStack: where the code of the method begins whose frame held it; 0: not known
  uint32_t stack;                        // where it was allocated: heap/stack_store.h
  uint32_t offset;                       // of the field in holder_type, in bytes from the object's address; 0: an element of an array
  DeathKind kind;
  uint8_t alive_after;  // when it was last seen alive, so many of the innermost frames of its allocation had returned
  bool frame_gone;      // of kStack: when it was found dead, that frame was not there any more
  uint32_t samples;
  uint64_t bytes;     // that they stand for
  uint64_t age_seen;  // bytes that all threads had allocated since its birth when it was last seen alive: the sum
  uint64_t age_dead;  // likewise, when it was found dead
};
static_assert(sizeof(DeathRow) == 64);

// Of all sampled objects that a field held alone in some look, in whatever class that derives from the one that declares it. System.DeathFieldRow has the same layout.
struct DeathFieldRow {
  const core::MethodTable* type;
  uint64_t offset;
  uint64_t objects;  // distinct ones that were seen so
  uint64_t held;     // how often one was seen so
  uint64_t
      shared;  // looks in which another place held such an object too, and places that had an object, sampled or not, that the same field of another holder has
  uint64_t died;      // dead in the look that found the field's object dead
  uint64_t survived;  // alive in that look
  uint64_t replaced;  // dead when the field had another value
  uint64_t moved;     // alive when the field had another value, or none
  uint64_t emptied;   // dead when the field was null
  // Of the values that nobody sampled. Those that speak against the field are in the members above.
  uint64_t followed;    // adopted (heap/adoptable_values.h), until they or their holder had gone, or the field had another value
  uint64_t unfollowed;  // how often one was read that was not adopted, or not until then
  uint32_t number, of;  // heap/declared_fields.h: filled in for whoever is told
};
static_assert(sizeof(DeathFieldRow) == 104);

inline constexpr size_t kDeathRows = size_t{1} << 16, kDeathFieldRows = size_t{1} << 14;

// Memory for the tables. False: there is none.
bool reserve_death_tables() noexcept;

// The caller holds the lock of heap/death_samples.h for all of these.
void add_death(const DeathRow& row) noexcept;                                            // one, or what the row says
DeathFieldRow* field_row(const core::MethodTable* type, uint64_t offset) noexcept;       // null: no room, which is counted
DeathFieldRow* find_field_row(const core::MethodTable* type, uint64_t offset) noexcept;  // null: there is none
bool may_have_field_row(const core::MethodTable* type) noexcept;                         // false: it has none
size_t index_of_field_row(const DeathFieldRow* row) noexcept;
DeathFieldRow& field_row_at(size_t index) noexcept;

// Copies of parts, into tables of the same size, for somebody who goes on to read them.
size_t death_row_count() noexcept;
void copy_death_rows(DeathRow* rows, size_t first, size_t count) noexcept;
void copy_field_rows(DeathFieldRow* rows, size_t first, size_t count) noexcept;
// Adds to such a copy. False: there is no room.
bool add_row_to(DeathRow* rows, size_t& used, const DeathRow& row) noexcept;
uint64_t deaths_without_room() noexcept;
// Fields whose row found none: what was seen there speaks against nothing.
uint64_t fields_without_room() noexcept;

}  // namespace freehold::heap
