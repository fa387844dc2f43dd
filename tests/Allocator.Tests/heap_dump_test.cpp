// Dumps of a heap: each object, each reference by its present name, roots, and the frames around them.
#include "diag/heap_dump.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "heap/promotion.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using diag::DumpedRoot;

struct Dumped {
  struct Item {
    uint64_t type, state, size;
    std::multiset<uint64_t> references;
  };
  bool whole = false;
  std::map<uint64_t, Item> objects;
  std::vector<std::pair<uint64_t, uint64_t>> roots, dependents;  // kind and address
  std::vector<std::string> names;
  uint64_t counts[4] = {};
};

// As docs/internals/heap-dump.md says, not as the writer does.
class Parser {
 public:
  explicit Parser(const std::string& file) {
    size_t at = 16;
    if (file.size() < at || memcmp(file.data(), "FHDUMP\r\n\1\0\0\0", 12) != 0) return;
    while (at + 8 <= file.size()) {
      uint32_t head[2];
      memcpy(head, file.data() + at, sizeof head);
      at += sizeof head;
      if (head[0] == 0) {
        framed_ = at == file.size();
        break;
      }
      if (at + head[0] > file.size() || diag::checksum(reinterpret_cast<const uint8_t*>(file.data()) + at, head[0]) != head[1]) return;
      records_ += file.substr(at, head[0]);
      at += head[0];
    }
  }
  Dumped parse() {
    Dumped dumped;
    uint64_t last = 0;
    while (framed_ && next_ < records_.size()) {
      switch (records_[next_++]) {
        case 'P':
          EXPECT_EQ(number(), 4242u);
          for (int i = 0; i < 4; i++) number();
          break;
        case 'O': {
          uint64_t type = number(), address = last + static_cast<uint64_t>(difference()) * 8, size = number() * 8;
          Dumped::Item item = {type >> 2, type & 3, size, {}};
          for (uint64_t n = number(); n != 0; n--) item.references.insert(address + static_cast<uint64_t>(difference()) * 8);
          EXPECT_TRUE(dumped.objects.emplace(address, item).second);
          last = address;
          break;
        }
        case 'R': {
          uint64_t kind = number();
          number();
          dumped.roots.emplace_back(kind, number() * 8);
          break;
        }
        case 'D': {
          uint64_t primary = number() * 8;
          dumped.dependents.emplace_back(primary, number() * 8);
          break;
        }
        case 'T': {
          uint64_t length = number();
          dumped.names.push_back(records_.substr(next_, length));
          next_ += length;
          break;
        }
        case 'E':
          for (uint64_t& count : dumped.counts) count = number();
          dumped.whole = next_ == records_.size();
          return dumped;
        default: ADD_FAILURE() << "no record: " << static_cast<int>(records_[next_ - 1]); return dumped;
      }
    }
    return dumped;
  }

