// Two or three spans whose objects do not overlap become one page with as many addresses: exactly, whichever of them leads, and while others write.
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

constexpr size_t kSize = 128;
constexpr uint32_t kSlots = 32;
static_assert(kSizeClasses[8].size == kSize && kSizeClasses[8].slots == kSlots && kSizeClasses[8].pages == 1);

class SharingTest : public MeshTest {
 protected:
  void SetUp() override {
    MeshTest::SetUp();
    if (heap.barrier.kind() == BarrierKind::kNone) GTEST_SKIP() << "nothing meshes here";
  }

  // In the n-th span by address the object of the n-th of these slots stays. Nothing else of this size lives, and free memory was given back.
  static std::vector<char*> one_object_a_span(const std::vector<uint32_t>& slots) {
    constexpr size_t kSpans = 32;
    std::vector<char*> all(kSpans * kSlots), kept;
    for (char*& object : all) object = static_cast<char*>(allocate(kSize));
    std::sort(all.begin(), all.end());
    // The first spans of which all slots are there.
    for (size_t i = 0; i + kSlots <= all.size() && kept.size() < slots.size(); i++) {
      if (page_of(all[i]) != all[i] || page_of(all[i + kSlots - 1]) != all[i]) continue;
      kept.push_back(all[i] + slots[kept.size()] * kSize);
    }
    EXPECT_EQ(kept.size(), slots.size());
    for (char* object : all) {
      if (std::find(kept.begin(), kept.end(), object) == kept.end()) deallocate(object);
    }
    heap.global.flush(*thread_heap, 8, thread_heap->vectors[8].count());
    purge();
    EXPECT_EQ(heap.arena.used_pages(), slots.size());
    for (size_t i = 0; i < kept.size(); i++) memset(kept[i], 'A' + static_cast<int>(i), kSize);
    return kept;
  }
  static char* page_of(char* object) { return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(object) & ~uintptr_t{4095}); }
  static MiniHeap& span_of(char* object) { return heap.global[heap.arena.word(object).index()]; }
  // Pages of the file that the spans have.
  static int64_t pages_of_memory() {
    struct stat status = {};
    EXPECT_EQ(fstat(heap.arena.file(), &status), 0);
    return status.st_blocks * 512 / 4096;
  }

  // Each object is seen at its place in every span's page, and a store through one address through all.
  static void expect_shared(const std::vector<char*>& objects) {
    for (size_t i = 0; i < objects.size(); i++) {
      ptrdiff_t offset = objects[i] - page_of(objects[i]);
      for (char* other : objects) {
        char* same = page_of(other) + offset;
        EXPECT_EQ(memcmp(same, objects[i], kSize), 0) << "object " << i;
        objects[i][5] = 'b';
        EXPECT_EQ(*const_cast<volatile char*>(same + 5), 'b') << "a store to object " << i;
        same[5] = static_cast<char>('A' + i);
        EXPECT_EQ(*const_cast<volatile char*>(objects[i] + 5), static_cast<char>('A' + i));
      }
    }
  }

  // Stores the same bytes again and again until it is told to stop, and has begun when the constructor is through.
  class Writer {
   public:
    explicit Writer(const std::vector<char*>& objects)
        : thread_([this, objects] {
            while (!stop_.load()) {
              for (size_t i = 0; i < objects.size(); i++) __atomic_store_n(objects[i], static_cast<char>('A' + i), __ATOMIC_RELAXED);
              rounds_++;
            }
          }) {
      while (rounds_ == 0) std::this_thread::yield();
    }
    ~Writer() {
      stop_ = true;
      thread_.join();
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   private:
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> rounds_{0};
    std::thread thread_;
  };

  static void expect_contents(const std::vector<char*>& objects) {
    for (size_t i = 0; i < objects.size(); i++) {
      for (size_t byte = 0; byte < kSize; byte++) ASSERT_EQ(objects[i][byte], static_cast<char>('A' + i)) << "object " << i;
    }
  }
};

