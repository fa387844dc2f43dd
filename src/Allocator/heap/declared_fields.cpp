#include "heap/declared_fields.h"

namespace freehold::heap {

using core::MethodTable;

namespace {

const int64_t* description_of(const MethodTable* type) noexcept { return reinterpret_cast<const int64_t*>(type); }

// Calls fn(first offset, offset behind the last) for each series of references of a type without elements.
template <typename F>
void for_each_series(const MethodTable* type, F fn) noexcept {
  if (!type->has_pointers() || type->has_component_size()) return;
  const int64_t* description = description_of(type);
  for (int64_t i = 0; i < description[-1]; i++) {
    int64_t first = description[-2 - 2 * i], extent = description[-3 - 2 * i] + static_cast<int64_t>(core::align_up(type->base_size, core::kObjectAlignment));
    fn(first, first + extent);
  }
}

bool has_reference_at(const MethodTable* type, uint64_t offset) noexcept {
  bool found = false;
  for_each_series(type, [&](int64_t first, int64_t end) noexcept { found |= static_cast<int64_t>(offset) >= first && static_cast<int64_t>(offset) < end; });
  return found;
}

}  // namespace

const MethodTable* declaring(const MethodTable* type, uint64_t offset) noexcept {
  if (!type->is_type() || type->has_component_size()) return type;
  while (type->related != nullptr && type->related->is_type() && has_reference_at(type->related, offset)) type = type->related;
  return type;
}

ReferenceNumber reference_number(const MethodTable* type, uint64_t told_offset) noexcept {
  // A negative number of series: structures, one after the other.
  if (type->has_component_size()) return {type->has_pointers() && description_of(type)[-1] > 0 ? 1u : 0u, 1};
  ReferenceNumber found = {0, 0};
  const MethodTable* base = type->is_type() && type->related != nullptr && type->related->is_type() ? type->related : nullptr;
  for_each_series(type, [&](int64_t first, int64_t end) noexcept {
    for (int64_t at = first; at < end; at += 8) {
      if (base != nullptr && has_reference_at(base, static_cast<uint64_t>(at))) continue;
      found.of++;
      if (at <= static_cast<int64_t>(told_offset)) found.number++;
    }
  });
  return found;
}

}  // namespace freehold::heap
