// What a profiled run says: in which contexts it has allocated, how often the objects of each were used, and which were used together. A context is the chain of call
// sites from the outermost to the call of the allocation function, each at most once.
//
//   freehold heap-profile 1
//   sites N         then a line for each: SHAPE NAME. The shape is a hash of the function that the site is in
//   contexts N      then: ALLOCATIONS BYTES ACCESSES and the numbers of its sites, from the outermost
//   affinities N    then: CONTEXT CONTEXT WEIGHT, the smaller number first; the same one twice: objects of one context that are used together
//   end CHECKSUM
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace freehold::grouping {

inline constexpr const char* kProfileKind = "heap-profile";

struct Site {
  std::string name;  // FUNCTION>CALLEE#N
  uint64_t shape;
  auto operator<=>(const Site&) const = default;
  std::string function() const { return name.substr(0, name.rfind('>')); }
};

struct Context {
  uint64_t allocations, bytes, accesses;
  std::vector<uint32_t> sites;
  bool operator==(const Context&) const = default;
};

struct Profile {
  std::vector<Site> sites;
  std::vector<Context> contexts;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> affinities;
  bool operator==(const Profile&) const = default;
  uint64_t accesses() const;
};

// False: `error` says what is wrong with which file, or which two do not fit together.
bool read_profile(const std::string& path, Profile* profile, std::string* error);
bool write_profile(const Profile& profile, const std::string& path, std::string* error);
// Adds the counts of `more`, matched by the names of sites. A function that is another one in it (its shape) is an error.
bool merge_into(Profile* profile, const Profile& more, std::string* error);

}  // namespace freehold::grouping
