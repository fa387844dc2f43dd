// From the affinities of contexts to groups of contexts whose objects shall lie together (Savage and Jones, HALO, CGO 2020): greedy, around the contexts that are used most.
#pragma once

#include <cstdint>
#include <vector>

#include "profile.h"

namespace freehold::grouping {

struct Options {
  double coverage = 0.90;          // of all accesses: the contexts that are used most, until they have so many, are looked at
  double least_affinity = 0.0001;  // of all accesses: lighter affinities count for nothing
  double merge_tolerance = 0.05;   // a group may lose so much of its density when a context joins it
  uint64_t most_members = 16;      // contexts in a group
  double least_weight = 0.001;     // of all accesses: a group with less affinity inside is dropped
  uint64_t most_groups = 32;
  bool operator==(const Options&) const = default;
};

struct Group {
  std::vector<uint32_t> members;  // numbers of contexts, in the order in which they came
  uint64_t weight;                // affinities between them
  uint64_t accesses;
  bool operator==(const Group&) const = default;
};

// Affinities of those contexts that are looked at. Pairs as in a profile.
struct Graph {
  std::vector<uint32_t> nodes;  // by accesses, the most first
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges;
  uint64_t weight_of(uint32_t a, uint32_t b) const;
};
Graph graph_of(const Profile& profile, const Options& options);

// How dense: the sum of affinities by the number of pairs, a context with itself counted where it has an affinity with itself.
double score(const Graph& graph, const std::vector<uint32_t>& members);
// What the two have as one group beyond the better of the two, the tolerance taken off.
double merge_benefit(const Graph& graph, const std::vector<uint32_t>& group, const std::vector<uint32_t>& more, double tolerance);

// The groups, the most used first.
std::vector<Group> groups_of(const Profile& profile, const Graph& graph, const Options& options);

}  // namespace freehold::grouping
