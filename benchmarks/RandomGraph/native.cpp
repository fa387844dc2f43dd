// The native peer of RandomGraph: the same graph and the same replacements, with malloc and free. Graph.cs in C++: the edges are the same, and so is the checksum.
#include <utility>

#include "../Shared/native.h"

using namespace freehold::bench;

namespace {

constexpr int kOutDegree = 4;

struct Vertex {
  Vertex** incoming;
  uint32_t in_degree;
  Vertex* outgoing[kOutDegree];
  int64_t payload[4];
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "RandomGraph: %s\n", what);
  std::exit(1);
}

void* allocate(size_t count, size_t size) {
  // Zeroed as a managed object is, and checked as one that may not be had.
  void* memory = std::calloc(std::max<size_t>(count, 1), size);
  if (memory == nullptr) fail("out of memory");
  return memory;
}

class Graph {
 public:
  uint64_t checksum = 0;

  Graph(int vertices, uint64_t seed) : vertices_(vertices) {
    std::vector<uint32_t> missing(static_cast<size_t>(vertices));
    Random64 random(seed);
    for (int i = 0; i < vertices; i++) {
      for (int j = 0; j < kOutDegree; j++) missing[target(random, i)]++;
    }
    for (size_t i = 0; i < vertices_.size(); i++) vertices_[i] = create(missing[i]);
    random = Random64(seed);
    for (int i = 0; i < vertices; i++) {
      Vertex* source = vertices_[static_cast<size_t>(i)];
      for (auto& outgoing : source->outgoing) {
        const size_t number = target(random, i);
        outgoing = vertices_[number];
        outgoing->incoming[--missing[number]] = source;
      }
    }
  }

  void replace(size_t number) {
    Vertex* old = vertices_[number];
    note(old);
    Vertex* made = create(old->in_degree);
    for (int i = 0; i < kOutDegree; i++) {
      Vertex* target = made->outgoing[i] = old->outgoing[i];
      checksum += static_cast<uint64_t>(target->payload[0]);
      patch(target->incoming, target->in_degree, old, made);
    }
    for (uint32_t i = 0; i < old->in_degree; i++) {
      Vertex* source = made->incoming[i] = old->incoming[i];
      checksum += static_cast<uint64_t>(source->payload[0]);
      patch(source->outgoing, kOutDegree, old, made);
    }
    vertices_[number] = made;
    std::free(old->incoming);
    std::free(old);
  }

  void check() {
    for (const Vertex* vertex : vertices_) {
      note(vertex);
      for (const Vertex* outgoing : vertex->outgoing) {
        checksum = checksum * 31 + static_cast<uint64_t>(outgoing->payload[0]);
        if (std::find(outgoing->incoming, outgoing->incoming + outgoing->in_degree, vertex) == outgoing->incoming + outgoing->in_degree) {
          fail("an edge has only one end");
        }
      }
    }
  }

 private:
  Vertex* create(uint32_t in_degree) {
    auto* vertex = static_cast<Vertex*>(allocate(1, sizeof(Vertex)));
    vertex->incoming = static_cast<Vertex**>(allocate(in_degree, sizeof(Vertex*)));
    vertex->in_degree = in_degree;
    vertex->payload[0] = stamp_;
    vertex->payload[3] = ~stamp_;
    stamp_++;
    return vertex;
  }

  void note(const Vertex* vertex) {
    if (vertex->payload[3] != ~vertex->payload[0]) fail("a vertex does not hold what was written");
    checksum = checksum * 31 + static_cast<uint64_t>(vertex->payload[0]);
  }

  static void patch(Vertex** edges, uint32_t count, const Vertex* old, Vertex* made) {
    Vertex** found = std::find(edges, edges + count, old);
    if (found == edges + count) fail("a neighbour of a vertex does not know it");
    *found = made;
  }

  size_t target(Random64& random, int source) const {
    const int number = random.next(static_cast<int>(vertices_.size()) - 1);
    return static_cast<size_t>(number >= source ? number + 1 : number);
  }

  std::vector<Vertex*> vertices_;
  int64_t stamp_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int vertices = static_cast<int>(option(argc, argv, "--vertices", 8'000'000));
  const long replacements = option(argc, argv, "--replacements", 10'000'000);
  ResidentSampler sampler;
  auto start = Clock::now();
  Graph graph(vertices, 2026);
  report("build_seconds", seconds_since(start));
  report("built_resident_bytes", resident_bytes());
  Random64 random(88172645463325252);
  StallClock clock;
  start = Clock::now();
  clock.start();
  for (long i = 0; i < replacements; i++) {
    graph.replace(static_cast<size_t>(random.next(vertices)));
    clock.lap();
  }
  const double seconds = seconds_since(start);
  report("steady_resident_bytes", sampler.stop());
  report("ns_per_operation", seconds * 1e9 / static_cast<double>(replacements));
  report("longest_stall_ms", clock.longest / 1e6);
  report("longest_stall_with_processor_ms", clock.longest_with_processor / 1e6);
  report("stalls", clock.stalls);
  graph.check();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(graph.checksum % 1'000'000'007));
  report_process();
  return 0;
}
