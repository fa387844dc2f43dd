#include "heap/death_table.h"

#include <string.h>

#include "core/module_state.h"
#include "os/kernel.h"

namespace freehold::heap {

namespace {

constexpr size_t kRowBytes = kDeathRows * sizeof(DeathRow), kFieldBytes = kDeathFieldRows * sizeof(DeathFieldRow);
constexpr size_t kFilterBits = 4096;
// One of eight stays free, so that lookups end soon.
constexpr size_t most_of(size_t capacity) noexcept { return capacity / 8 * 7; }

struct State {
  uint8_t* memory = nullptr;
  size_t rows = 0, fields = 0;
  uint64_t without_room = 0, fields_without_room = 0;
  uint64_t filter[kFilterBits / 64] = {};  // of the types that have rows of fields

  DeathRow* row_table() const noexcept { return reinterpret_cast<DeathRow*>(memory); }
  DeathFieldRow* field_table() const noexcept { return reinterpret_cast<DeathFieldRow*>(memory + kRowBytes); }
  void release() noexcept { os::unreserve_at(memory, kRowBytes + kFieldBytes); }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint64_t mix(uint64_t hash, uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}
uint64_t number(const void* pointer) noexcept { return reinterpret_cast<uint64_t>(pointer); }

uint64_t details_of(const DeathRow& row) noexcept {
  return uint64_t{row.stack} << 32 | static_cast<uint64_t>(row.kind) << 16 | uint64_t{row.alive_after} << 8 | (row.frame_gone ? 1 : 0);
}
bool is_same(const DeathRow& a, const DeathRow& b) noexcept {
  return a.type == b.type && a.holder_type == b.holder_type && a.method == b.method && a.offset == b.offset && details_of(a) == details_of(b);
}

DeathRow* find(DeathRow* rows, const DeathRow& row) noexcept {
  uint64_t hash = mix(mix(mix(mix(mix(1, number(row.type)), number(row.holder_type)), row.method), row.offset), details_of(row));
  size_t index = hash % kDeathRows;
  while (rows[index].type != nullptr && !is_same(rows[index], row)) index = (index + 1) % kDeathRows;
  return &rows[index];
}

size_t filter_bit(const core::MethodTable* type) noexcept { return mix(1, number(type)) % kFilterBits; }
// Where it is, or would be.
DeathFieldRow* place_of_field(const core::MethodTable* type, uint64_t offset) noexcept {
  DeathFieldRow* fields = state.field_table();
  size_t index = mix(mix(1, number(type)), offset) % kDeathFieldRows;
  while (fields[index].type != nullptr && (fields[index].type != type || fields[index].offset != offset)) index = (index + 1) % kDeathFieldRows;
  return &fields[index];
}

// False: there is no room.
bool add(DeathRow* rows, size_t& used, const DeathRow& row, size_t at_most) noexcept {
  DeathRow* found = find(rows, row);
  if (found->type == nullptr) {
    if (used == at_most) return false;
    used++;
    *found = row;
    return true;
  }
  found->samples += row.samples;
  found->bytes += row.bytes;
  found->age_seen += row.age_seen;
  found->age_dead += row.age_dead;
  return true;
}

}  // namespace

bool reserve_death_tables() noexcept {
  if (state.memory != nullptr) return true;
  state.memory = static_cast<uint8_t*>(os::reserve(kRowBytes + kFieldBytes, os::kPageSize, 0));
  if (state.memory == nullptr) return false;
  if (os::commit(state.memory, kRowBytes + kFieldBytes)) return true;
  state.release();
  return false;
}

void add_death(const DeathRow& row) noexcept {
  if (state.memory == nullptr || !add(state.row_table(), state.rows, row, most_of(kDeathRows))) state.without_room += row.samples;
}

DeathFieldRow* field_row(const core::MethodTable* type, uint64_t offset) noexcept {
  if (state.memory == nullptr) return nullptr;
  DeathFieldRow* row = place_of_field(type, offset);
  if (row->type == nullptr) {
    if (state.fields == most_of(kDeathFieldRows)) {
      state.fields_without_room++;
      return nullptr;
    }
    state.fields++;
    *row = {};
    row->type = type;
    row->offset = offset;
    size_t bit = filter_bit(type);
    state.filter[bit / 64] |= uint64_t{1} << bit % 64;
  }
  return row;
}

DeathFieldRow* find_field_row(const core::MethodTable* type, uint64_t offset) noexcept {
  if (state.memory == nullptr) return nullptr;
  DeathFieldRow* row = place_of_field(type, offset);
  return row->type == nullptr ? nullptr : row;
}

bool may_have_field_row(const core::MethodTable* type) noexcept {
  size_t bit = filter_bit(type);
  return (state.filter[bit / 64] >> bit % 64 & 1) != 0;
}

size_t index_of_field_row(const DeathFieldRow* row) noexcept { return static_cast<size_t>(row - state.field_table()); }
DeathFieldRow& field_row_at(size_t index) noexcept { return state.field_table()[index]; }

size_t death_row_count() noexcept { return state.rows; }
void copy_death_rows(DeathRow* rows, size_t first, size_t count) noexcept {
  if (state.memory == nullptr) memset(rows + first, 0, count * sizeof(DeathRow));
  else memcpy(rows + first, state.row_table() + first, count * sizeof(DeathRow));
}
void copy_field_rows(DeathFieldRow* rows, size_t first, size_t count) noexcept {
  if (state.memory == nullptr) memset(rows + first, 0, count * sizeof(DeathFieldRow));
  else memcpy(rows + first, state.field_table() + first, count * sizeof(DeathFieldRow));
}

// Some rows stay free, so that lookups end soon: threads wait meanwhile.
bool add_row_to(DeathRow* rows, size_t& used, const DeathRow& row) noexcept { return add(rows, used, row, kDeathRows / 16 * 15); }

uint64_t deaths_without_room() noexcept { return state.without_room; }
uint64_t fields_without_room() noexcept { return state.fields_without_room; }

}  // namespace freehold::heap
