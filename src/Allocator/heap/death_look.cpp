#include "heap/death_look.h"

#include <sched.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/module_state.h"
#include "core/references.h"
#include "heap/adoptable_values.h"
#include "heap/allocation_samples.h"
#include "heap/classification.h"
#include "heap/declared_fields.h"
#include "heap/field_values.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/frame_list.h"
#include "heap/holder_support.h"
#include "heap/notices.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "heap/watched_objects.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::MethodTable;
using core::Object;

namespace {

struct State {
  std::atomic<uint64_t> next{kLeastLookInterval};  // bytes that all threads have allocated, from where on a sample plans a look; kPlanned: one is planned
  std::atomic<uint64_t> planned_at{0}, interval{kLeastLookInterval};
  // Of the thread that looks: the end of its look, in nanoseconds and in bytes of all threads.
  std::atomic<uint64_t> ended{0}, allocated_then{0};
  // Written with the threads stopped, under the lock of the samples.
  bool begun = false;   // in the child of a fork too, which records nothing
  size_t next_row = 0;  // of fields, whose values are adopted first
  uint64_t (*clock)() = os::nanoseconds;
  void (*between_pieces)() = nullptr;
  uint64_t looks = 0, last_look = 0, longest_interval = 0, nanoseconds = 0, next_notice = kLooksBeforeFirstNotice;

