// The native peer of RedBlackTree: the same keys and operations on the C++ library's red-black tree, whose nodes malloc and free
// manage. What a program that manages memory by hand, unsafely, takes for it.
#include <map>

#include "../Shared/native.h"

using namespace freehold::bench;

int main(int argc, char** argv) {
  const auto nodes = static_cast<size_t>(option(argc, argv, "--nodes", 10'000'000));
  const long operations = option(argc, argv, "--operations", 10'000'000);
  std::map<uint64_t, uint64_t> tree;
  Random64 random(2026);
  uint64_t checksum = 0;
  StallClock clock;
  auto start = Clock::now();
  clock.start();
  while (tree.size() < nodes) {
    const uint64_t key = random.next();
    tree.emplace(key, ~key);
    clock.lap();
  }

  const double build_seconds = seconds_since(start);
  report("built_resident_bytes", resident_bytes());
  ResidentSampler sampler;
  start = Clock::now();
  clock.start();
  for (long i = 0; i < operations; i++) {
    const uint64_t key = random.next();
    if (i % 3 == 2) {
      tree.emplace(key, ~key);
    } else {
      const auto found = tree.lower_bound(key);
      const bool removes = i % 3 == 0;
      checksum = checksum * 31 + (found == tree.end() ? 0 : removes ? found->first : found->second);
      if (removes && found != tree.end()) tree.erase(found);
    }
    clock.lap();
  }

  const double seconds = seconds_since(start);
  report("steady_resident_bytes", sampler.stop());
  report("build_seconds", build_seconds);
  report("ns_per_operation", seconds * 1e9 / static_cast<double>(operations));
  report("ns_per_insertion_or_operation", (build_seconds + seconds) * 1e9 / (static_cast<double>(nodes) + static_cast<double>(operations)));
  report("longest_stall_ms", clock.longest / 1e6);
  report("longest_stall_with_processor_ms", clock.longest_with_processor / 1e6);
  report("stalls", clock.stalls);
  uint64_t hash = 0;
  for (const auto& [key, value] : tree) hash = hash * 31 + key + value;
  report("checksum", static_cast<double>((checksum * 31 + hash) % 1'000'000'007));
  report_process();
  return 0;
}
