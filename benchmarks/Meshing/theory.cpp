// mesh_theory: how many spans SplitMesher gives back, beside what the theory promises. A line for each number of slots and of live ones among them, which lie at random places:
//   slots live probability bound pairs heap
// probability: of two such spans to mesh. bound: spans that the theory promises to give back, as a share of all. pairs: what SplitMesher::split finds in sets of bits. heap: what a heap gives back
// of real spans, whose passes go on until one finds nothing, and where more than two spans may share their pages.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "heap.h"
#include "knobs.h"

using namespace freehold::mesh;

namespace {

constexpr uint32_t kSpans = 4096, kSets = 8;

// Two sets of `live` of `slots`, at random: the probability that they do not overlap.
double probability_of(uint32_t slots, uint32_t live) {
  double probability = 1;
  for (uint32_t i = 0; i < live; i++) probability *= static_cast<double>(slots - live - i) / (slots - i);
  return std::max(probability, 0.0);
}

// `live` different numbers below `slots`, the first of the result.
void choose(std::vector<uint32_t>& numbers, uint32_t slots, uint32_t live, Random& random) {
  numbers.resize(slots);
  for (uint32_t i = 0; i < slots; i++) numbers[i] = i;
  for (uint32_t i = 0; i < live; i++) std::swap(numbers[i], numbers[i + random.below(slots - i)]);
}

double share_of_pairs(uint32_t slots, uint32_t live, Random& random) {
  uint64_t pairs = 0;
  std::vector<SplitMesher::Candidate> spans(kSpans);
  std::vector<uint32_t> numbers;
  for (uint32_t set = 0; set < kSets; set++) {
    for (uint32_t i = 0; i < kSpans; i++) {
      spans[i] = {i + 1, i, {}};
      choose(numbers, slots, live, random);
      for (uint32_t k = 0; k < live; k++) spans[i].live.words[numbers[k] / 64] |= uint64_t{1} << numbers[k] % 64;
    }
    SplitMesher::split(spans.data(), kSpans, random.below(kSpans / 2),
                       [&](const SplitMesher::Candidate&, const SplitMesher::Candidate&) { return ++pairs != 0; });
  }
  return static_cast<double>(pairs) / (double{kSpans} * kSets);
}

// False: there is no heap here that meshes.
bool share_of_heap(uint32_t size_class, uint32_t live, Random& random, double* share) {
  const SizeClass& c = kSizeClasses[size_class];
  knobs = {};
  knobs.seed = random.next() | 1;
  knobs.address_space = size_t{6} << 30;
  knobs.period = 1'000'000;  // no passes but those that are asked for
  if (!open_heap()) return false;
  std::vector<std::vector<void*>> spans;
  std::vector<uint32_t> numbers;
  uint32_t whole = 0;
  for (uint32_t i = 0; i < kSpans * c.slots; i++) {
    void* object = allocate(c.size);
    if (object == nullptr) return false;
    memset(object, static_cast<int>(i), c.size);
    MiniHeapId id = heap.arena.word(object).index();
    if (id >= spans.size()) spans.resize(id + 1);
    spans[id].push_back(object);
  }
  for (const auto& objects : spans) {
    if (objects.size() != c.slots) continue;  // the last span, of which some slots were never taken
    whole++;
    choose(numbers, c.slots, live, random);
    for (uint32_t k = live; k < c.slots; k++) deallocate(objects[numbers[k]]);
  }
  uint64_t before = heap.mesher.figures().meshes;
  compact();
  bool good = heap.mesher.figures().passes != 0 && verify() == nullptr;
  *share = static_cast<double>(heap.mesher.figures().meshes - before) / whole;
  close_heap();
  return good;
}

}  // namespace

int main() {
  Random random(1);
  printf("slots live probability bound pairs heap\n");
  for (uint32_t size : {512, 128, 64, 16}) {
    uint32_t size_class = class_of(size), slots = kSizeClasses[size_class].slots;
    for (uint32_t live = 1, step = 1; 2 * live <= slots; live += step) {
      step = std::max(1u, live / 6);
      // The paper's theorem, with t probes: k = t * probability, and a matching of n / 4 * (1 - e^(-2k)) of n spans.
      double probability = probability_of(slots, live), bound = 0.25 * (1 - std::exp(-2 * probability * SplitMesher::kProbes)), share;
      if (!share_of_heap(size_class, live, random, &share)) {
        fprintf(stderr, "mesh_theory: no memory, no file for spans, or no write barrier: nothing can be meshed here\n");
        return 1;
      }
      printf("%u %u %.6g %.6f %.6f %.6f\n", slots, live, probability, bound, share_of_pairs(slots, live, random), share);
    }
  }
  return 0;
}
