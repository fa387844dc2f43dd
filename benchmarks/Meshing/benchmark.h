// The benchmarks of allocators that the literature uses, written anew: each exercises malloc and free in one way. Each returns a checksum, which depends on
// nothing but its arguments and the number of threads, so that allocators are compared at the same work.
#pragma once

#include <cstdint>

struct Benchmark {
  const char* name;
  const char* what;
  uint64_t (*run)(unsigned threads);
};

// xorshift*: the programs' own, so that every allocator sees the same sizes.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2654435769u + 88172645463325252u) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717u;
  }
  uint64_t below(uint64_t bound) { return (next() >> 33) % bound; }

 private:
  uint64_t state_;
};

uint64_t larson(unsigned threads);
uint64_t xmalloc(unsigned threads);
uint64_t mstress(unsigned threads);
uint64_t rptest(unsigned threads);
uint64_t alloc_test(unsigned threads);
uint64_t cache_scratch(unsigned threads);
uint64_t cache_thrash(unsigned threads);
uint64_t malloc_large(unsigned threads);
uint64_t cfrac_like(unsigned threads);
uint64_t espresso_like(unsigned threads);
