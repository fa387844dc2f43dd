// Which class declares a field, by the descriptions of references that types have: nothing else of fields is in a program.
#pragma once

#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

// The class that declares the reference at this offset from the object's address: [Owned] belongs there, and then is for all classes that have it. Of an array: itself.
const core::MethodTable* declaring(const core::MethodTable* type, uint64_t offset) noexcept;
// Elements of an array are one field to whoever is told of them.
inline uint64_t told_offset(const core::MethodTable* type, uint64_t offset) noexcept { return type->has_component_size() ? 0 : offset; }

// Of the references that a class declares itself, in the order of their offsets: which one this is, from 1 on, and how many there are. 0: nobody knows which, as it is in a structure that an array has.
// One in a structure that a class has is counted like any other.
struct ReferenceNumber {
  uint32_t number, of;
};
ReferenceNumber reference_number(const core::MethodTable* type, uint64_t told_offset) noexcept;

}  // namespace freehold::heap
