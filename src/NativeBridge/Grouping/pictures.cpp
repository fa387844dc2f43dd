#include "pictures.h"

#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <cstddef>

namespace freehold::grouping {

namespace {

template <typename... Arguments>
std::string format(const char* text, Arguments... arguments) {
  char line[512];
  snprintf(line, sizeof line, text, arguments...);
  return line;
}

double percent(uint64_t part, uint64_t all) { return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all); }

std::string chain_of(const Profile& profile, const Context& context) {
  std::string text;
  for (uint32_t site : context.sites) text += (text.empty() ? "" : " / ") + profile.sites[site].name;
  return text.empty() ? "(no call site)" : text;
}

std::string escaped(const std::string& text) {
  std::string made;
  for (char c : text) {
    if (c == '<') made += "&lt;";
    else if (c == '>') made += "&gt;";
    else if (c == '&') made += "&amp;";
    else if (c == '"') made += "&quot;";
    else made += c;
  }
  return made;
}

std::vector<size_t> groups_by_context(const Profile& profile, const std::vector<Group>& groups) {
  std::vector<size_t> of(profile.contexts.size(), groups.size());
  for (size_t i = 0; i < groups.size(); i++) {
    for (uint32_t member : groups[i].members) of[member] = i;
  }
  return of;
}

}  // namespace

std::string text_of(const Profile& profile, const Graph& graph, const std::vector<Group>& groups, const std::vector<Selector>& selectors) {
  uint64_t all = profile.accesses();
  std::string text = format("%zu contexts at %zu call sites, %lu accesses; %zu contexts and %zu affinities are looked at\n", profile.contexts.size(),
                            profile.sites.size(), all, graph.nodes.size(), graph.edges.size());
  text += "\ncontexts (number, share of accesses, allocations, bytes, call sites from the outermost)\n";
  for (uint32_t node : graph.nodes) {
    const Context& context = profile.contexts[node];
    text += format("%5u %6.2f%% %10lu %12lu  ", node, percent(context.accesses, all), context.allocations, context.bytes) + chain_of(profile, context) + "\n";
  }
  text += "\naffinities (two contexts, weight, share of accesses)\n";
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, uint64_t>> edges(graph.edges.begin(), graph.edges.end());
  std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [pair, weight] : edges) text += format("%5u %5u %12lu %6.2f%%\n", pair.first, pair.second, weight, percent(weight, all));
  text += format("\n%zu groups\n", groups.size());
  for (size_t i = 0; i < groups.size(); i++) {
    text += format("group %zu: %6.2f%% of accesses, affinity inside %lu; contexts", i + 1, percent(groups[i].accesses, all), groups[i].weight);
    for (uint32_t member : groups[i].members) text += format(" %u", member);
    text += "\n";
    for (const Conjunction& one : selectors[i].any_of) {
      text += "  at " + profile.sites[one.allocation].name;
      for (uint32_t site : one.marked) text += " while " + profile.sites[site].name;
      text += "\n";
    }
    std::vector<Selector> only = {selectors.begin(), selectors.begin() + static_cast<std::ptrdiff_t>(i) + 1};
    for (uint32_t c = 0; c < profile.contexts.size(); c++) {
      if (std::find(groups[i].members.begin(), groups[i].members.end(), c) != groups[i].members.end()) continue;
      if (!profile.contexts[c].sites.empty() && select(only, profile.contexts[c]) == i) text += format("  context %u cannot be told from it\n", c);
    }
  }
  return text;
}

std::string svg_of(const Profile& profile, const Graph& graph, const std::vector<Group>& groups) {
  constexpr double kPi = 3.14159265358979, kRadius = 300, kMiddle = 400, kLargest = 40;
  std::vector<uint32_t> order = graph.nodes;
  std::vector<size_t> group_of = groups_by_context(profile, groups);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return group_of[a] < group_of[b]; });
  std::map<uint32_t, std::pair<double, double>> places;
  for (size_t i = 0; i < order.size(); i++) {
    double angle = 2 * kPi * static_cast<double>(i) / static_cast<double>(order.size());
    places[order[i]] = {kMiddle + kRadius * sin(angle), kMiddle - kRadius * cos(angle)};
  }
  uint64_t most_weight = 1, most_accesses = 1;
  for (const auto& [pair, weight] : graph.edges) most_weight = std::max(most_weight, weight);
  for (uint32_t node : order) most_accesses = std::max(most_accesses, profile.contexts[node].accesses);

  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"800\" font-family=\"sans-serif\" font-size=\"12\">\n";
  auto radius_of = [&](uint32_t node) {
    return 4 + kLargest * sqrt(static_cast<double>(profile.contexts[node].accesses) / static_cast<double>(most_accesses));
  };
  for (const auto& [pair, weight] : graph.edges) {
    auto [x1, y1] = places[pair.first];
    auto [x2, y2] = places[pair.second];
    double width = 0.5 + 9.5 * static_cast<double>(weight) / static_cast<double>(most_weight);
    if (pair.first == pair.second) {
      text += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"none\" stroke=\"#888\" stroke-width=\"%.1f\"><title>%lu</title></circle>\n", x1, y1,
                     radius_of(pair.first) + width / 2, width, weight);
    } else {
      text += format(
          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\" stroke-opacity=\"0.6\" stroke-width=\"%.1f\"><title>%lu</title></line>\n", x1,
          y1, x2, y2, width, weight);
    }
  }
  for (uint32_t node : order) {
    auto [x, y] = places[node];
    bool is_grouped = group_of[node] < groups.size();
    // Hues that are far apart for neighbours.
    std::string colour = is_grouped ? format("hsl(%u,65%%,60%%)", static_cast<unsigned>(group_of[node] * 137 % 360)) : "#ddd";
    text += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"#333\"><title>", x, y, radius_of(node), colour.c_str());
    text += escaped(chain_of(profile, profile.contexts[node])) + "</title></circle>\n";
    text += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%u</text>\n", x, y + 4, node);
  }
  return text + "</svg>\n";
}

}  // namespace freehold::grouping
