// Benchmarks whose threads pass memory to each other.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "benchmark.h"

namespace {

template <typename Work>
void in_threads(unsigned count, Work work) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; i++) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

char* make(uint64_t size) {
  auto* object = static_cast<char*>(malloc(size));
  object[0] = static_cast<char>(size);
  object[size - 1] = static_cast<char>(size);
  return object;
}

}  // namespace

// A server: each thread replaces random objects, and leaves all it has to a new thread from time to time, which frees what its predecessor allocated.
uint64_t larson(unsigned threads) {
  constexpr unsigned kObjects = 1000, kGenerations = 60, kSteps = 200'000;
  std::atomic<uint64_t> sum{0};
  in_threads(threads, [&](unsigned number) {
    std::vector<char*> objects(kObjects);
    Numbers numbers(number + 1);
    for (char*& object : objects) object = make(8 + numbers.below(1000));
    for (unsigned generation = 0; generation < kGenerations; generation++) {
      std::thread([&] {
        uint64_t own = 0;
        for (unsigned step = 0; step < kSteps; step++) {
          char*& object = objects[numbers.below(kObjects)];
          own += static_cast<unsigned char>(object[0]);
          free(object);
          object = make(8 + numbers.below(1000));
        }
        sum += own;
      }).join();
    }
    for (char* object : objects) free(object);
  });
  return sum;
}

// Producers allocate batches, consumers free them: no thread frees what it allocated.
uint64_t xmalloc(unsigned threads) {
  constexpr unsigned kBatch = 120, kBatches = 60'000;
  struct Batch {
    std::atomic<Batch*> next;
    char* objects[kBatch];
  };
  unsigned pairs = threads < 2 ? 1 : threads / 2;
  std::atomic<uint64_t> sum{0};
  std::vector<std::atomic<Batch*>> slots(pairs * 16);
  in_threads(2 * pairs, [&](unsigned number) {
    unsigned pair = number / 2;
    Numbers numbers(pair + 1);
    if (number % 2 == 0) {
      for (unsigned i = 0; i < kBatches; i++) {
        auto* batch = static_cast<Batch*>(malloc(sizeof(Batch)));
        for (char*& object : batch->objects) object = make(16 + numbers.below(240));
        Batch* expected = nullptr;
        while (!slots[pair * 16 + i % 16].compare_exchange_weak(expected, batch, std::memory_order_release)) {
          expected = nullptr;
          std::this_thread::yield();
        }
      }
    } else {
      uint64_t own = 0;
      for (unsigned i = 0; i < kBatches; i++) {
        Batch* batch;
        while ((batch = slots[pair * 16 + i % 16].exchange(nullptr, std::memory_order_acquire)) == nullptr) std::this_thread::yield();
        for (char* object : batch->objects) {
          own += static_cast<unsigned char>(object[0]);
          free(object);
        }
        free(batch);
      }
      sum += own;
    }
  });
  return sum;
}

// Objects of all sizes that live long or short, and go over to other threads through a shared table.
uint64_t mstress(unsigned threads) {
  constexpr unsigned kTransfers = 1000, kRounds = 40, kObjects = 100'000;
  std::vector<std::atomic<char*>> transfer(kTransfers);
  for (unsigned round = 0; round < kRounds; round++) {
    in_threads(threads, [&](unsigned number) {
      Numbers numbers(round * threads + number + 1);
      std::vector<char*> live, kept;
      for (unsigned i = 0; i < kObjects; i++) {
        uint64_t shape = numbers.below(100);
        uint64_t size = shape < 60 ? 1 + numbers.below(64) : shape < 95 ? 1 + numbers.below(1024) : 1 + numbers.below(16'384);
        live.push_back(make(size));
        if (shape % 4 == 0) kept.push_back(make(1 + numbers.below(256)));
        if (live.size() > 1 && shape % 3 != 0) {
          std::swap(live[numbers.below(live.size())], live.back());
          free(live.back());
          live.pop_back();
        }
        if (shape % 10 == 0) {
          free(transfer[numbers.below(kTransfers)].exchange(live.back()));
          live.pop_back();
        }
      }
      for (char* object : live) free(object);
      for (char* object : kept) free(object);
    });
  }
  for (auto& slot : transfer) free(slot.exchange(nullptr));
  return kRounds * kObjects;
}

// Random sizes up to 16 KB in bursts, a third of them freed by the next thread.
uint64_t rptest(unsigned threads) {
  constexpr unsigned kRounds = 3000, kBurst = 2000;
  std::vector<std::atomic<std::vector<char*>*>> handed(threads);
  std::atomic<uint64_t> sum{0};
  in_threads(threads, [&](unsigned number) {
    Numbers numbers(number + 1);
    uint64_t own = 0;
    std::vector<char*> live;
    for (unsigned round = 0; round < kRounds; round++) {
      auto* away = new std::vector<char*>;
      for (unsigned i = 0; i < kBurst; i++) {
        uint64_t bits = numbers.below(11);
        char* object = make(16 + numbers.below(uint64_t{16} << bits));
        own += static_cast<unsigned char>(object[0]);
        (i % 3 == 0 ? *away : live).push_back(object);
      }
      if (auto* received = handed[(number + 1) % threads].exchange(away)) {
        for (char* object : *received) free(object);
        delete received;
      }
      while (live.size() > kBurst) {
        std::swap(live[numbers.below(live.size())], live.back());
        free(live.back());
        live.pop_back();
      }
    }
    for (char* object : live) free(object);
    sum += own;
  });
  for (auto& slot : handed) {
    if (auto* left = slot.exchange(nullptr)) {
      for (char* object : *left) free(object);
      delete left;
    }
  }
  return sum;
}

namespace {

// Small objects of different threads in one cache line make each write a transfer. `passive`: the first ones come from one thread.
uint64_t cache_test(unsigned threads, bool passive) {
  constexpr unsigned kTurns = 1000, kWrites = 20'000 / 8;
  std::vector<char*> first(threads);
  for (char*& object : first) object = passive ? make(8) : nullptr;
  in_threads(threads, [&](unsigned number) {
    free(first[number]);
    for (unsigned turn = 0; turn < kTurns * 20 / threads; turn++) {
      auto* object = static_cast<volatile char*>(make(8));
      for (unsigned i = 0; i < kWrites; i++) {
        for (int k = 0; k < 8; k++) object[k] = static_cast<char>(object[k] + k);
      }
      free(const_cast<char*>(object));
    }
  });
  return kTurns;
}

}  // namespace

uint64_t cache_scratch(unsigned threads) { return cache_test(threads, true); }
uint64_t cache_thrash(unsigned threads) { return cache_test(threads, false); }