TEST_F(SharingTest, TwoSpansEitherWayAround) {
  for (bool first_of_lower : {true, false}) {
    std::vector<char*> objects = one_object_a_span(first_of_lower ? std::vector<uint32_t>{0, kSlots - 1} : std::vector<uint32_t>{kSlots - 1, 0});
    uint64_t meshes = heap.mesher.figures().meshes;
    compact();
    EXPECT_EQ(heap.mesher.figures().meshes, meshes + 1);
    expect_contents(objects);
    expect_shared(objects);
    MiniHeap &lower = span_of(objects[0]), &upper = span_of(objects[1]);
    EXPECT_EQ(upper.leader, heap.global.id_of(lower)) << "what is at higher addresses moves";
    EXPECT_EQ(lower.members, 1);
    EXPECT_EQ(heap.global.free_of(lower).count(), kSlots - 2);
    // The memory goes with the last object, by whichever address it is freed.
    deallocate(objects[0]);
    compact();
    EXPECT_EQ(heap.arena.used_pages(), 1u);
    deallocate(objects[1]);
    compact();
    EXPECT_EQ(heap.arena.used_pages(), 0u);
  }
}

TEST_F(SharingTest, TwoSpansWhileAThreadWrites) {
  for (bool first_of_lower : {true, false}) {
    std::vector<char*> objects = one_object_a_span(first_of_lower ? std::vector<uint32_t>{0, kSlots - 1} : std::vector<uint32_t>{kSlots - 1, 0});
    uint64_t meshes = heap.mesher.figures().meshes;
    {
      Writer writer(objects);
      compact();
    }
    EXPECT_EQ(heap.mesher.figures().meshes, meshes + 1);
    expect_contents(objects);
    expect_shared(objects);
    for (char* object : objects) deallocate(object);
    compact();
  }
}

// Every order of the three, with two writers: whoever leads first, whoever joins last.
TEST_F(SharingTest, ThreeSpansWhileThreadsWrite) {
  std::vector<uint32_t> slots = {0, 3, kSlots - 1};
  do {
    std::vector<char*> objects = one_object_a_span(slots);
    uint64_t meshes = heap.mesher.figures().meshes;
    {
      Writer one(objects), other(objects);
      compact();
    }
    EXPECT_EQ(heap.mesher.figures().meshes, meshes + 2);
    expect_contents(objects);
    expect_shared(objects);
    EXPECT_EQ(heap.arena.used_pages(), 1u);
    MiniHeapId leader = span_of(objects[0]).leader;
    for (char* object : objects) EXPECT_EQ(span_of(object).leader, leader);
    EXPECT_EQ(heap.global[leader].members, 2);
    EXPECT_EQ(heap.global.free_of(heap.global[leader]).count(), kSlots - 3);
    // As long as one lives, so does the page.
    for (size_t i = 0; i < objects.size(); i++) {
      EXPECT_EQ(heap.arena.used_pages(), 1u);
      deallocate(objects[i]);
      compact();
    }
    EXPECT_EQ(heap.arena.used_pages(), 0u);
  } while (std::next_permutation(slots.begin(), slots.end()));
}

// To the page: two spans have two, meshed one, empty none.
TEST_F(SharingTest, AMeshGivesBackExactlyOnePage) {
  char huge[128] = "";
  os::read_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled", huge, sizeof huge);
  if (strstr(huge, "[always]") != nullptr || strstr(huge, "[force]") != nullptr) GTEST_SKIP() << "files of memory have huge pages here";
  std::vector<char*> objects = one_object_a_span({0, kSlots - 1});
  EXPECT_EQ(pages_of_memory(), 2);
  compact();
  EXPECT_EQ(pages_of_memory(), 1);
  expect_contents(objects);
  for (char* object : objects) deallocate(object);
  compact();
  EXPECT_EQ(pages_of_memory(), 0);
}

TEST_F(SharingTest, SpansWithTheSameSlotsStayApart) {
  std::vector<char*> objects = one_object_a_span({4, 4});
  compact();
  EXPECT_EQ(heap.mesher.figures().meshes, 0u);
  EXPECT_EQ(pages_of_memory(), 2);
  expect_contents(objects);
  for (char* object : objects) deallocate(object);
}

}  // namespace
}  // namespace freehold::mesh::testing