  static constexpr uint64_t kPlanned = UINT64_MAX;
  static constexpr uint64_t kLooksBeforeFirstNotice = 8;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);
constinit WatchedObjects watched;
FREEHOLD_MODULE_STATE(watched);
constinit FrameList frames;
FREEHOLD_MODULE_STATE(frames);
constinit FieldValues field_values;
FREEHOLD_MODULE_STATE(field_values);
constinit AdoptableValues adoptable;
FREEHOLD_MODULE_STATE(adoptable);

// FREEHOLD_STRESS=seed:N with another number than the default.
bool has_given_seed() noexcept { return core::knobs.stress.seed != core::Stress{}.seed; }

uint64_t current_of(uint64_t address) noexcept { return arena.contains(address) ? current_address(address) : address; }

// What became of an object that held a sample in the look before.
bool has_died(const Marking& marking, const Holding& held) noexcept {
  if (held.holder_died) return true;
  if (!arena.contains(reinterpret_cast<uintptr_t>(held.holder))) return false;  // frozen
  auto* holder = reinterpret_cast<Object*>(current_of(reinterpret_cast<uint64_t>(held.holder)));
  return is_deleted(holder) || !is_reached(marking, holder);
}
// What the field has now; 0: nothing.
uint64_t value_of_field(const Holding& held) noexcept {
  uint64_t value = 0, holder = current_of(reinterpret_cast<uint64_t>(held.holder));
  return core::try_load(reinterpret_cast<const uint64_t*>(holder + held.offset), &value) && value != 0 ? current_of(value) : 0;
}
// What is adopted makes no rows: of fields that no sample was in nothing is told.
DeathFieldRow* row_of_field(const DeathSample& sample, const MethodTable* type, uint64_t offset) noexcept {
  const MethodTable* declared = declaring(type, offset);
  return sample.adopted ? find_field_row(declared, told_offset(type, offset)) : field_row(declared, told_offset(type, offset));
}
bool was_held_alone(const DeathSample& sample) noexcept {
  return sample.seen != 0 && sample.held.fields == 1 && sample.held.places() == 1 && !sample.held.is_shared();
}
void name_holder(const Holding& held, DeathRow* row) noexcept {
  row->holder_type = declaring(held.type, held.offset);
  row->offset = static_cast<uint32_t>(told_offset(held.type, held.offset));
}

// The kind of end, and what the row has to say of its holder.
void describe_end(const Marking& marking, const DeathSample& sample, DeathRow* row) noexcept {
  const Holding& held = sample.held;
  if (sample.seen == 0) {
    row->kind = DeathKind::kUnseen;
  } else if (sample.was_shared) {
    row->kind = DeathKind::kShared;
  } else if (held.fields == 1) {
    bool died = has_died(marking, held);
    uint64_t value = died ? 0 : value_of_field(held);
    if (!died && value == sample.object) return;
    row->kind = died ? DeathKind::kHolderDied : value == 0 ? DeathKind::kEmptied : DeathKind::kReplaced;
    name_holder(held, row);
  } else if (held.handles != 0) {
    row->kind = DeathKind::kHandle;
  } else if (held.stacks != 0 && !sample.was_elsewhere) {
    row->kind = DeathKind::kStack;
    row->method = held.method;
    row->frame_gone =
        held.method != 0 && frames.is_complete() && frames.find(held.thread, held.stack_pointer, static_cast<uint32_t>(held.method)) == FrameList::kNone;
  }
}

void count_for_field(const Marking& marking, const DeathSample& sample, bool dead) noexcept {
  if (!was_held_alone(sample)) return;
  DeathFieldRow* row = row_of_field(sample, sample.held.type, sample.held.offset);
  if (row == nullptr) return;
  if (has_died(marking, sample.held)) {
    if (!dead) row->survived++;
    else if (!sample.adopted) row->died++;
  } else if (uint64_t value = value_of_field(sample.held); value != sample.object) {
    (!dead ? row->moved : value == 0 ? row->emptied : row->replaced)++;
  } else {
    return;
  }
  if (sample.adopted) row->followed++;
}

// How many of the innermost frames of the sample's allocation have returned. A frame is there if those that it was called from are, and they wait for it still.
uint8_t returned(const DeathSample& sample) noexcept {
  // What had returned does not come back: an equal frame is another one.
  if (!frames.is_complete()) return sample.alive_after;
  size_t there = sample.frames, before = sample.alive_after == kNotKnown ? 0 : sample.alive_after;
  for (; there > before; there--) {
    const BirthFrame& birth = sample.birth[there - 1];
    size_t index = frames.find(sample.thread, birth.stack_pointer, birth.method);
    if (index == FrameList::kNone) break;
    // It goes on elsewhere: what it had called is over.
    if (there > 1 && static_cast<uint32_t>(frames.at(index).ip) != birth.ip) {
      there--;
      break;
    }
  }
  return static_cast<uint8_t>(there);
}

void add_field(DeathSample& sample, Object* holder, const MethodTable* type, uint64_t offset) noexcept {
  Holding& held = sample.held;
  if (reinterpret_cast<uint64_t>(holder) == sample.object) return;
  if (held.fields == 0) {
    held.holder = holder;
    held.type = type;
    held.offset = offset;
  } else if (held.fields == 1) {
    held.other = holder;
    held.other_type = type;
    held.other_offset = offset;
  } else if (DeathFieldRow* row = row_of_field(sample, type, offset); row != nullptr) {
    row->shared++;
  }
  if (held.fields != UINT32_MAX) held.fields++;
}

bool may_have_rows(const MethodTable* type) noexcept {
  if (!type->is_type() || type->has_component_size()) return may_have_field_row(type);
  for (; type != nullptr && type->is_type(); type = type->related)
    if (may_have_field_row(type)) return true;
  return false;
}

void look_at_fields(Object* object, const MethodTable* type, size_t size, void*) noexcept {
  bool has_rows = may_have_rows(type);
  core::for_each_reference(object, type, size, [&](uint64_t* slot) noexcept {
    uint64_t value;
    if (!core::try_load(slot, &value) || value == 0) return;
    bool is_ours = arena.contains(value);
    if (is_ours) value = current_address(value);
    auto offset = static_cast<uint64_t>(reinterpret_cast<uint8_t*>(slot) - reinterpret_cast<uint8_t*>(object));
    // One that nobody samples, as there is only one of it, can be in the fields of many: those that are sampled do not show it.
    DeathFieldRow* row = has_rows ? find_field_row(declaring(type, offset), told_offset(type, offset)) : nullptr;
    if (row != nullptr && field_values.was_there(reinterpret_cast<uint64_t>(row), value)) row->shared++;
    if (!is_ours) return;
    if (DeathSample* sample = watched.find(value); sample != nullptr) add_field(*sample, object, type, offset);
    else if (row != nullptr && row->type->is_type() && value != reinterpret_cast<uint64_t>(object))
      adoptable.offer(index_of_field_row(row), {value, object, type, offset});
  });
}

uint64_t object_at(uint64_t address, bool interior) noexcept {
  if (!arena.contains(address)) return 0;
  address = current_address(address);
  return interior ? reinterpret_cast<uint64_t>(find_object(address - 1)) : address;
}

void look_at_root(HolderRoot kind, const void* place, uintptr_t address, bool interior, void*) noexcept {
  DeathSample* sample = watched.find(object_at(address, interior));
  if (sample == nullptr) return;
  Holding& held = sample->held;
  if (kind != HolderRoot::kStack) {
    (kind == HolderRoot::kHandle ? held.handles : held.weak)++;
    return;
  }
  held.stacks++;
  if (held.method != 0) return;
  size_t index = frames.frame_of(place);
  if (index == FrameList::kNone) return;
  const FrameSeen& frame = frames.at(index);
  held.method = frame.method;
  held.thread = frame.thread;
  held.stack_pointer = static_cast<uint32_t>(frame.stack_pointer);
}

void look_for_holders(const Marking& marking) noexcept {
  holder_support()->for_each_root(look_at_root, nullptr);
  root_support()->for_each_frozen(
      [](uint8_t* begin, uint8_t* end, void*) {
        walk_frozen(begin, end, [](Object* object, size_t size) noexcept { look_at_fields(object, object->type, size, nullptr); });
      },
      nullptr);
  for_each_finalizable(
      [](uint64_t* slot, void*) {
        if (DeathSample* sample = watched.find(object_at(*slot, false)); sample != nullptr) sample->held.others++;
      },
      nullptr);
  root_support()->for_each_dependent(
      [](uintptr_t primary, uintptr_t secondary, void* argument) {
        DeathSample* sample = watched.find(object_at(secondary, false));
        if (sample == nullptr || primary == 0) return;
        auto* object = reinterpret_cast<Object*>(current_of(primary));
        if (!arena.contains(primary) || is_reached(*static_cast<const Marking*>(argument), object)) sample->held.others++;
      },
      const_cast<Marking*>(&marking));
}

void list_frames() noexcept {
  frames.clear();
  holder_support()->for_each_frame([](const FrameSeen& frame, void*) { frames.add(frame); },
                                   [](const void* place, void*) {
                                     uint64_t value = *static_cast<const uint64_t*>(place);
                                     if (watched.find(object_at(value, true)) != nullptr) frames.add_place(place);
                                   },
                                   nullptr);
}

// What is dead or deleted goes from the list; all others are watched.
struct Sorted {
  const Marking& marking;
  uint64_t now;
};
bool is_told(const Sorted& sorted, DeathSample& sample) noexcept {
  if (is_deleted(reinterpret_cast<const void*>(sample.object))) {
    tell_deleted(sample, sorted.now);
    return true;
  }
  auto* object = reinterpret_cast<Object*>(sample.object);
  // One without a type is not an object yet.
  if (object->type == nullptr || is_reached(sorted.marking, object)) return false;
  count_for_field(sorted.marking, sample, true);
  if (sample.adopted) return true;
  DeathRow row = row_of(sample, object->type, DeathKind::kOther, sorted.now);
  describe_end(sorted.marking, sample, &row);
  // Static fields of threads that have ended are the runtime's.
  if (object->type->is_type()) add_death(row);
  else add_untold_death_sample();
  return true;
}

void note_held(DeathSample& sample, uint64_t now) noexcept {
  Holding& held = sample.held;
  sample.type = reinterpret_cast<Object*>(sample.object)->type;
  sample.seen = now;
  sample.alive_after = returned(sample);
  bool shared = held.is_shared();
  sample.was_shared |= shared;
  sample.was_elsewhere |= held.fields != 0 || held.handles != 0 || held.others != 0;
  if (held.fields == 0) return;
  if (DeathFieldRow* row = row_of_field(sample, held.type, held.offset); row != nullptr) {
    if (shared) {
      row->shared++;
    } else if (!sample.adopted) {
      row->held++;
      if (sample.counted != row) {
        row->objects++;
        sample.counted = row;
      }
    }
  }
  if (held.fields == 1) return;
  if (DeathFieldRow* row = row_of_field(sample, held.other_type, held.other_offset); row != nullptr) row->shared++;
}

// Of short lives many come by, and of long ones the end is far: half of them are followed for 2 looks, a quarter for 4, and so on to 256.
uint32_t looks_to_follow(uint64_t number) noexcept {
  uint64_t random = (number + state.looks * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
  return 2u << std::countr_zero(random >> 40 | 128);
}

void adopt_values(uint64_t now) noexcept {
  if (adoptable.rows() == 0) return;
  size_t room = kAdoptedAtMost - adopted_count(), each = std::clamp<size_t>(room / adoptable.rows(), 1, AdoptableValues::kOfRow);
  // Where there is no room for all rows, each look goes on behind the last row of the one before.
  size_t first = state.next_row;
  for (size_t step = 0; step < kDeathFieldRows; step++) {
    size_t index = (first + step) % kDeathFieldRows;
    if (adoptable.offered(index) == 0) continue;
    if (adopted_count() < kAdoptedAtMost) state.next_row = index + 1;
    DeathFieldRow& row = field_row_at(index);
    size_t taken = 0, chosen = adoptable.chosen_of(index);
    for (size_t i = 0; i < chosen && taken < each; i++) {
      // Of more than there is room for, others in each look.
      const AdoptableValue& value = adoptable.chosen(index, (i + state.looks) % chosen);
      // Another field has it too, whose row has adopted it.
      if (is_deleted(reinterpret_cast<const void*>(value.value)) || watched.find(value.value) != nullptr) continue;
      DeathSample sample = {};
      sample.object = value.value;
      sample.type = reinterpret_cast<Object*>(value.value)->type;
      sample.seen = sample.born = now;
      sample.adopted = true;
      sample.looks_left = looks_to_follow(taken + index);
      sample.held.holder = value.holder;
      sample.held.type = value.type;
      sample.held.offset = value.offset;
      sample.held.fields = 1;
      if (!adopt(sample)) break;
      watched.add(&death_samples()[death_sample_count() - 1]);
      taken++;
    }
    row.unfollowed += adoptable.offered(index) - taken;
  }
}

void forget_old_adopted() noexcept {
  for (size_t i = 0; i < death_sample_count();) {
    DeathSample& sample = death_samples()[i];
    if (!sample.adopted || --sample.looks_left != 0) {
      i++;
      continue;
    }
    DeathFieldRow* row = sample.held.fields != 0 ? row_of_field(sample, sample.held.type, sample.held.offset) : nullptr;
    if (row != nullptr) row->unfollowed++;
    drop_death_sample(i);
  }
}

void look(const Marking& marking) noexcept {
  if (!records_deaths()) return;
  uint64_t now = thread_totals().allocated_bytes;
  DeathLock guard;
  note_death_change();
  DeathSample* samples = death_samples();
  if (!watched.begin(death_sample_count() + kAdoptedAtMost) || !field_values.is_there() || !adoptable.is_there()) {
    drop_all_death_samples();
    return;
  }
  for (size_t i = 0; i < death_sample_count(); i++) {
    samples[i].object = current_address(samples[i].object);
    watched.add(&samples[i]);
  }
  list_frames();
  Sorted sorted = {marking, now};
  for (size_t i = 0; i < death_sample_count();) {
    if (is_told(sorted, samples[i])) {
      drop_death_sample(i);
      continue;
    }
    count_for_field(marking, samples[i], false);
    samples[i].held = {};
    i++;
  }
  // Those that are left have other places now.
  watched.begin(death_sample_count() + kAdoptedAtMost);
  for (size_t i = 0; i < death_sample_count(); i++) watched.add(&samples[i]);
  field_values.begin(state.looks);
  adoptable.begin(state.looks);
  look_for_holders(marking);
  for_each_reached(marking, look_at_fields, nullptr);
  for (size_t i = 0; i < death_sample_count(); i++) {
    if (reinterpret_cast<Object*>(samples[i].object)->type != nullptr) note_held(samples[i], now);
  }
  forget_old_adopted();
  // Whoever was forgotten is watched still, until the next look, and chosen by none.
  adopt_values(now);
  state.looks++;
  if (state.last_look != 0 && now > state.last_look) state.longest_interval = std::max(state.longest_interval, now - state.last_look);
  state.last_look = now;
}

// A copy of what is known, and how far it has come: rows of ends, rows of fields, samples that live.
struct Copying {
  DeathRow* rows;
  DeathFieldRow* fields;
  size_t next_row = 0, next_field = 0, next_sample = 0, used = 0;
  uint64_t lost = 0, untold = 0;
};

void copy_sample(Copying& copying, const DeathSample& sample, uint64_t now) noexcept {
  if (sample.adopted) {
    DeathFieldRow* row = sample.held.fields != 0 ? row_of_field(sample, sample.held.type, sample.held.offset) : nullptr;
    if (row != nullptr) copying.fields[index_of_field_row(row)].unfollowed++;
  } else if (sample.type == nullptr || !sample.type->is_type()) {
    copying.untold++;
  } else if (!add_row_to(copying.rows, copying.used, row_of(sample, sample.type, DeathKind::kLives, now))) {
    copying.lost++;
  }
}

// The next `room` rows or samples; false: that is all.
bool copy_some(Copying& copying, size_t room, uint64_t now) noexcept {
  if (copying.next_row == 0) copying.used = death_row_count();
  size_t rows = std::min(room, kDeathRows - copying.next_row);
  copy_death_rows(copying.rows, copying.next_row, rows);
  copying.next_row += rows;
  room -= rows;
  size_t fields = std::min(room, kDeathFieldRows - copying.next_field);
  copy_field_rows(copying.fields, copying.next_field, fields);
  copying.next_field += fields;
  room -= fields;
  for (; room != 0 && copying.next_sample < death_sample_count(); room--) copy_sample(copying, death_samples()[copying.next_sample++], now);
  return copying.next_sample < death_sample_count() || copying.next_field < kDeathFieldRows;
}

}  // namespace

bool begin_deaths() noexcept {
  if (!begin_death_samples() || !field_values.reserve() || !adoptable.reserve()) return false;
  state.begun = true;
  state.ended.store(state.clock(), std::memory_order_relaxed);
  // Each run meets other objects, unless a test asks for the same.
  seed_samples(has_given_seed() ? core::knobs.stress.seed : os::nanoseconds());
  set_marking_look(look);
  return true;
}

void plan_look(const AllocationContext* context) noexcept {
  if (!state.begun) return;
  uint64_t now = recent_totals().allocated_bytes, next = state.next.load(std::memory_order_relaxed), interval = state.interval.load(std::memory_order_relaxed);
  // The thread that was to look has not allocated since, or has ended.
  bool is_late = next == State::kPlanned && now > state.planned_at.load(std::memory_order_relaxed) + 4 * interval;
  if (now < next && !is_late) return;
  if (!state.next.compare_exchange_strong(next, State::kPlanned, std::memory_order_relaxed)) return;
  state.planned_at.store(now, std::memory_order_relaxed);
  unsigned octaves = 0;
  while ((core::kPageSize << octaves) < interval) octaves++;
  // When the next sample is due is random.
  uint64_t random = static_cast<uint64_t>(thread_heap.sample_at) * 0x9e3779b97f4a7c15 >> 20;
  uint64_t distance = core::kPageSize << random % octaves;
  distance += (random >> 8) % distance;
  thread_heap.look_at = allocated_by(context) + static_cast<int64_t>(distance);
}

void set_look_clock(uint64_t (*nanoseconds)()) noexcept { state.clock = nanoseconds; }

uint64_t look_interval(uint64_t live, uint64_t allocated, uint64_t worked, uint64_t looked) noexcept {
  uint64_t interval = std::max(kLeastLookInterval, live);
  if (worked == 0) return interval;
  auto needed = static_cast<double>(allocated) / static_cast<double>(worked) * 2 * static_cast<double>(looked);
  return needed > static_cast<double>(interval) ? static_cast<uint64_t>(std::min(needed, static_cast<double>(kLongestLookInterval))) : interval;
}

void look_at_deaths() noexcept {
  thread_heap.look_at = 0;
  if (!state.begun) return;
  // Another thread's look may have ended just now, or end between these: then little was worked, and much is allocated while this one waits for its stop. So an interval is not much longer than the last one.
  constexpr uint64_t kLonger = 16;
  auto since = [](uint64_t now, uint64_t then) noexcept { return now > then ? now - then : 0; };
  uint64_t begun = state.clock(), worked = since(begun, state.ended.load(std::memory_order_relaxed));
  uint64_t allocated = since(thread_totals().allocated_bytes, state.allocated_then.load(std::memory_order_relaxed));
  reclaim();
  uint64_t ended = state.clock();
  ThreadTotals totals = thread_totals();
  // What a test looks at does not depend on how busy the machine is.
  if (has_given_seed()) worked = 0;
  uint64_t interval = look_interval(totals.live_bytes(), allocated, worked, since(ended, begun));
  interval = std::min(interval, std::max(totals.live_bytes(), kLonger * state.interval.load(std::memory_order_relaxed)));
  state.ended.store(ended, std::memory_order_relaxed);
  state.allocated_then.store(totals.allocated_bytes, std::memory_order_relaxed);
  state.interval.store(interval, std::memory_order_relaxed);
  state.next.store(totals.allocated_bytes + interval, std::memory_order_relaxed);
  bool tells = false;
  if (records_deaths()) {
    DeathLock guard;
    state.nanoseconds += ended - begun;
    if (state.looks >= state.next_notice) {
      state.next_notice += std::min<uint64_t>(state.next_notice, 1024);
      tells = true;
    }
  }
  if (tells) give_deaths_notice();
}

void call_between_pieces(void (*function)()) noexcept { state.between_pieces = function; }

void take_deaths(DeathRow* rows, DeathFieldRow* fields, DeathTotals* totals) noexcept {
  // Threads that allocate wait for the lock in cooperative mode, and a stop waits for them: so it is held for a piece. If something else than births comes between, the copy begins anew; often
  // that can only be where looks are short, as few samples live.
  constexpr size_t kPiece = 1024;
  constexpr int kTries = 4;
  Copying copying = {rows, fields};
  uint64_t changes = 0;
  for (int tries = 0;;) {
    {
      DeathLock guard;
      uint64_t now = thread_totals().allocated_bytes;
      if (death_changes() != changes) {
        changes = death_changes();
        copying = {rows, fields};
        tries++;
      }
      if (!copy_some(copying, tries < kTries ? kPiece : SIZE_MAX, now)) {
        *totals = {now, state.looks, births(), births_without_room() + deaths_without_room() + copying.lost,
                   // What nobody sampled, and each sight of a field, are none of the samples.
                   lost_death_samples() + fields_without_room(), untold_death_samples() + copying.untold, state.longest_interval, state.nanoseconds};
        break;
      }
    }
    if (state.between_pieces != nullptr) state.between_pieces();
    // Whoever waits for the lock gets it.
    sched_yield();
  }
  for (size_t i = 0; i < kDeathFieldRows; i++) {
    if (fields[i].type == nullptr) continue;
    ReferenceNumber reference = reference_number(fields[i].type, fields[i].offset);
    fields[i].number = reference.number;
    fields[i].of = reference.of;
  }
}

}  // namespace freehold::heap
