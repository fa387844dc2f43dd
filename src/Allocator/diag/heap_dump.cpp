#include "diag/heap_dump.h"

#include <time.h>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/references.h"
#include "diag/statistics.h"
#include "heap/block_walk.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::diag {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::MethodTable;
using core::Object;

namespace {

enum class Record : uint8_t { kProcess = 'P', kObject = 'O', kRoot = 'R', kDependent = 'D', kType = 'T', kEnd = 'E' };
enum class State : uint8_t { kLive = 0, kDeleted = 1, kFrozen = 2 };

class Writer {
 public:
  Writer(DumpStream& stream, DumpedTypes& types, DumpCounts& counts) noexcept : stream_(stream), types_(types), counts_(counts) {}

  bool is_complete() const noexcept { return !failed_ && !stream_.has_failed(); }

  void write_process(int32_t process) noexcept {
    uint64_t figures[kFigureCount] = {};
    collect_statistics(figures, kFigureCount);
    begin(Record::kProcess);
    stream_.number(static_cast<uint64_t>(process));
    stream_.number(static_cast<uint64_t>(time(nullptr)));
    stream_.number(figures[kAllocatedBytes]);
    stream_.number(figures[kDeletedBytes]);
    stream_.number(figures[kResidentBytes]);
  }

  void write_object(const Object* object, const MethodTable* type, size_t size, State state) noexcept {
    // In a damaged heap the word may lead anywhere. Nobody is asked for the name of such a type, and nothing is read by its description.
    bool known = is_plausible(type);
    if (!known) {
      type = nullptr;
      size = core::kMinimumObjectSize;
    }
    size_t number = types_.number_of(type);
    if (number == DumpedTypes::kMost) failed_ = true;
    if (!is_complete()) return;
    auto address = reinterpret_cast<uintptr_t>(object);
    uint64_t references = 0;
    // What was deleted leads nowhere: nobody may follow it.
    auto for_each = [&](auto function) noexcept {
      if (!known || state == State::kDeleted) return;
      core::for_each_reference(object, type, size, [&](const uint64_t* slot) noexcept {
        uint64_t value;
        if (core::try_load(slot, &value) && value != 0) function(arena.contains(value) ? heap::current_address(value) : value);
      });
    };
    for_each([&](uint64_t) noexcept { references++; });
    begin(Record::kObject);
    stream_.number(number << 2 | static_cast<uint64_t>(state));
    stream_.difference(words_from(last_address_, address));
    stream_.number(size / core::kObjectAlignment);
    stream_.number(references);
    last_address_ = address;
    counts_.objects++;
    counts_.references += references;
    for_each([&](uint64_t value) noexcept {
      // A reference that leads into the middle of a word is damage, which verify finds.
      stream_.difference(words_from(address, value));
    });
  }

  void write_root(DumpedRoot kind, uint64_t thread, uintptr_t address, bool interior) noexcept {
    if (!arena.contains(address)) return;
    address = heap::current_address(address);
    // One past the end of an object is still its: no reference leads to a header.
    if (interior) address = reinterpret_cast<uintptr_t>(heap::find_object(address - 1));
    if (address == 0) return;
    begin(Record::kRoot);
    stream_.number(static_cast<uint64_t>(kind));
    stream_.number(thread);
    stream_.number(address / core::kUnit);
    counts_.roots++;
  }

  void write_dependent(uintptr_t primary, uintptr_t secondary) noexcept {
    if (primary == 0 || !arena.contains(secondary)) return;
    begin(Record::kDependent);
    stream_.number((arena.contains(primary) ? heap::current_address(primary) : primary) / core::kUnit);
    stream_.number(heap::current_address(secondary) / core::kUnit);
  }

 private:
  // Neighbours mostly have one type.
  bool is_plausible(const MethodTable* type) noexcept {
    if (type != nullptr && type == plausible_) return true;
    auto table = reinterpret_cast<uintptr_t>(type);
    uint64_t head;
    if (table == 0 || table % alignof(MethodTable) != 0 || arena.contains(table) || !core::try_load(reinterpret_cast<const uint64_t*>(table), &head))
      return false;
    constexpr uint32_t kMostBytes = 1u << 30;
    if (type->base_size < core::kMinimumObjectSize - 4 || type->base_size >= kMostBytes) return false;
    plausible_ = type;
    return true;
  }
  static uint64_t words_from(uint64_t from, uint64_t to) noexcept { return static_cast<uint64_t>(static_cast<int64_t>(to - from) >> 3); }
  void begin(Record record) noexcept { stream_.byte(static_cast<uint8_t>(record)); }

