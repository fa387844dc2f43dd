// The service interface: the two services of the runtime, and one of a program's kind, each in a process of its own, since the choice is for ever.
#include "services.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "os.h"
#include "raw_memory.h"

extern "C" thread_local uint64_t __freehold_group_state __attribute__((tls_model("initial-exec")));

namespace freehold::bridge::test {
namespace {

void check(bool right, const char* what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  _exit(1);
}

struct Made {
  uint8_t* handle;
  size_t size;
  uint8_t first;
};
bool is_whole(const Made& made) {
  for (size_t i = 0; i < made.size; i++) {
    if (at(made.handle)[i] != static_cast<uint8_t>(made.first + i)) return false;
  }
  return true;
}
void fill(const Made& made) {
  for (size_t i = 0; i < made.size; i++) at(made.handle)[i] = static_cast<uint8_t>(made.first + i);
}

// Allocations, frees, changes of size, addresses back to handles, and barriers; whatever the service is.
void use(unsigned seed) {
  Compiled compiled;
  std::mt19937 random(seed);
  std::vector<Made> all;
  for (int round = 0; round < 3000; round++) {
    unsigned what = random() % 8;
    if (what < 4 || all.empty()) {
      size_t size = random() % 50 == 0 ? 1 + random() % 300'000 : 1 + random() % 500;
      bool zeroed = random() % 4 == 0;
      size_t alignment = zeroed ? 1 : size_t{1} << random() % 17;
      void* made = zeroed ? __freehold_calloc(1, size) : __freehold_aligned_alloc(alignment, size);
      check(reinterpret_cast<uintptr_t>(made) % alignment == 0 && reinterpret_cast<uintptr_t>(at(made)) % alignment == 0, "the alignment");
      check(is_handle(made), "a handle");
      for (size_t i = 0; zeroed && i < size; i++) check(at(made)[i] == 0, "zeroes");
      check(__freehold_malloc_usable_size(made) >= size, "the usable size");
      all.push_back({static_cast<uint8_t*>(made), size, static_cast<uint8_t>(round)});
      fill(all.back());
      continue;
    }
    size_t i = random() % all.size();
    Made& one = all[i];
    check(is_whole(one), "the contents");
    if (what < 6) {
      __freehold_free(one.handle);
      one = all.back();
      all.pop_back();
    } else if (what == 6) {
      size_t size = 1 + random() % 2000;
      uint8_t* grown = static_cast<uint8_t*>(__freehold_realloc(one.handle, size));
      one.handle = grown;
      one.size = std::min(one.size, size);
      check(is_whole(one), "the contents after realloc");
      one.size = size;
      fill(one);
    } else {
      size_t offset = random() % one.size;
      check(__freehold_handle(at(one.handle) + offset) == one.handle + offset, "from an address to its handle");
    }
    if (round % 500 == 0) move_everything(one.handle);
  }
  for (const Made& one : all) {
    check(is_whole(one), "the contents at the end");
    __freehold_free(one.handle);
  }
}

void use_from_threads() {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; t++) threads.emplace_back([t] { use(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST(ServicesDeathTest, TheDefaultOneKeepsTheContract) {
  EXPECT_EXIT(
      {
        check(service == &defragmenting_service, "the default");
        use_from_threads();
        _exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ServicesDeathTest, ThePlainOneKeepsTheContractAndMovesNothing) {
  EXPECT_EXIT(
      {
        choose_service(ServiceChoice::kPlain);
        Compiled compiled;
        void* made = __freehold_malloc(100);
        uint8_t* address = at(made);
        move_everything();
        check(at(made) == address, "it stays");
        check(!heap.contains(address), "it is none of the defragmenter's");
        {
          Thread& thread = threads::current();
          threads::leave(thread);
          use_from_threads();
          threads::enter(thread);
        }
        __freehold_free(made);
        _exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ServicesDeathTest, ThePlainOneReportsWhatTheOtherReports) {
  auto use_wrongly = [](int how) {
    choose_service(ServiceChoice::kPlain);
    Compiled compiled;
    auto* made = static_cast<uint8_t*>(__freehold_malloc(64));
    if (how == 0) __freehold_free(made + 16);
    uint8_t* address = at(made);
    __freehold_free(made);
    if (how == 1) __freehold_free(made);
    __freehold_free(address);
  };
  EXPECT_DEATH(use_wrongly(0), "free of a pointer into an object");
  EXPECT_DEATH(use_wrongly(1), "double free");
  EXPECT_DEATH(use_wrongly(2), "free of memory that is already free");
}

// Of two threads that free one object at once, one does. Objects of spans and slots of the plain service; of small slots that is not promised (docs/internals/handles.md).
void free_at_once(size_t size, uint32_t group) {
  for (int round = 0; round < 3000; round++) {
    Compiled compiled;
    uint64_t before = __freehold_group_state;
    __freehold_group_state = before | uint64_t{group} << 56;
    void* made = __freehold_malloc(size);
    __freehold_group_state = before;
    std::atomic<int> ready{0}, done{0};
    auto free_it = [&] {
      Compiled inside;
      uint8_t* address = at(made);
      ready++;
      while (ready != 2) {}
      done += service->free(id(made), address);
    };
    Thread& thread = threads::current();
    threads::leave(thread);
    std::thread other(free_it);
    free_it();
    other.join();
    threads::enter(thread);
    check(done == 1, "one of two threads frees it");
  }
}

TEST(ServicesDeathTest, OneOfTwoThreadsFreesAnObject) {
  EXPECT_EXIT((free_at_once(100'000, 0), _exit(0)), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT((free_at_once(48, 3), _exit(0)), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT((choose_service(ServiceChoice::kPlain), free_at_once(100, 0), _exit(0)), testing::ExitedWithCode(0), "^$");
}

// Whatever the program's own lacks is said before anything uses it.
TEST(Services, ATableIsWholeOrNamed) {
  EXPECT_EQ(what_is_wrong(defragmenting_service), nullptr);
  EXPECT_EQ(what_is_wrong(plain_service), nullptr);
  freehold_service table = plain_service;
  table.version = FREEHOLD_SERVICE_VERSION + 1;
  EXPECT_STREQ(what_is_wrong(table), "its version is not that of the runtime");
  table = plain_service;
  table.name = nullptr;
  EXPECT_STREQ(what_is_wrong(table), "it has no name");
  constexpr size_t kFirst = offsetof(freehold_service, init);
  static_assert((sizeof(freehold_service) - kFirst) / sizeof(void*) == 8, "eight callbacks");
  for (size_t at = kFirst; at < sizeof table; at += sizeof(void*)) {
    table = plain_service;
    memset(reinterpret_cast<char*>(&table) + at, 0, sizeof(void*));
    EXPECT_NE(what_is_wrong(table), nullptr) << at;
  }
}

TEST(ServicesDeathTest, AServiceThatCannotStartEndsTheProgram) {
  EXPECT_DEATH(
      {
        os::fail_map(3);
        choose_service(ServiceChoice::kPlain);
      },
      "the service 'plain' of the handle heap cannot start");
}

// What a service is given for its moves.
TEST(Services, AMoveIsRefusedWhileTheObjectIsPinnedOrFree) {
  Compiled compiled;
  void* object = __freehold_malloc(64);
  void* pinned = __freehold_malloc(64);
  void* gone = __freehold_malloc(64);
  __freehold_free(gone);
  OneRecord record;
  record.slot = pinned;
  __freehold_call_out(&record);
  freehold_service_stop();
  EXPECT_EQ(freehold_service_is_pinned(id(object)), 0);
  EXPECT_NE(freehold_service_is_pinned(id(pinned)), 0);
  uint8_t elsewhere[64];
  uint8_t* before = at(object);
  EXPECT_EQ(freehold_service_move(id(pinned), at(pinned), elsewhere), 0);
  EXPECT_EQ(freehold_service_move(id(gone), elsewhere, elsewhere), 0);
  EXPECT_NE(freehold_service_move(id(object), before, elsewhere), 0);
  EXPECT_EQ(at(object), elsewhere);
  EXPECT_NE(freehold_service_move(id(object), elsewhere, before), 0);
  freehold_service_resume();
  __freehold_call_back(&record);
  EXPECT_EQ(at(object), before);
  __freehold_free(object);
  __freehold_free(pinned);
}

TEST(ServicesDeathTest, AThreadThatIsInsideStopsNobody) {
  Compiled compiled;
  EXPECT_DEATH(freehold_service_stop(), "use a thread of its own");
}

// The barrier of the default service that is no test: it compacts.
TEST(Services, ABarrierOfTheDefragmenterCompacts) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 50'000; i++) {
    all.push_back(__freehold_malloc(112));
    *at<int>(all.back()) = i;
  }
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 8 != 0) __freehold_free(all[i]);
  }
  HeapFigures before = heap.figures();
  OneRecord record;
  __freehold_call_out(&record);
  freehold_service_barrier(0);
  __freehold_call_back(&record);
  HeapFigures after = heap.figures();
  EXPECT_GT(after.moved_objects, before.moved_objects);
  EXPECT_LT(heap.spans().used(), before.resident_bytes);
  EXPECT_EQ(heap.verify(), nullptr);
  for (size_t i = 0; i < all.size(); i += 8) {
    ASSERT_EQ(*at<int>(all[i]), static_cast<int>(i));
    __freehold_free(all[i]);
  }
}

}  // namespace
}  // namespace freehold::bridge::test
