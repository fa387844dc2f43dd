// FREEHOLD_DEATHS: the sampled objects that live, with what is known of each since its birth. heap/allocation_samples.h says which are sampled, heap/death_look.h looks at them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/death_table.h"

namespace freehold::heap {

inline constexpr size_t kBirthFrames = 16;

// Halves of heap/holder_support.h's: enough to know a frame again.
struct BirthFrame {
  uint32_t stack_pointer, method, ip;
};

// What held an object in a look. A field of the object itself is nobody.
struct Holding {
  core::Object* holder;  // of one of the fields; null: none
  const core::MethodTable* type;
  uint64_t offset;
  core::Object* other;  // the holder of another one of the fields
  const core::MethodTable* other_type;
  uint64_t other_offset;
  uint64_t method, thread;  // a frame that held it; 0: none, or nobody knows which
  uint32_t stack_pointer;
  uint32_t fields, handles, stacks, others, weak;  // how many places of each kind; others: dependent handles, the queue of finalizers
  bool holder_died;                                // since that look, and its address says nothing any more

  // All stacks are one: a value that a method gives to another one is on several.
  uint64_t places() const noexcept { return uint64_t{fields} + handles + others + (stacks != 0 ? 1 : 0); }
  // A weak handle gives out what a field has; what a stack alone has is gone with that all the same.
  bool is_shared() const noexcept { return places() > 1 || (weak != 0 && fields != 0); }
};

struct DeathSample {
  uint64_t object;                // the name that it had last
  const core::MethodTable* type;  // null until a look has found it alive
  uint64_t born;                  // bytes that all threads had allocated
  uint64_t thread;                // that allocated it
  uint64_t seen;                  // bytes that all threads had allocated when it was last seen alive, 0: never
  uint32_t stack;                 // heap/stack_store.h
  uint32_t weight;                // KB that it stands for
  uint8_t frames;                 // of `birth`, the innermost first
  uint8_t alive_after;
  bool was_shared;      // in some look
  bool was_elsewhere;   // something else than a stack had it in some look
  bool adopted;         // nobody has sampled it, and it stands for nothing: it is told of in the rows of fields alone
  uint32_t looks_left;  // of an adopted one: then it is forgotten
  BirthFrame birth[kBirthFrames];
  Holding held;                  // in the last look
  const DeathFieldRow* counted;  // the field that has counted it among its objects
};

// Guards the samples and heap/death_table.h. A thread in cooperative mode holds it only between safe points, and so none does while the threads are stopped.
class DeathLock {
 public:
  DeathLock() noexcept;
  ~DeathLock();
  DeathLock(const DeathLock&) = delete;
  DeathLock& operator=(const DeathLock&) = delete;
};
void forget_death_lock() noexcept;  // in the child of a fork, which records nothing

// From now on births are noted. False: there is no memory for it.
bool begin_death_samples() noexcept;
void end_death_samples() noexcept;
bool records_deaths() noexcept;

inline constexpr size_t kAdoptedAtMost = size_t{1} << 14;

// An object is there, of which nobody knows yet. The allocating thread, in cooperative mode.
void note_birth(core::Object* object, uint64_t weight) noexcept;

// The caller holds the lock.
DeathSample* death_samples() noexcept;
size_t death_sample_count() noexcept;
uint64_t death_changes() noexcept;  // how often something else than births has changed samples or tables: with the threads stopped
void note_death_change() noexcept;
void drop_death_sample(size_t index) noexcept;  // the last one takes its place
void drop_all_death_samples() noexcept;         // counted as lost: what they would have said can have spoken against a field
// With the threads stopped, in a look: a sample of weight 0. False: there are kAdoptedAtMost, or there is no memory.
bool adopt(const DeathSample& sample) noexcept;
size_t adopted_count() noexcept;
uint64_t births() noexcept;
uint64_t births_without_room() noexcept;
uint64_t lost_death_samples() noexcept;
// Samples that have gone without a row, as nobody has learnt their types: deleted by the program before a look, or static fields of threads.
uint64_t untold_death_samples() noexcept;
void add_untold_death_sample() noexcept;

// The row of a sample that ends so, or has not ended; what it says of holders is left empty. `now`: bytes that all threads have allocated.
DeathRow row_of(const DeathSample& sample, const core::MethodTable* type, DeathKind kind, uint64_t now) noexcept;

// Of one that the program has deleted.
void tell_deleted(const DeathSample& sample, uint64_t now) noexcept;

// With the threads stopped, before addresses are used again: what is deleted is dropped, names are made current.
void refresh_death_samples() noexcept;

}  // namespace freehold::heap
