// Benchmarks after programs that allocate in one thread.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "benchmark.h"

// Random sizes of a distribution with many small ones, random lifetimes, a large live set.
uint64_t alloc_test(unsigned) {
  constexpr unsigned kLive = 60'000, kSteps = 8'000'000;
  std::vector<char*> live(kLive);
  Numbers numbers(7);
  uint64_t sum = 0;
  for (unsigned step = 0; step < kSteps; step++) {
    char*& object = live[numbers.below(kLive)];
    if (object != nullptr) {
      sum += static_cast<unsigned char>(object[0]);
      free(object);
      object = nullptr;
    } else {
      uint64_t size = 8 + (numbers.below(uint64_t{1} << (4 + numbers.below(7))));
      object = static_cast<char*>(malloc(size));
      memset(object, static_cast<int>(step), size < 64 ? size : 64);
    }
  }
  for (char* object : live) free(object);
  return sum;
}

// A few blocks of 5 to 25 MB, replaced again and again, a byte of each page touched.
uint64_t malloc_large(unsigned) {
  constexpr unsigned kBlocks = 20, kSteps = 1000;
  std::vector<char*> blocks(kBlocks);
  Numbers numbers(3);
  uint64_t sum = 0;
  for (unsigned step = 0; step < kSteps; step++) {
    char*& block = blocks[numbers.below(kBlocks)];
    if (block != nullptr) sum += static_cast<unsigned char>(block[0]);
    free(block);
    uint64_t size = (5 + numbers.below(21)) << 20;
    block = static_cast<char*>(malloc(size));
    for (uint64_t i = 0; i < size; i += 4096 * 16) block[i] = static_cast<char>(step);
  }
  for (char* block : blocks) free(block);
  return sum;
}

namespace {

// Numbers of any length, digits of 16 bits, a new allocation for each result: how factoring with continued fractions uses malloc.
struct Natural {
  unsigned length;
  unsigned short digits[1];
};

Natural* natural(unsigned length) {
  auto* n = static_cast<Natural*>(malloc(sizeof(unsigned) + length * sizeof(unsigned short)));
  n->length = length;
  return n;
}

Natural* trimmed(Natural* n) {
  while (n->length > 1 && n->digits[n->length - 1] == 0) n->length--;
  return n;
}

Natural* multiply(const Natural* a, const Natural* b) {
  Natural* result = natural(a->length + b->length);
  memset(result->digits, 0, result->length * sizeof(unsigned short));
  for (unsigned i = 0; i < a->length; i++) {
    uint32_t carry = 0;
    for (unsigned k = 0; k < b->length; k++) {
      uint32_t product = uint32_t{a->digits[i]} * b->digits[k] + result->digits[i + k] + carry;
      result->digits[i + k] = static_cast<unsigned short>(product);
      carry = product >> 16;
    }
    result->digits[i + b->length] = static_cast<unsigned short>(carry);
  }
  return trimmed(result);
}

Natural* add(const Natural* a, unsigned b) {
  Natural* result = natural(a->length + 1);
  uint32_t carry = b;
  for (unsigned i = 0; i < a->length; i++) {
    carry += a->digits[i];
    result->digits[i] = static_cast<unsigned short>(carry);
    carry >>= 16;
  }
  result->digits[a->length] = static_cast<unsigned short>(carry);
  return trimmed(result);
}

Natural* remainder_of(const Natural* a, unsigned divisor) {
  uint64_t rest = 0;
  for (unsigned i = a->length; i-- > 0;) rest = (rest << 16 | a->digits[i]) % divisor;
  Natural* result = natural(2);
  result->digits[0] = static_cast<unsigned short>(rest);
  result->digits[1] = static_cast<unsigned short>(rest >> 16);
  return trimmed(result);
}

}  // namespace

uint64_t cfrac_like(unsigned) {
  uint64_t sum = 0;
  for (unsigned start = 1; start <= 1500; start++) {
    Natural* x = natural(1);
    x->digits[0] = static_cast<unsigned short>(start);
    for (unsigned step = 0; step < 1200; step++) {
      Natural* square = multiply(x, x);
      Natural* more = add(square, start);
      Natural* wide = multiply(more, square);
      Natural* next = remainder_of(wide, 2'147'483'629u - start);
      free(square);
      free(wide);
      free(more);
      free(x);
      x = next;
    }
    sum += x->digits[0];
    free(x);
  }
  return sum;
}

namespace {

// Covers of a logic function: sets of cubes, each a small array of words, made, combined and freed by the hundred.
struct Cover {
  unsigned words, count, capacity;
  uint64_t** cubes;
};

Cover make_cover(unsigned words) { return {words, 0, 0, nullptr}; }

void put(Cover& cover, uint64_t* cube) {
  if (cover.count == cover.capacity) {
    cover.capacity = cover.capacity == 0 ? 4 : cover.capacity * 2;
    cover.cubes = static_cast<uint64_t**>(realloc(cover.cubes, cover.capacity * sizeof(uint64_t*)));
  }
  cover.cubes[cover.count++] = cube;
}

void drop(Cover& cover) {
  for (unsigned i = 0; i < cover.count; i++) free(cover.cubes[i]);
  free(cover.cubes);
}

// The cubes of both that intersect, without those that another one contains.
Cover intersect(const Cover& a, const Cover& b) {
  Cover result = make_cover(a.words);
  for (unsigned i = 0; i < a.count; i++) {
    for (unsigned k = 0; k < b.count; k++) {
      auto* cube = static_cast<uint64_t*>(malloc(a.words * sizeof(uint64_t)));
      uint64_t any = 0;
      for (unsigned w = 0; w < a.words; w++) any |= cube[w] = a.cubes[i][w] & b.cubes[k][w];
      bool contained = any == 0;
      for (unsigned r = 0; r < result.count && !contained; r++) {
        uint64_t outside = 0;
        for (unsigned w = 0; w < a.words; w++) outside |= cube[w] & ~result.cubes[r][w];
        contained = outside == 0;
      }
      if (contained) free(cube);
      else put(result, cube);
    }
  }
  return result;
}

}  // namespace

uint64_t espresso_like(unsigned) {
  Numbers numbers(11);
  uint64_t sum = 0;
  for (unsigned function = 0; function < 200; function++) {
    unsigned words = 1 + function % 12;
    auto random_cover = [&](unsigned count) {
      Cover cover = make_cover(words);
      for (unsigned i = 0; i < count; i++) {
        auto* cube = static_cast<uint64_t*>(malloc(words * sizeof(uint64_t)));
        for (unsigned w = 0; w < words; w++) cube[w] = numbers.next() & numbers.next() & (w % 3 == i % 3 ? ~uint64_t{0} : numbers.next());
        put(cover, cube);
      }
      return cover;
    };
    Cover a = random_cover(24), b = random_cover(24), both = intersect(a, b), c = random_cover(3), all = intersect(both, c);
    for (unsigned i = 0; i < all.count; i++) sum += all.cubes[i][0] & 0xff;
    drop(a);
    drop(b);
    drop(both);
    drop(c);
    drop(all);
  }
  return sum;
}
