#include "selectors.h"

#include <algorithm>

namespace freehold::grouping {

namespace {

bool has(const Context& context, uint32_t site) { return std::find(context.sites.begin(), context.sites.end(), site) != context.sites.end(); }

bool fits(const Conjunction& conjunction, const Context& context) {
  if (context.sites.empty() || context.sites.back() != conjunction.allocation) return false;
  return std::all_of(conjunction.marked.begin(), conjunction.marked.end(), [&](uint32_t site) { return has(context, site); });
}

size_t count_fitting(const Profile& profile, const Conjunction& conjunction, const std::vector<uint32_t>& contexts) {
  return static_cast<size_t>(std::count_if(contexts.begin(), contexts.end(), [&](uint32_t context) { return fits(conjunction, profile.contexts[context]); }));
}

// `others`: contexts that it must not fit. `members`: of the group, that no conjunction fits yet.
Conjunction conjunction_for(const Profile& profile, uint32_t member, const std::vector<uint32_t>& others, const std::vector<uint32_t>& members,
                            const std::vector<bool>& marked) {
  const Context& context = profile.contexts[member];
  Conjunction made{context.sites.back(), {}};
  size_t conflicts = count_fitting(profile, made, others);
  while (conflicts != 0) {
    // The site that leaves the fewest. Of equal ones the one that does for most members, then a marked one, which costs no bit more, and then the innermost.
    struct Choice {
      size_t conflicts, members;
      bool is_marked;
      uint32_t site;
    } best{conflicts, 0, false, 0};
    for (auto site = context.sites.rbegin() + 1; site != context.sites.rend(); ++site) {
      if (std::find(made.marked.begin(), made.marked.end(), *site) != made.marked.end()) continue;
      made.marked.push_back(*site);
      Choice choice{count_fitting(profile, made, others), count_fitting(profile, made, members), marked[*site], *site};
      made.marked.pop_back();
      if (choice.conflicts >= conflicts || choice.conflicts > best.conflicts) continue;
      if (choice.conflicts < best.conflicts || choice.members > best.members || (choice.members == best.members && choice.is_marked && !best.is_marked))
        best = choice;
    }
    // Contexts that have all its sites cannot be told from it.
    if (best.conflicts == conflicts) break;
    made.marked.push_back(best.site);
    conflicts = best.conflicts;
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
    std::vector<uint32_t> others, left = group.members;
    for (uint32_t i = 0; i < profile.contexts.size(); i++) {
      if (!ignored[i]) others.push_back(i);
    }
    for (uint32_t member : group.members) {
      const Context& context = profile.contexts[member];
      if (context.sites.empty()) continue;
      // One that an earlier member has may do for this one too.
      if (std::any_of(selector.any_of.begin(), selector.any_of.end(), [&](const Conjunction& one) { return fits(one, context); })) continue;
      Conjunction made = conjunction_for(profile, member, others, left, marked);
      for (uint32_t site : made.marked) marked[site] = true;
      // One that this one covers is needed no longer.
      std::erase_if(selector.any_of, [&](const Conjunction& one) {
        return one.allocation == made.allocation && std::includes(one.marked.begin(), one.marked.end(), made.marked.begin(), made.marked.end());
      });
      std::erase_if(left, [&](uint32_t one) { return fits(made, profile.contexts[one]); });
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
