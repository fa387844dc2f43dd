// freehold::tree_array beside std::vector: times of the one divided by those of the other, pairs of runs after each other, median, lowest and highest quotient.
//   tree_array_benchmarks [--megabytes N (1024)] [--pairs N (9)]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "connect_four.h"
#include "tree_array.h"

namespace {

using freehold::tree_array;

int pairs = 9;

double seconds(const std::function<std::uint64_t()>& run, std::uint64_t& result) {
  const auto begin = std::chrono::steady_clock::now();
  result = run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void compare(const char* name, const std::function<std::uint64_t()>& with_array, const std::function<std::uint64_t()>& with_tree) {
  std::vector<double> ratios;
  double array_best = 1e9, tree_best = 1e9;
  for (int i = 0; i < pairs; ++i) {
    std::uint64_t expected, found;
    double array, tree;
    if (i % 2 == 0) {
      array = seconds(with_array, expected);
      tree = seconds(with_tree, found);
    } else {
      tree = seconds(with_tree, found);
      array = seconds(with_array, expected);
    }
    if (found != expected) {
      std::fprintf(stderr, "%s: the tree gives %llu, the array %llu\n", name, static_cast<unsigned long long>(found),
                   static_cast<unsigned long long>(expected));
      std::exit(1);
    }
    ratios.push_back(tree / array);
    array_best = std::min(array_best, array);
    tree_best = std::min(tree_best, tree);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-28s %6.3f  [%.3f, %.3f]  array %.1f ms, tree %.1f ms\n", name, ratios[ratios.size() / 2], ratios.front(), ratios.back(), array_best * 1e3,
              tree_best * 1e3);
  std::fflush(stdout);
}

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

template <class Array>
std::uint64_t update(Array& array, std::uint64_t count) {
  std::uint64_t state = 88172645463325252u;
  const std::uint64_t mask = array.size() - 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t value = next(state);
    array[(value >> 16) & mask] ^= value;
  }
  return array[0];
}

double normal(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }

void price(const double* spot, const double* strike, const double* years, double* call, std::size_t count) {
  constexpr double kRate = 0.02, kVolatility = 0.3;
  for (std::size_t i = 0; i < count; ++i) {
    const double root = kVolatility * std::sqrt(years[i]);
    const double d1 = (std::log(spot[i] / strike[i]) + (kRate + kVolatility * kVolatility / 2) * years[i]) / root;
    call[i] = spot[i] * normal(d1) - strike[i] * std::exp(-kRate * years[i]) * normal(d1 - root);
  }
}

void linear(std::size_t words) {
  std::vector<std::uint64_t> array(words);
  tree_array<std::uint64_t> tree(words);
  for (std::size_t i = 0; i < words; ++i) {
    array[i] = tree[i] = i * 3;
  }
  const auto sum_array = [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t element : array) {
      sum += element;
    }
    return sum;
  };
  compare("linear, for_each", sum_array, [&] {
    std::uint64_t sum = 0;
    freehold::for_each(tree.begin(), tree.end(), [&](std::uint64_t element) { sum += element; });
    return sum;
  });
  compare("linear, segments", sum_array, [&] {
    std::uint64_t sum = 0;
    for (auto segment : tree.segments()) {
      for (std::uint64_t element : segment) {
        sum += element;
      }
    }
    return sum;
  });
  compare("linear, iterator", sum_array, [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t element : tree) {
      sum += element;
    }
    return sum;
  });
  compare("linear, index", sum_array, [&] {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      sum += tree[i];
    }
    return sum;
  });
  for (std::size_t stride : {16, 128, 1024}) {
    // So often that the caches matter as they do in one pass over all.
    compare(("strided, " + std::to_string(stride * 8) + " bytes").c_str(),
            [&] {
              std::uint64_t sum = 0;
              for (std::size_t begin = 0; begin < 8; ++begin) {
                for (std::size_t i = begin; i < words; i += stride) {
                  sum += array[i];
                }
              }
              return sum;
            },
            [&] {
              std::uint64_t sum = 0;
              for (std::size_t begin = 0; begin < 8; ++begin) {
                auto it = tree.begin() + static_cast<std::ptrdiff_t>(begin);
                for (std::size_t i = begin; i < words; i += stride, it += static_cast<std::ptrdiff_t>(i < words ? stride : 0)) {
                  sum += *it;
                }
              }
              return sum;
            });
  }
  compare("random updates", [&] { return update(array, 20'000'000); }, [&] { return update(tree, 20'000'000); });
}

// Small enough for the first cache: nothing but instructions.
void cached() {
  std::vector<std::uint64_t> array(2048, 1);
  tree_array<std::uint64_t> tree(2048, 1);
  const auto over = [](auto& of) {
    std::uint64_t sum = 0;
    for (int round = 0; round < 20000; ++round) {
      for (std::size_t i = 0; i < 2048; ++i) {
        sum += of[i] ^ static_cast<std::uint64_t>(round);
      }
    }
    return sum;
  };
  compare("in the cache, index", [&] { return over(array); }, [&] { return over(tree); });
}

void black_scholes() {
  constexpr std::size_t kCount = 1'000'000;
  std::vector<double> spot(kCount), strike(kCount), years(kCount), call(kCount);
  tree_array<double> tree_spot(kCount), tree_strike(kCount), tree_years(kCount), tree_call(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    spot[i] = tree_spot[i] = 50 + static_cast<double>(i % 101);
    strike[i] = tree_strike[i] = 60 + static_cast<double>(i % 89);
    years[i] = tree_years[i] = 0.1 + static_cast<double>(i % 37) / 10;
  }
  compare(
      "Black-Scholes",
      [&] {
        price(spot.data(), strike.data(), years.data(), call.data(), kCount);
        return static_cast<std::uint64_t>(call[kCount / 2] * 1e9);
      },
      [&] {
        for (std::size_t i = 0; i < tree_call.segment_count(); ++i) {
          auto result = tree_call.segment(i);
          price(tree_spot.segment(i).data(), tree_strike.segment(i).data(), tree_years.segment(i).data(), result.data(), result.size());
        }
        return static_cast<std::uint64_t>(tree_call[kCount / 2] * 1e9);
      });
}

void game() {
  constexpr std::size_t kEntries = std::size_t{1} << 22;
  constexpr int kDepth = 16;
  std::vector<std::uint64_t> array(kEntries);
  tree_array<std::uint64_t> tree(kEntries);
  compare(
      "game-tree search",
      [&] {
        std::fill(array.begin(), array.end(), 0);
        return ConnectFour::search(array, kDepth);
      },
      [&] {
        freehold::for_each(tree.begin(), tree.end(), [](std::uint64_t& entry) { entry = 0; });
        return ConnectFour::search(tree, kDepth);
      });
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t megabytes = 1024;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 < count && std::strcmp(arguments[i], "--megabytes") == 0 && std::atoi(arguments[i + 1]) > 0) {
      megabytes = static_cast<std::size_t>(std::atoi(arguments[i + 1]));
    } else if (i + 1 < count && std::strcmp(arguments[i], "--pairs") == 0 && std::atoi(arguments[i + 1]) > 0) {
      pairs = std::atoi(arguments[i + 1]);
    } else {
      std::fprintf(stderr, "tree_array_benchmarks [--megabytes N (1024), a power of two] [--pairs N (9)]\n");
      return 2;
    }
  }
  std::printf("%-28s %6s  [lowest, highest]\n", "", "ratio");
  linear(megabytes << 17);
  cached();
  black_scholes();
  game();
  return 0;
}
