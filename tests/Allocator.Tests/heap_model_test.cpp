// Random programs against a model that holds no references: many threads, every kind of object, every protection, injected failures.
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "Platform/lock.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;

struct Entry {
  Object* object;
  uint64_t content;  // written behind the type, must be there until the deletion
};

uint64_t* content_of(Object* object) { return reinterpret_cast<uint64_t*>(object) + (object->type->has_component_size() ? 2 : 1); }

// What a thread holds pinned, and the lock that stands for its being stopped: it works with the lock, and is at a safe point without.
struct Mutator {
  os::Lock running;
  std::vector<Entry> pinned;
};
std::vector<std::unique_ptr<Mutator>> mutators;
os::Lock scanning;
thread_local Mutator* self = nullptr;

bool scan_mutators(const heap::PinScan& scan) {
  if (self != nullptr) self->running.unlock();
  {
    os::LockGuard guard(scanning);
    for (auto& mutator : mutators) mutator->running.lock();
    scan.stopped(scan.argument);
    for (auto& mutator : mutators) {
      for (const Entry& entry : mutator->pinned) scan.pinned(content_of(entry.object), scan.argument);
    }
    scan.seen(scan.argument);
    for (auto& mutator : mutators) mutator->running.unlock();
  }
  if (self != nullptr) self->running.lock();
  return true;
}

class HeapModelTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override { knobs.protection = GetParam(); }

  void SetUp() override {
    HeapTest::SetUp();
    heap::set_pin_scanner(scan_mutators);
  }

  void TearDown() override {
    mutators.clear();
    HeapTest::TearDown();
  }

  // Before the thread that works with it starts.
  static Mutator& add_mutator() {
    os::LockGuard guard(scanning);
    mutators.push_back(std::make_unique<Mutator>());
    return *mutators.back();
  }

  // One thread's program. What it deletes is checked first; some deletions go to a shared list that any thread empties.
  void run(Mutator& mutator, uint64_t seed, int steps, std::vector<Entry>& shared, os::Lock& shared_lock) {
    std::mt19937_64 random(seed);
    heap::AllocationContext context = {};
    struct Leave {  // also when an assertion ends the thread
      heap::AllocationContext* context;
      ~Leave() {
        heap::retire(context);
        self->pinned.clear();
        self->running.unlock();
        self = nullptr;
      }
    } leave = {&context};
    self = &mutator;
    mutator.running.lock();
    std::vector<Entry> live, handles;
    // What was pinned is as it was, whether it lives or not.
    auto unpin = [&](std::vector<Entry>& pins) {
      std::swap(pins[random() % pins.size()], pins.back());
      ASSERT_EQ(*content_of(pins.back().object), pins.back().content) << "pinned; seed " << seed;
      if (&pins == &handles) heap::remove_handle_pin(pins.back().object);
      pins.pop_back();
    };
    auto destroy = [&](const Entry& entry) {
      ASSERT_EQ(*content_of(entry.object), entry.content) << "seed " << seed;
      DeleteResult result = heap::delete_object(entry.object);
      ASSERT_EQ(result, DeleteResult::kDeleted) << "seed " << seed;
      DeleteResult again = heap::delete_object(entry.object);
      ASSERT_TRUE(again == DeleteResult::kAlreadyDeleted || again == DeleteResult::kDangling) << "seed " << seed;
    };
    size_t target = 1000;
    for (int step = 0; step < steps; step++) {
      uint64_t draw = random();
      if (draw % 64 == 9) {  // a safe point
        mutator.running.unlock();
        mutator.running.lock();
      }
      if (draw % 50 == 11 && !live.empty() && mutator.pinned.size() < 20) {
        const Entry& entry = live[(draw >> 8) % live.size()];
        mutator.pinned.push_back(entry);
        ASSERT_EQ(heap::pin(entry.object), entry.object) << "seed " << seed;
        if (draw >> 40 & 1 && handles.size() < 10) {
          heap::add_handle_pin(entry.object);
          handles.push_back(entry);
        }
      }
      if (draw % 500 == 12 && !mutator.pinned.empty()) unpin(mutator.pinned);
      if (draw % 1000 == 13 && !handles.empty()) unpin(handles);
      ASSERT_FALSE(HasFatalFailure());
      if (draw % 5000 == 0) target = size_t{1} << (4 + random() % 13);
      bool grow = live.size() < target;
      if (grow || draw % 8 == 0) {
        uint64_t size_class = random() % 1000;
        Object* object;
        if (size_class < 600) object = allocate_with(&context, &small_type.table);
        else if (size_class < 800) object = allocate_with(&context, &bytes_type.table, 8 + static_cast<uint32_t>(random() % 500));
        else if (size_class < 990) object = allocate_with(&context, &bytes_type.table, 8 + static_cast<uint32_t>(random() % 8000));
        else if (size_class < 999 || random() % 20 != 0)
          object =
              allocate_with(&context, &bytes_type.table, 8 + static_cast<uint32_t>(random() % 200'000), random() % 4 == 0 ? uint32_t{heap::kAllocPinned} : 0);
        else object = allocate_with(&context, &bytes_type.table, 1'000'000 + static_cast<uint32_t>(random() % 4'000'000));
        if (object == nullptr) continue;  // an injected failure
        ASSERT_EQ(*content_of(object), 0u) << "fresh memory is zero; seed " << seed;
        live.push_back({object, random()});
        *content_of(object) = live.back().content;
      }
      if (!grow && !live.empty()) {
        size_t which = draw % 3 == 0 ? live.size() - 1 : draw % 3 == 1 ? 0 : (draw >> 8) % live.size();
        Entry entry = live[which];
        live[which] = live.back();
        live.pop_back();
        if (draw % 16 == 3) {
          os::LockGuard guard(shared_lock);
          shared.push_back(entry);
          if (shared.size() <= 100) continue;
          std::swap(shared[random() % shared.size()], shared.back());
          entry = shared.back();
          shared.pop_back();
        }
        destroy(entry);
      }
      if (draw % 200'000 == 7) {  // where others may stop it, as GC.Collect does
        self = nullptr;
        mutator.running.unlock();
        heap::collect();
        mutator.running.lock();
        self = &mutator;
      }
    }
    for (const Entry& entry : live) destroy(entry);
    while (!mutator.pinned.empty() && !HasFatalFailure()) unpin(mutator.pinned);
    while (!handles.empty() && !HasFatalFailure()) unpin(handles);
  }

  void run_threads(int threads, int steps, const char* failures) {
    uint64_t seed = seed_of_run();
    SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
    printf("FREEHOLD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    if (failures != nullptr) {
      ASSERT_TRUE(os::inject_failures(failures));
    }
    size_t in_use = heap::total_bytes_in_use();
    std::vector<Entry> shared;
    os::Lock shared_lock;
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
      workers.emplace_back([&, i, &mutator = add_mutator()] { run(mutator, seed + static_cast<uint64_t>(i), steps, shared, shared_lock); });
    std::atomic<bool> done{false};
    std::thread prefaulter([&] {
      for (int turn = 0; !done; turn++) {
        if (!heap::prefault_block(3)) std::this_thread::yield();
        if (turn % 1000 == 0) heap::drop_prefaulted();
      }
    });
    for (std::thread& worker : workers) worker.join();
    done = true;
    prefaulter.join();
    if (HasFatalFailure()) return;
    expect_valid("at the end of the threads");
    for (const Entry& entry : shared) ASSERT_EQ(heap::delete_object(entry.object), DeleteResult::kDeleted);
    heap::unregister_thread();
    heap::collect();
    expect_valid("after everything was deleted");
    std::string left;
    for (size_t block = 0; block < heap::lower_frontier(); block++) {
      const core::BlockRecord& record = core::arena.blocks[block];
      if (record.state.load() != core::BlockState::kLive) continue;
      left += "\nblock " + std::to_string(block) + " kind " + std::to_string(int(record.kind.load())) + " dead " + std::to_string(record.dead_pages.load()) +
              " initialised " + std::to_string(__builtin_popcountll(record.initialised.load()));
    }
    EXPECT_EQ(heap::block_counters.pinned.load() + heap::block_counters.pinned_huge.load(), 0u);
    EXPECT_LE(heap::block_counters.live.load(), 3u) << left << "only the blocks that are being filled are left";
    EXPECT_EQ(heap::total_bytes_in_use(), in_use);
  }
};

TEST_P(HeapModelTest, OneThread) { run_threads(1, 2'000'000, nullptr); }
TEST_P(HeapModelTest, FourThreads) { run_threads(4, 500'000, nullptr); }

INSTANTIATE_TEST_SUITE_P(Protections, HeapModelTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "userfaultfd" : "mprotect"; });

// Every system call that the heap makes fails once, at many places, or from some place on.
class HeapFailureTest : public HeapModelTest {};
TEST_P(HeapFailureTest, EachCallFailsSomewhere) {
  for (const char* call : {"mmap", "mprotect", "mremap", "madvise", "register"}) {
    for (const char* where : {"1", "2", "3", "5", "9", "20", "50", "2+", "30+"}) {
      std::string failure = std::string(call) + ":" + where;
      SCOPED_TRACE(failure);
      run_threads(2, 30'000, nullptr);
      uint64_t seed = seed_of_run();
      std::vector<Entry> shared;
      os::Lock shared_lock;
      ASSERT_TRUE(os::inject_failures(failure.c_str()));
      run(add_mutator(), seed, 60'000, shared, shared_lock);
      ASSERT_TRUE(os::inject_failures((std::string(call) + ":18446744073709551615").c_str()));
      ASSERT_FALSE(HasFatalFailure());
      for (const Entry& entry : shared) ASSERT_EQ(heap::delete_object(entry.object), DeleteResult::kDeleted);
      expect_valid(failure.c_str());
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Protections, HeapFailureTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "userfaultfd" : "mprotect"; });

// Two threads delete the same objects at once: one of them may win each, none may harm.
TEST_F(HeapTest, RacingDoubleDeletes) {
  for (int round = 0; round < 20; round++) {
    heap::AllocationContext context = {};
    std::vector<Object*> objects;
    for (int i = 0; i < 50'000; i++) objects.push_back(allocate_with(&context, &small_type.table));
    Object* survivor = objects[objects.size() / 3];
    std::atomic<int> ready{0};
    auto body = [&] {
      ready++;
      while (ready.load() != 2) {}
      for (Object* object : objects) {
        if (object != survivor) heap::delete_object(object);
      }
      heap::unregister_thread();
    };
    std::thread other(body);
    body();
    other.join();
    ASSERT_EQ(heap::classify(survivor), heap::AddressState::kLive);
    ASSERT_EQ(survivor->type, &small_type.table);
    heap::retire(&context);
    heap::collect();
    expect_valid("after racing deletions");
    ASSERT_EQ(heap::delete_object(survivor), DeleteResult::kDeleted);
  }
}

}  // namespace
}  // namespace freehold::testing