  DumpStream& stream_;
  DumpedTypes& types_;
  DumpCounts& counts_;
  uint64_t last_address_ = 0;
  const MethodTable* plausible_ = nullptr;
  bool failed_ = false;
};

void write_blocks(Writer& writer) noexcept {
  auto tell = [&](uint8_t* start, const heap::Walked& walked) noexcept {
    if (walked.step != heap::Step::kObject) return;
    // A page may have died without a store to its objects (heap/unreached_pages.h).
    bool deleted = (walked.header & core::kDeletedBit) != 0 || core::is_page_dead(arena.page_index(reinterpret_cast<uintptr_t>(start)));
    writer.write_object(Object::at(start), walked.type, walked.size, deleted ? State::kDeleted : State::kLive);
  };
  heap::for_each_lower_block([&](size_t block) noexcept {
    if (!writer.is_complete() || arena.blocks[block].state.load(std::memory_order_acquire) != BlockState::kLive) return;
    heap::walk_block<heap::Pages::kWithMemory>(block, tell);
  });
  heap::for_each_upper_block([&](size_t block) noexcept {
    const core::BlockRecord& record = arena.blocks[block];
    if (!writer.is_complete() || record.state.load(std::memory_order_acquire) != BlockState::kLive || record.kind != BlockKind::kHuge) return;
    heap::Walked walked = heap::look_at(arena.block_start(block));
    if (walked.step == heap::Step::kObject)
      writer.write_object(Object::at(arena.block_start(block)), walked.type, walked.size,
                          (walked.header & core::kDeletedBit) != 0 ? State::kDeleted : State::kLive);
  });
}

}  // namespace

DumpedTypes::DumpedTypes() noexcept
    : slots_(static_cast<uint32_t*>(os::reserve(kSlots * sizeof(uint32_t), os::kPageSize, 0))), list_(kMost * sizeof(void*), size_t{64} << 10) {
  if (slots_ != nullptr && !os::commit(slots_, kSlots * sizeof(uint32_t))) os::unreserve_at(slots_, kSlots * sizeof(uint32_t));
  list_.reserve();
}

DumpedTypes::~DumpedTypes() {
  os::unreserve_at(slots_, kSlots * sizeof(uint32_t));
  list_.release();
}

size_t DumpedTypes::number_of(const MethodTable* type) noexcept {
  // Neighbours mostly have one type.
  if (type == last_ && count_ != 0) return last_number_;
  if (slots_ == nullptr) return kMost;
  size_t slot = (reinterpret_cast<uintptr_t>(type) / sizeof(uint64_t) * 0x9e3779b97f4a7c15) >> 32;
  for (slot %= kSlots; slots_[slot] != 0 && types()[slots_[slot] - 1] != type; slot = (slot + 1) % kSlots) {}
  if (slots_[slot] == 0) {
    if (count_ + 1 == kMost || !list_.reach((count_ + 1) * sizeof(void*))) return kMost;
    reinterpret_cast<const MethodTable**>(list_.start())[count_] = type;
    slots_[slot] = static_cast<uint32_t>(++count_);
  }
  last_ = type;
  return last_number_ = slots_[slot] - 1;
}

bool write_heap(DumpStream& stream, const DumpSupport& support, DumpedTypes& types, DumpCounts* counts) noexcept {
  struct Header {
    char magic[8];
    uint32_t version, flags;
  } header = {{}, kDumpVersion, 0};
  __builtin_memcpy(header.magic, kDumpMagic, sizeof header.magic);
  stream.raw(&header, sizeof header);
  Writer writer(stream, types, *counts);
  writer.write_process(support.process());
  write_blocks(writer);
  support.for_each_frozen(
      [](uint8_t* first, uint8_t* end, void* argument) {
        heap::walk_frozen(first, end, [argument](Object* object, size_t size) noexcept {
          static_cast<Writer*>(argument)->write_object(object, object->type, size, State::kFrozen);
        });
      },
      &writer);
  support.for_each_root([](DumpedRoot kind, uint64_t thread, uintptr_t address, bool interior,
                           void* argument) { static_cast<Writer*>(argument)->write_root(kind, thread, address, interior); },
                        &writer);
  heap::for_each_finalizable([](uint64_t* slot, void* argument) { static_cast<Writer*>(argument)->write_root(DumpedRoot::kFinalizer, 0, *slot, false); },
                             &writer);
  support.for_each_dependent(
      [](uintptr_t primary, uintptr_t secondary, void* argument) { static_cast<Writer*>(argument)->write_dependent(primary, secondary); }, &writer);
  stream.flush();
  counts->types = types.count();
  return writer.is_complete();
}

void write_type_name(DumpStream& stream, const char* name, size_t length) noexcept {
  stream.byte(static_cast<uint8_t>(Record::kType));
  stream.text(name, length);
}

void write_end(DumpStream& stream, const DumpCounts& counts) noexcept {
  stream.byte(static_cast<uint8_t>(Record::kEnd));
  stream.number(counts.objects);
  stream.number(counts.references);
  stream.number(counts.roots);
  stream.number(counts.types);
  stream.end();
}

}  // namespace freehold::diag
