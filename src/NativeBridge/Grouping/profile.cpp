#include "profile.h"

#include <algorithm>

#include "text_file.h"

namespace freehold::grouping {

namespace {

constexpr uint64_t kMostSites = 1 << 20, kMostContexts = 1 << 22, kMostAffinities = 1 << 26;

uint64_t capped_sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

uint64_t Profile::accesses() const {
  uint64_t sum = 0;
  for (const Context& context : contexts) sum = capped_sum(sum, context.accesses);
  return sum;
}

bool read_profile(const std::string& path, Profile* profile, std::string* error) {
  *profile = {};
  Reader reader(path, kProfileKind);
  auto failed = [&] {
    *error = reader.error();
    return false;
  };
  uint64_t sites = 0, contexts = 0, affinities = 0;
  std::map<std::string_view, uint32_t> names;
  if (reader.failed() || !reader.expect_count("sites", kMostSites, &sites)) return failed();
  for (uint64_t i = 0; i < sites; i++) {
    auto words = reader.next();
    uint64_t shape;
    if (words.size() != 2 || !parse_hexadecimal(words[0], &shape) || words[1].find('>') == std::string_view::npos) {
      reader.fail("should be the shape and the name of a call site");
      return failed();
    }
    if (!names.emplace(words[1], 0).second) {
      reader.fail("the call site '" + std::string(words[1]) + "' is there twice");
      return failed();
    }
    profile->sites.push_back({std::string(words[1]), shape});
  }
  if (!reader.expect_count("contexts", kMostContexts, &contexts)) return failed();
  for (uint64_t i = 0; i < contexts; i++) {
    auto words = reader.next();
    Context context{};
    bool good = words.size() >= 3 && parse_number(words[0], &context.allocations) && parse_number(words[1], &context.bytes) &&
                parse_number(words[2], &context.accesses);
    for (size_t w = 3; good && w < words.size(); w++) {
      uint64_t site;
      good = parse_number(words[w], &site) && site < sites && std::find(context.sites.begin(), context.sites.end(), site) == context.sites.end();
      if (good) context.sites.push_back(static_cast<uint32_t>(site));
    }
    if (!good) {
      reader.fail("should be three numbers of a context, and its call sites, each of them once");
      return failed();
    }
    profile->contexts.push_back(std::move(context));
  }
  if (!reader.expect_count("affinities", kMostAffinities, &affinities)) return failed();
  for (uint64_t i = 0; i < affinities; i++) {
    auto words = reader.next();
    uint64_t from, to, weight;
    if (words.size() != 3 || !parse_number(words[0], &from) || !parse_number(words[1], &to) || !parse_number(words[2], &weight) || from > to ||
        to >= contexts || !profile->affinities.emplace(std::pair(static_cast<uint32_t>(from), static_cast<uint32_t>(to)), weight).second) {
      reader.fail("should be two contexts and the weight of their affinity, each pair once");
      return failed();
    }
  }
  if (!reader.at_end()) {
    reader.next();
    reader.fail("there is something behind the last affinity");
    return failed();
  }
  return true;
}

bool write_profile(const Profile& profile, const std::string& path, std::string* error) {
  Writer writer(kProfileKind);
  writer.add("sites").add(profile.sites.size()).end_line();
  for (const Site& site : profile.sites) writer.hexadecimal(site.shape).add(site.name).end_line();
  writer.add("contexts").add(profile.contexts.size()).end_line();
  for (const Context& context : profile.contexts) {
    writer.add(context.allocations).add(context.bytes).add(context.accesses);
    for (uint32_t site : context.sites) writer.add(uint64_t{site});
    writer.end_line();
  }
  writer.add("affinities").add(profile.affinities.size()).end_line();
  for (const auto& [pair, weight] : profile.affinities) writer.add(uint64_t{pair.first}).add(uint64_t{pair.second}).add(weight).end_line();
  return writer.write(path, error);
}

bool merge_into(Profile* profile, const Profile& more, std::string* error) {
  Profile merged = *profile;
  std::map<std::string, uint32_t> sites;
  for (uint32_t i = 0; i < merged.sites.size(); i++) sites[merged.sites[i].name] = i;
  std::vector<uint32_t> site_here, context_here;
  site_here.reserve(more.sites.size());
  context_here.reserve(more.contexts.size());
  for (const Site& site : more.sites) {
    auto [found, is_new] = sites.emplace(site.name, static_cast<uint32_t>(merged.sites.size()));
    if (is_new) merged.sites.push_back(site);
    // By its name alone: files of one name may have functions of one name, and both are in one profile.
    if (merged.sites[found->second].shape != site.shape) {
      *error = "the function '" + site.function() + "' differs between the profiles: they are of different versions of the program";
      return false;
    }
    site_here.push_back(found->second);
  }
  std::map<std::vector<uint32_t>, uint32_t> contexts;
  for (uint32_t i = 0; i < merged.contexts.size(); i++) contexts[merged.contexts[i].sites] = i;
  for (const Context& context : more.contexts) {
    std::vector<uint32_t> chain;
    chain.reserve(context.sites.size());
    for (uint32_t site : context.sites) chain.push_back(site_here[site]);
    auto [found, is_new] = contexts.emplace(chain, static_cast<uint32_t>(merged.contexts.size()));
    if (is_new) merged.contexts.push_back({0, 0, 0, chain});
    Context& here = merged.contexts[found->second];
    here.allocations = capped_sum(here.allocations, context.allocations);
    here.bytes = capped_sum(here.bytes, context.bytes);
    here.accesses = capped_sum(here.accesses, context.accesses);
    context_here.push_back(found->second);
  }
  for (const auto& [pair, weight] : more.affinities) {
    uint32_t a = context_here[pair.first], b = context_here[pair.second];
    uint64_t& here = merged.affinities[{std::min(a, b), std::max(a, b)}];
    here = capped_sum(here, weight);
  }
  *profile = std::move(merged);
  return true;
}

}  // namespace freehold::grouping
