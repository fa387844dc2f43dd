// What the compiler is told of groups: the selectors, by the names of call sites.
//
//   freehold heap-groups 1
//   sites N         then a line for each: SHAPE BIT NAME. BIT: the number of its bit in the thread's word, or - for calls of allocation functions
//   groups N        then for each, the first to be tried first: 'group CONJUNCTIONS', and a line for each of those: the numbers of its sites, the allocation's first
//   end CHECKSUM
#pragma once

#include <string>
#include <vector>

#include "selectors.h"

namespace freehold::grouping {

inline constexpr const char* kGroupsKind = "heap-groups";
// The word of a thread: a bit for each marked call site, and the number of the group of the allocation that is under way (0: none).
inline constexpr uint32_t kMostBits = 56, kMostGroups = 63;

struct GroupsFile {
  std::vector<Site> sites;
  std::vector<int> bits;  // of each site; -1: an allocation
  std::vector<Selector> groups;
  bool operator==(const GroupsFile&) const = default;
};

// Groups that would need more bits than there are, or are more than can be numbered, are left out, the last ones: *dropped says how many.
GroupsFile make_groups(const Profile& profile, const std::vector<Group>& groups, size_t* dropped);
bool read_groups(const std::string& path, GroupsFile* groups, std::string* error);
bool write_groups(const GroupsFile& groups, const std::string& path, std::string* error);

}  // namespace freehold::grouping
