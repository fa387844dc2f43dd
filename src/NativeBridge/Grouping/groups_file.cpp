#include "groups_file.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "text_file.h"

namespace freehold::grouping {

namespace {

std::set<uint32_t> marked_in(const std::vector<Selector>& selectors) {
  std::set<uint32_t> marked;
  for (const Selector& selector : selectors) {
    for (const Conjunction& one : selector.any_of) marked.insert(one.marked.begin(), one.marked.end());
  }
  return marked;
}

}  // namespace

GroupsFile make_groups(const Profile& profile, const std::vector<Group>& groups, size_t* dropped) {
  std::vector<Group> kept(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(groups.size(), kMostGroups)));
  std::vector<Selector> selectors = selectors_of(profile, kept);
  while (marked_in(selectors).size() > kMostBits) {
    kept.pop_back();
    selectors = selectors_of(profile, kept);
  }
  *dropped = groups.size() - kept.size();

  GroupsFile made;
  std::vector<int> number(profile.sites.size(), -1);
  auto number_of = [&](uint32_t site) {
    if (number[site] < 0) {
      number[site] = static_cast<int>(made.sites.size());
      made.sites.push_back(profile.sites[site]);
      made.bits.push_back(-1);
    }
    return static_cast<uint32_t>(number[site]);
  };
  int bit = 0;
  for (uint32_t site : marked_in(selectors)) {
    uint32_t here = number_of(site);
    made.bits[here] = bit++;
  }
  for (Selector& selector : selectors) {
    for (Conjunction& one : selector.any_of) {
      one.allocation = number_of(one.allocation);
      for (uint32_t& site : one.marked) site = number_of(site);
    }
  }
  made.groups = std::move(selectors);
  return made;
}

bool read_groups(const std::string& path, GroupsFile* groups, std::string* error) {
  *groups = {};
  Reader reader(path, kGroupsKind);
  auto failed = [&] {
    *error = reader.error();
    return false;
  };
  uint64_t sites = 0, count = 0;
  if (reader.failed() || !reader.expect_count("sites", 1 << 20, &sites)) return failed();
  std::set<int> bits;
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < sites; i++) {
    auto words = reader.next();
    uint64_t shape, bit = 0;
    bool good = words.size() == 3 && parse_hexadecimal(words[0], &shape) && words[2].find('>') != std::string_view::npos;
    bool is_marked = good && words[1] != "-";
    if (is_marked) good = parse_number(words[1], &bit) && bit < kMostBits && bits.insert(static_cast<int>(bit)).second;
    if (!good || !names.insert(words[2]).second) {
      reader.fail("should be the shape of a call site, its bit, and its name, each of them once");
      return failed();
    }
    groups->sites.push_back({std::string(words[2]), shape});
    groups->bits.push_back(is_marked ? static_cast<int>(bit) : -1);
  }
  if (!reader.expect_count("groups", kMostGroups, &count)) return failed();
  for (uint64_t i = 0; i < count; i++) {
    uint64_t conjunctions;
    if (!reader.expect_count("group", 1 << 20, &conjunctions)) return failed();
    Selector selector;
    for (uint64_t c = 0; c < conjunctions; c++) {
      auto words = reader.next();
      Conjunction one{};
      bool good = !words.empty();
      for (size_t w = 0; good && w < words.size(); w++) {
        uint64_t site;
        good = parse_number(words[w], &site) && site < sites && (w == 0 || groups->bits[site] >= 0);
        if (!good) break;
        if (w == 0) {
          one.allocation = static_cast<uint32_t>(site);
        } else {
          one.marked.push_back(static_cast<uint32_t>(site));
        }
      }
      if (!good) {
        reader.fail("should be the numbers of call sites: an allocation's, and such that have a bit");
        return failed();
      }
      selector.any_of.push_back(std::move(one));
    }
    groups->groups.push_back(std::move(selector));
  }
  if (!reader.at_end()) {
    reader.next();
    reader.fail("there is something behind the last group");
    return failed();
  }
  return true;
}

bool write_groups(const GroupsFile& groups, const std::string& path, std::string* error) {
  Writer writer(kGroupsKind);
  writer.add("sites").add(groups.sites.size()).end_line();
  for (size_t i = 0; i < groups.sites.size(); i++) {
    writer.hexadecimal(groups.sites[i].shape);
    if (groups.bits[i] < 0) {
      writer.add("-");
    } else {
      writer.add(static_cast<uint64_t>(groups.bits[i]));
    }
    writer.add(groups.sites[i].name).end_line();
  }
  writer.add("groups").add(groups.groups.size()).end_line();
  for (const Selector& selector : groups.groups) {
    writer.add("group").add(selector.any_of.size()).end_line();
    for (const Conjunction& one : selector.any_of) {
      writer.add(uint64_t{one.allocation});
      for (uint32_t site : one.marked) writer.add(uint64_t{site});
      writer.end_line();
    }
  }
  return writer.write(path, error);
}

}  // namespace freehold::grouping