 private:
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; next_ < records_.size(); shift += 7) {
      auto byte = static_cast<uint8_t>(records_[next_++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  int64_t difference() {
    uint64_t value = number();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

  bool framed_ = false;
  std::string records_;
  size_t next_ = 0;
};

class HeapDumpTest : public ReachabilityTest {
 protected:
  void configure(core::Knobs& knobs) override {
    ReachabilityTest::configure(knobs);
    knobs.promotion = true;
  }

  static constexpr diag::DumpSupport kSupport = {[]() -> int32_t { return 4242; },
                                                 [](diag::RootDumped fn, void* argument) {
                                                   for (const Root& root : roots) fn(DumpedRoot::kHandle, 7, root.address, root.interior, argument);
                                                 },
                                                 [](diag::DependentDumped fn, void* argument) {
                                                   for (auto [primary, secondary] : dependents) fn(address(primary), address(secondary), argument);
                                                 },
                                                 [](void (*fn)(uint8_t*, uint8_t*, void*), void* argument) {
                                                   for (auto [first, end] : frozen) fn(first, end, argument);
                                                 }};

  static Dumped dump() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    std::string file;
    std::thread reader([&] {
      char some[4096];
      for (ssize_t got; (got = recv(ends[1], some, sizeof some, 0)) > 0;) file.append(some, static_cast<size_t>(got));
    });
    static diag::DumpStream stream;
    stream.begin(ends[0], 60'000'000'000);
    diag::DumpedTypes types;
    diag::DumpCounts counts;
    heap::set_threads_stopped(true);
    EXPECT_TRUE(diag::write_heap(stream, kSupport, types, &counts));
    heap::set_threads_stopped(false);
    for (size_t i = 0; i < types.count(); i++) diag::write_type_name(stream, "type", 4);
    diag::write_end(stream, counts);
    close(ends[0]);
    reader.join();
    close(ends[1]);
    EXPECT_EQ(stream.sent(), file.size());
    Dumped dumped = Parser(file).parse();
    EXPECT_TRUE(dumped.whole);
    EXPECT_EQ(dumped.counts[0], dumped.objects.size());
    EXPECT_EQ(dumped.counts[2], dumped.roots.size());
    EXPECT_EQ(dumped.counts[3], dumped.names.size());
    return dumped;
  }
};

TEST_F(HeapDumpTest, ObjectsWithTypesSizesAndReferences) {
  Object *leaf = allocate(&small_type.table), *text = allocate(&bytes_type.table, 100), *parent = node({leaf, text, leaf}), *deleted = node({parent});
  Object* many = allocate(&references_type.table, 5);
  add_root(parent);
  roots.push_back({address(many) + 16, true});
  dependents.emplace_back(parent, many);
  heap::delete_object(deleted);
  Dumped dumped = dump();
  ASSERT_EQ(dumped.objects.count(address(parent)), 1u);
  EXPECT_EQ(dumped.objects[address(parent)].references, (std::multiset<uint64_t>{address(leaf), address(leaf), address(text)}));
  EXPECT_EQ(dumped.objects[address(parent)].size, 40u);
  EXPECT_EQ(dumped.objects[address(text)].size, core::align_up(24 + 100, 8));
  EXPECT_EQ(dumped.objects[address(leaf)].state, 0u);
  EXPECT_EQ(dumped.objects[address(deleted)].state, 1u);
  EXPECT_TRUE(dumped.objects[address(deleted)].references.empty());
  EXPECT_EQ(dumped.objects[address(deleted)].type, dumped.objects[address(parent)].type);
  EXPECT_NE(dumped.objects[address(leaf)].type, dumped.objects[address(parent)].type);
  auto handle = static_cast<uint64_t>(DumpedRoot::kHandle);
  EXPECT_EQ(dumped.roots, (std::vector<std::pair<uint64_t, uint64_t>>{{handle, address(parent)}, {handle, address(many)}}));
  EXPECT_EQ(dumped.dependents, (std::vector<std::pair<uint64_t, uint64_t>>{{address(parent), address(many)}}));
}

TEST_F(HeapDumpTest, LargeAndHugeObjects) {
  Object *large = allocate(&bytes_type.table, 100'000), *huge = allocate(&references_type.table, 1'000'000), *last = node();
  set(huge, 500'000, last);
  Dumped dumped = dump();
  EXPECT_EQ(dumped.objects[address(large)].size, core::align_up(24 + 100'000, 8));
  EXPECT_EQ(dumped.objects[address(huge)].size, 24u + 8'000'000);
  EXPECT_EQ(dumped.objects[address(huge)].references, (std::multiset<uint64_t>{address(last)}));
}

// In a damaged heap the word of the type may lead to anything that can be read: nothing goes by what is written there.
TEST_F(HeapDumpTest, WhatCannotBeATypeIsNone) {
  Object *huge = allocate(&references_type.table, 1'000'000), *other = node();
  set(huge, 500'000, other);
  const core::MethodTable* type = huge->type;
  alignas(16) static constinit auto nonsense = [] {
    std::array<uint8_t, 256> bytes = {};
    bytes.fill(0x7f);
    return bytes;
  }();
  for (const void* wrong : {static_cast<const void*>(other), static_cast<const void*>(nonsense.data())}) {
    huge->type = static_cast<const core::MethodTable*>(wrong);
    Dumped dumped = dump();
    huge->type = type;
    EXPECT_EQ(dumped.objects[address(huge)].size, core::kMinimumObjectSize);
    EXPECT_TRUE(dumped.objects[address(huge)].references.empty());
    EXPECT_NE(dumped.objects[address(huge)].type, dumped.objects[address(other)].type);
  }
}

// Moved objects have their new names, whichever names references have.
TEST_F(HeapDumpTest, ARandomGraphBesideAModelWhileObjectsMove) {
  uint64_t seed = seed_of_run();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<Object*> live;
  for (int round = 0; round < 6; round++) {
    for (int i = 0; i < 20'000; i++) {
      Object* object = node();
      for (size_t word = 1; word <= 3 && !live.empty(); word++)
        if (random() % 2 == 0) set(object, word, live[random() % live.size()]);
      if (random() % 3 == 0) {
        live.push_back(object);
      } else {
        heap::delete_object(object);
      }
    }
    heap::promote(heap::PromotionScope::kAll);
    std::map<uint64_t, std::multiset<uint64_t>> model;
    for (Object* object : live) {
      std::multiset<uint64_t>& references = model[address(current(object))];
      for (size_t word = 1; word <= 3; word++) {
        uint64_t value = reinterpret_cast<uint64_t*>(current(object))[word];
        if (value != 0) references.insert(heap::current_address(value));
      }
    }
    Dumped dumped = dump();
    size_t alive = 0;
    for (const auto& [address, item] : dumped.objects) {
      if (item.state != 0) continue;
      alive++;
      auto found = model.find(address);
      ASSERT_NE(found, model.end()) << std::hex << address;
      EXPECT_EQ(item.references, found->second);
    }
    EXPECT_EQ(alive, model.size());
  }
}

TEST_F(HeapDumpTest, WhoHasGoneIsNotWrittenTo) {
  for (int i = 0; i < 100'000; i++) node();
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  close(ends[1]);
  static diag::DumpStream stream;
  stream.begin(ends[0], 60'000'000'000);
  diag::DumpedTypes types;
  diag::DumpCounts counts;
  EXPECT_FALSE(diag::write_heap(stream, kSupport, types, &counts));
  close(ends[0]);
  // Nor for ever to who does not read: there is no patience at all.
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  stream.begin(ends[0], 0);
  EXPECT_FALSE(diag::write_heap(stream, kSupport, types, &counts));
  EXPECT_TRUE(stream.has_failed());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace freehold::testing
