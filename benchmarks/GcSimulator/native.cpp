// The native peer of GcSimulator: the same trees and the same turnover, with malloc and free. Simulation.cs in C++: what the objects
// hold and in which order they come and go is the same, and so is the checksum.
#include <bit>
#include <memory>
#include <utility>

#include "../Shared/native.h"

using namespace freehold::bench;

namespace {

template <size_t kWords>
class Simulation {
 public:
  StallClock clock;
  double build_seconds = 0, seconds = 0;
  int64_t objects = 0;
  uint64_t checksum = 0;

  Simulation(int levels, int replaced_levels, int short_lived_percent, double turnover, uint64_t seed)
      : levels_(levels), replaced_levels_(replaced_levels), short_lived_percent_(short_lived_percent), turnover_(turnover), random_(seed) {}

  void build() {
    const auto start = Clock::now();
    root_ = build_tree(levels_);
    build_seconds = seconds_since(start);
  }

  void run() {
    const int per_replacement = (1 << replaced_levels_) - 1;
    const auto replacements = static_cast<int64_t>(static_cast<double>((int64_t{1} << levels_) - 1) * turnover_) / per_replacement;
    const int64_t before = stamp_;
    const auto start = Clock::now();
    clock.start();
    for (int64_t i = 0; i < replacements; i++) {
      replace();
      clock.lap();
    }
    seconds = seconds_since(start);
    objects = stamp_ - before;
  }

  void finish() {
    visit(root_);
    for (Node* node : ring_) {
      if (node != nullptr) visit(node);
    }
  }

 private:
  struct Node {
    Node* left;
    Node* right;
    int64_t payload[kWords];
  };

  Node* create() {
    // Zeroed as a managed object is, and checked as one that may not be had.
    auto* node = static_cast<Node*>(std::calloc(1, sizeof(Node)));
    if (node == nullptr) {
      std::fputs("GcSimulator: out of memory\n", stderr);
      std::exit(1);
    }
    node->payload[0] = stamp_;
    node->payload[kWords - 1] = ~stamp_;
    stamp_++;
    return node;
  }

  Node* build_tree(int height) {
    Node* node = create();
    if (height > 1) {
      node->left = build_tree(height - 1);
      node->right = build_tree(height - 1);
    }
    return node;
  }

  Node* build_subtree(int height) {
    Node* node = create();
    owed_ += short_lived_percent_;
    while (owed_ >= 100 - short_lived_percent_) {
      owed_ -= 100 - short_lived_percent_;
      short_lived();
    }
    if (height > 1) {
      node->left = build_subtree(height - 1);
      node->right = build_subtree(height - 1);
    }
    return node;
  }

  void short_lived() {
    Node*& slot = ring_[next_];
    next_ = (next_ + 1) % std::size(ring_);
    if (slot != nullptr) end(std::exchange(slot, nullptr));
    slot = create();
  }

  void replace() {
    uint64_t path = random_.next();
    Node* parent = root_;
    for (int height = levels_ - 1; height > replaced_levels_; height--) {
      parent = (path & 1) == 0 ? parent->left : parent->right;
      path >>= 1;
    }
    Node*& place = (path & 1) == 0 ? parent->left : parent->right;
    end(std::exchange(place, nullptr));
    place = build_subtree(replaced_levels_);
  }

  void end(Node* node) {
    if (node->left != nullptr) end(node->left);
    if (node->right != nullptr) end(node->right);
    note(node);
    std::free(node);
  }

  void visit(Node* node) {
    note(node);
    if (node->left != nullptr) {
      visit(node->left);
      visit(node->right);
    }
  }

  void note(const Node* node) {
    if (node->payload[kWords - 1] != ~node->payload[0]) {
      std::fputs("GcSimulator: an object does not hold what was written\n", stderr);
      std::exit(1);
    }
    checksum = checksum * 31 + static_cast<uint64_t>(node->payload[0]);
  }

  int levels_, replaced_levels_, short_lived_percent_;
  double turnover_;
  Random64 random_;
  Node* root_ = nullptr;
  Node* ring_[1024] = {};
  size_t next_ = 0;
  int owed_ = 0;
  int64_t stamp_ = 0;
};

template <class Simulations, class Work>
void on_threads(Simulations& simulations, Work work) {
  std::vector<std::thread> threads;
  for (auto& simulation : simulations) threads.emplace_back([&simulation, work] { work(*simulation); });
  for (auto& thread : threads) thread.join();
}

template <size_t kWords>
void simulate(int levels, int replaced_levels, int short_lived_percent, double turnover, unsigned threads) {
  std::vector<std::unique_ptr<Simulation<kWords>>> simulations;
  for (unsigned i = 0; i < threads; i++) {
    simulations.push_back(
        std::make_unique<Simulation<kWords>>(levels - (std::bit_width(threads) - 1), replaced_levels, short_lived_percent, turnover, 2026 + i));
  }

  on_threads(simulations, [](auto& simulation) { simulation.build(); });
  report("built_resident_bytes", resident_bytes());
  ResidentSampler sampler;
  on_threads(simulations, [](auto& simulation) { simulation.run(); });
  report("steady_resident_bytes", sampler.stop());
  on_threads(simulations, [](auto& simulation) { simulation.finish(); });
  double ns = 0, longest = 0, longest_with_processor = 0;
  int stalls = 0;
  uint64_t checksum = 0;
  for (const auto& simulation : simulations) {
    ns = std::max(ns, simulation->seconds * 1e9 / static_cast<double>(simulation->objects));
    longest = std::max(longest, simulation->clock.longest);
    longest_with_processor = std::max(longest_with_processor, simulation->clock.longest_with_processor);
    stalls += simulation->clock.stalls;
    checksum ^= simulation->checksum;
  }
  report("ns_per_object", ns);
  report("longest_stall_ms", longest / 1e6);
  report("longest_stall_with_processor_ms", longest_with_processor / 1e6);
  report("stalls", stalls);
  report("checksum", static_cast<double>(checksum % 1'000'000'007));
  report_process();
}

}  // namespace

int main(int argc, char** argv) {
  const int levels = static_cast<int>(option(argc, argv, "--levels", 23));
  const int replaced_levels = static_cast<int>(option(argc, argv, "--replaced-levels", 4));
  const int short_lived = static_cast<int>(option(argc, argv, "--short-lived", 50));
  const double turnover = static_cast<double>(option(argc, argv, "--turnover", 200)) / 100;
  const auto threads = static_cast<unsigned>(option(argc, argv, "--threads", 1));
  switch (const long payload = option(argc, argv, "--payload", 64)) {
    case 16: simulate<2>(levels, replaced_levels, short_lived, turnover, threads); break;
    case 64: simulate<8>(levels, replaced_levels, short_lived, turnover, threads); break;
    case 256: simulate<32>(levels, replaced_levels, short_lived, turnover, threads); break;
    default: std::fprintf(stderr, "GcSimulator: --payload is 16, 64 or 256, not %ld.\n", payload); return 2;
  }
  return 0;
}
