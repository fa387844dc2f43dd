// How a running program knows that an allocation belongs to a group: a disjunction of conjunctions of call sites (Savage and Jones, HALO, CGO 2020), built
// greedily from as few call sites as tell its contexts from others. The call of the allocation function itself is in each conjunction: the compiler knows it, it costs nothing.
// The others are marked: each has a bit of the thread's word, which is set while the call runs.
#pragma once

#include <string>
#include <vector>

#include "grouping.h"
#include "profile.h"

namespace freehold::grouping {

struct Conjunction {
  uint32_t allocation;           // the call of the allocation function
  std::vector<uint32_t> marked;  // the other call sites, all of them under way
  bool operator==(const Conjunction&) const = default;
};

struct Selector {
  std::vector<Conjunction> any_of;
  bool operator==(const Selector&) const = default;
};

// One for each group, in their order. An allocation belongs to the first group whose selector fits: so contexts of earlier groups need not be told apart.
std::vector<Selector> selectors_of(const Profile& profile, const std::vector<Group>& groups);

// The group, or groups.size(): of none.
size_t select(const std::vector<Selector>& selectors, const Context& context);

}  // namespace freehold::grouping
