#include "grouping.h"

#include <algorithm>
#include <numeric>

namespace freehold::grouping {

uint64_t Graph::weight_of(uint32_t a, uint32_t b) const {
  auto found = edges.find({std::min(a, b), std::max(a, b)});
  return found == edges.end() ? 0 : found->second;
}

Graph graph_of(const Profile& profile, const Options& options) {
  Graph graph;
  std::vector<uint32_t> sorted(profile.contexts.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  // Equal ones in the order of the file: the same profile gives the same groups.
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return profile.contexts[a].accesses > profile.contexts[b].accesses; });
  double all = static_cast<double>(profile.accesses()), seen = 0;
  std::vector<bool> is_in(profile.contexts.size());
  for (uint32_t context : sorted) {
    if (profile.contexts[context].accesses == 0 || seen >= all * options.coverage) break;
    seen += static_cast<double>(profile.contexts[context].accesses);
    graph.nodes.push_back(context);
    is_in[context] = true;
  }
  for (const auto& [pair, weight] : profile.affinities) {
    if (is_in[pair.first] && is_in[pair.second] && static_cast<double>(weight) >= all * options.least_affinity) graph.edges[pair] = weight;
  }
  return graph;
}

double score(const Graph& graph, const std::vector<uint32_t>& members) {
  double weight = 0, loops = 0, count = static_cast<double>(members.size());
  for (size_t i = 0; i < members.size(); i++) {
    for (size_t j = i; j < members.size(); j++) weight += static_cast<double>(graph.weight_of(members[i], members[j]));
    if (graph.weight_of(members[i], members[i]) != 0) loops++;
  }
  double pairs = loops + count * (count - 1) / 2;
  return pairs == 0 ? 0 : weight / pairs;
}

double merge_benefit(const Graph& graph, const std::vector<uint32_t>& group, const std::vector<uint32_t>& more, double tolerance) {
  std::vector<uint32_t> both = group;
  both.insert(both.end(), more.begin(), more.end());
  return score(graph, both) - (1 - tolerance) * std::max(score(graph, group), score(graph, more));
}

std::vector<Group> groups_of(const Profile& profile, const Graph& graph, const Options& options) {
  std::vector<Group> groups;
  std::vector<uint32_t> available = graph.nodes;
  double all = static_cast<double>(profile.accesses());
  while (!available.empty()) {
    // Around the context that is used most and has any affinity left.
    auto has_affinity = [&](uint32_t context) {
      return std::any_of(available.begin(), available.end(), [&](uint32_t other) { return graph.weight_of(context, other) != 0; });
    };
    auto hottest = std::find_if(available.begin(), available.end(), has_affinity);
    if (hottest == available.end()) break;
    Group group{{*hottest}, 0, 0};
    available.erase(hottest);
    while (group.members.size() < options.most_members) {
      auto best = available.end();
      double most = 0;
      for (auto stranger = available.begin(); stranger != available.end(); ++stranger) {
        double benefit = merge_benefit(graph, group.members, {*stranger}, options.merge_tolerance);
        if (benefit > most) {
          most = benefit;
          best = stranger;
        }
      }
      if (best == available.end()) break;
      group.members.push_back(*best);
      available.erase(best);
    }
    for (size_t i = 0; i < group.members.size(); i++) {
      group.accesses += profile.contexts[group.members[i]].accesses;
      for (size_t j = i; j < group.members.size(); j++) group.weight += graph.weight_of(group.members[i], group.members[j]);
    }
    if (group.weight != 0 && static_cast<double>(group.weight) >= all * options.least_weight) groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.accesses > b.accesses; });
  if (groups.size() > options.most_groups) groups.resize(options.most_groups);
  return groups;
}

}  // namespace freehold::grouping
