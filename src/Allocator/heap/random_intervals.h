// Random distances from one sample to the next. No state of their own; any thread.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace freehold::heap {

// Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
inline uint64_t random_number(std::atomic<uint64_t>& random) noexcept {
  uint64_t z = random.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Exponentially distributed: what came before says nothing of what is met next. `mean`: less than 2^41. The logarithm to base 2 is interpolated between powers of two.
inline uint64_t random_interval(std::atomic<uint64_t>& random, uint64_t mean) noexcept {
  uint64_t number = random_number(random) | 1;
  auto zeros = static_cast<unsigned>(std::countl_zero(number));
  constexpr unsigned kFraction = 16;
  uint64_t fraction = (number << zeros << 1) >> (64 - kFraction);
  uint64_t logarithm = (uint64_t{zeros + 1} << kFraction) - fraction;  // of 1 / number, as a part of 1
  return (mean * logarithm >> kFraction) * 2 / 3;                      // interpolated, its mean is 3/2
}

}  // namespace freehold::heap
