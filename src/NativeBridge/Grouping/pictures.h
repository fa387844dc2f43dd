// A profile and its groups for people.
#pragma once

#include <string>

#include "grouping.h"
#include "selectors.h"

namespace freehold::grouping {

std::string text_of(const Profile& profile, const Graph& graph, const std::vector<Group>& groups, const std::vector<Selector>& selectors);
// The graph as SVG: contexts on a circle, those of a group side by side in one colour; areas by accesses, lines by affinities.
std::string svg_of(const Profile& profile, const Graph& graph, const std::vector<Group>& groups);

}  // namespace freehold::grouping
