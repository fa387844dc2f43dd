// mesh_benchmarks [--list | NAME [THREADS]]: runs one, prints 'name seconds maximal-resident-KB checksum'.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "benchmark.h"

static constexpr Benchmark kBenchmarks[] = {
    {"larson", "a server whose threads leave their objects to others", larson},
    {"xmalloc", "one thread allocates, another one frees", xmalloc},
    {"mstress", "all sizes and lifetimes, some change the thread", mstress},
    {"rptest", "bursts up to 16 KB, a third is freed elsewhere", rptest},
    {"alloc-test", "random sizes and lifetimes, 60,000 slots", alloc_test},
    {"cache-scratch", "passive false sharing", cache_scratch},
    {"cache-thrash", "active false sharing", cache_thrash},
    {"malloc-large", "blocks of 5 to 25 MB", malloc_large},
    {"cfrac", "long numbers, a new one for each result", cfrac_like},
    {"espresso", "sets of small arrays", espresso_like},
};

int main(int count, char** arguments) {
  if (count >= 2 && strcmp(arguments[1], "--list") == 0) {
    for (const Benchmark& benchmark : kBenchmarks) puts(benchmark.name);
    return 0;
  }
  for (const Benchmark& benchmark : kBenchmarks) {
    if (count < 2 || strcmp(benchmark.name, arguments[1]) != 0) continue;
    timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    uint64_t sum = benchmark.run(count > 2 ? static_cast<unsigned>(atoi(arguments[2])) : 2);
    clock_gettime(CLOCK_MONOTONIC, &end);
    // Not ru_maxrss, which begins with that of the program that started this one.
    long peak = 0;
    char line[256];
    FILE* status = fopen("/proc/self/status", "r");
    while (status != nullptr && fgets(line, sizeof line, status) != nullptr) sscanf(line, "VmHWM: %ld", &peak);
    printf("%s %.3f %ld %llu\n", benchmark.name, static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec), peak,
           static_cast<unsigned long long>(sum));
    return 0;
  }
  for (const Benchmark& benchmark : kBenchmarks) printf("%-14s %s\n", benchmark.name, benchmark.what);
  return 2;
}
