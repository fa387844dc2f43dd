// freehold-groups: what to make of heap profiles.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <string_view>
#include <vector>

#include "groups_file.h"
#include "pictures.h"
#include "text_file.h"

using namespace freehold::grouping;

namespace {

constexpr const char* kUsage =
    "usage: freehold-groups show PROFILE... [--svg FILE] [OPTIONS]    contexts, affinities and groups as text, and as a graph\n"
    "       freehold-groups merge PROFILE... -o FILE                  the sum of profiles of one program\n"
    "       freehold-groups make PROFILE... -o FILE [OPTIONS]         the groups, for freehold-cc -fheap-groups=FILE\n"
    "options:\n"
    "  --coverage PERCENT         contexts are looked at until they have so many of the accesses, the most used first (90)\n"
    "  --least-affinity PERCENT   of all accesses: lighter affinities count for nothing (0.01)\n"
    "  --merge-tolerance PERCENT  so much of its density a group may lose when a context joins it (5)\n"
    "  --most-members N           contexts in a group (16)\n"
    "  --least-weight PERCENT     of all accesses: a group with less affinity inside is dropped (0.1)\n"
    "  --most-groups N            (32)\n";

[[noreturn]] void fail(const std::string& message) {
  fprintf(stderr, "freehold-groups: error: %s\n", message.c_str());
  exit(1);
}

struct Line {
  std::string command, output, svg;
  std::vector<std::string> profiles;
  Options options;
};

double parse_percent(std::string_view option, const char* text) {
  char* end;
  double value = strtod(text, &end);
  if (*text < '0' || *text > '9' || *end != '\0' || !(value >= 0 && value <= 100)) fail(std::string(option) + " takes a percentage, not '" + text + "'");
  return value / 100;
}

uint64_t parse_count(std::string_view option, const char* text) {
  uint64_t value;
  if (!parse_number(text, &value) || value == 0) fail(std::string(option) + " takes a number above 0, not '" + text + "'");
  return value;
}

Line parse(int count, char** arguments) {
  Line line;
  if (count < 2 || std::string_view(arguments[1]) == "--help") {
    fputs(kUsage, count < 2 ? stderr : stdout);
    exit(count < 2 ? 2 : 0);
  }
  line.command = arguments[1];
  if (line.command != "show" && line.command != "merge" && line.command != "make") fail("there is no '" + line.command + "': show, merge or make");
  for (int i = 2; i < count; i++) {
    std::string_view option(arguments[i]);
    if (!option.starts_with('-')) {
      line.profiles.emplace_back(option);
      continue;
    }
    if (i + 1 == count) fail(std::string(option) + " needs a value (--help lists the options)");
    const char* value = arguments[++i];
    bool groups = line.command != "merge";
    if (option == "-o" && line.command != "show") line.output = value;
    else if (option == "--svg" && line.command == "show") line.svg = value;
    else if (option == "--coverage" && groups) line.options.coverage = parse_percent(option, value);
    else if (option == "--least-affinity" && groups) line.options.least_affinity = parse_percent(option, value);
    else if (option == "--merge-tolerance" && groups) line.options.merge_tolerance = parse_percent(option, value);
    else if (option == "--most-members" && groups) line.options.most_members = parse_count(option, value);
    else if (option == "--least-weight" && groups) line.options.least_weight = parse_percent(option, value);
    else if (option == "--most-groups" && groups) line.options.most_groups = parse_count(option, value);
    else fail("'" + line.command + "' has no option '" + std::string(option) + "' (--help lists them)");
  }
  if (line.profiles.empty()) fail("'" + line.command + "' needs a profile: a file that a program compiled with -fheap-profile has written (FREEHOLD_PROFILE)");
  if (line.command != "show" && line.output.empty()) fail("'" + line.command + "' needs -o FILE");
  return line;
}

void write_text(const std::string& text, const std::string& path) {
  FILE* file = fopen(path.c_str(), "we");
  bool good = file != nullptr && fputs(text.c_str(), file) >= 0;
  if (file != nullptr) good = fclose(file) == 0 && good;
  if (!good) fail(path + ": cannot be written: " + strerror(errno));
}

}  // namespace

int main(int count, char** arguments) {
  Line line = parse(count, arguments);
  Profile profile;
  std::string error;
  for (const std::string& path : line.profiles) {
    Profile one;
    if (!read_profile(path, &one, &error)) fail(error);
    if (!merge_into(&profile, one, &error)) fail(error.insert(0, path + ": "));
  }
  if (line.command == "merge") {
    if (!write_profile(profile, line.output, &error)) fail(error);
    return 0;
  }
  Graph graph = graph_of(profile, line.options);
  std::vector<Group> groups = groups_of(profile, graph, line.options);
  if (line.command == "show") {
    if (!line.svg.empty()) write_text(svg_of(profile, graph, groups), line.svg);
    fputs(text_of(profile, graph, groups, selectors_of(profile, groups)).c_str(), stdout);
    return 0;
  }
  size_t dropped;
  GroupsFile made = make_groups(profile, groups, &dropped);
  if (dropped != 0) {
    fprintf(stderr, "freehold-groups: warning: %zu of %zu groups are left out, the least used: at most %u groups and %u marked call sites are possible\n",
            dropped, groups.size(), kMostGroups, kMostBits);
  }
  if (!write_groups(made, line.output, &error)) fail(error);
  return 0;
}
