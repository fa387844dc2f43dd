#include "selectors.h"

#include <algorithm>

namespace freehold::grouping {

namespace {

bool has(const Context& context, uint32_t site) { return std::find(context.sites.begin(), context.sites.end(), site) != context.sites.end(); }

bool fits(const Conjunction& conjunction, const Context& context) {
  if (context.sites.empty() || context.sites.back() != conjunction.allocation) return false;
  return std::all_of(conjunction.marked.begin(), conjunction.marked.end(), [&](uint32_t site) { return has(context, site); });
}

// Of other contexts, those that do not matter left out: how many allocations the conjunction would take by mistake, and of how many contexts.
std::vector<uint32_t> conflicts_of(const Profile& profile, const Conjunction& conjunction, const std::vector<bool>& ignored) {
  std::vector<uint32_t> conflicts;
  for (uint32_t i = 0; i < profile.contexts.size(); i++) {
    if (!ignored[i] && fits(conjunction, profile.contexts[i])) conflicts.push_back(i);
  }
  return conflicts;
}

Conjunction conjunction_for(const Profile& profile, uint32_t member, const std::vector<bool>& ignored, const std::vector<bool>& marked) {
  const Context& context = profile.contexts[member];
  Conjunction made{context.sites.back(), {}};
  size_t conflicts = conflicts_of(profile, made, ignored).size();
  while (conflicts != 0) {
    // The site that leaves the fewest; of equal ones a marked one, which costs no bit more, and then the innermost.
    uint32_t best = 0;
    size_t fewest = conflicts;
    bool best_is_marked = false;
    for (auto site = context.sites.rbegin() + 1; site != context.sites.rend(); ++site) {
      if (std::find(made.marked.begin(), made.marked.end(), *site) != made.marked.end()) continue;
      made.marked.push_back(*site);
      size_t left = conflicts_of(profile, made, ignored).size();
      made.marked.pop_back();
      if (left < fewest || (left == fewest && left < conflicts && marked[*site] && !best_is_marked)) {
        fewest = left;
        best = *site;
        best_is_marked = marked[*site];
      }
    }
    // Contexts that have all its sites cannot be told from it.
    if (fewest == conflicts) break;
    made.marked.push_back(best);
    conflicts = fewest;
  }
  std::sort(made.marked.begin(), made.marked.end());
  return made;
}

}  // namespace

std::vector<Selector> selectors_of(const Profile& profile, const std::vector<Group>& groups) {
  std::vector<Selector> selectors;
  std::vector<bool> ignored(profile.contexts.size()), marked(profile.sites.size());
  for (const Group& group : groups) {
    for (uint32_t member : group.members) ignored[member] = true;
    Selector selector;
    for (uint32_t member : group.members) {
      const Context& context = profile.contexts[member];
      if (context.sites.empty()) continue;
      // One that an earlier member has may do for this one too.
      if (std::any_of(selector.any_of.begin(), selector.any_of.end(), [&](const Conjunction& one) { return fits(one, context); })) continue;
      Conjunction made = conjunction_for(profile, member, ignored, marked);
      for (uint32_t site : made.marked) marked[site] = true;
      // One that this one covers is needed no longer.
      std::erase_if(selector.any_of, [&](const Conjunction& one) {
        return one.allocation == made.allocation && std::includes(one.marked.begin(), one.marked.end(), made.marked.begin(), made.marked.end());
      });
      selector.any_of.push_back(std::move(made));
    }
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

size_t select(const std::vector<Selector>& selectors, const Context& context) {
  for (size_t i = 0; i < selectors.size(); i++) {
    if (std::any_of(selectors[i].any_of.begin(), selectors[i].any_of.end(), [&](const Conjunction& one) { return fits(one, context); })) return i;
  }
  return selectors.size();
}

}  // namespace freehold::grouping
