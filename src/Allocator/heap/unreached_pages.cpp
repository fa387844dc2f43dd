#include "heap/unreached_pages.h"

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "heap/chunks.h"
#include "heap/dead_blocks.h"
#include "heap/dead_locks.h"
#include "heap/shading.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kPageSize;
using core::kPagesPerBlock;
using core::Object;

namespace {

bool has_marks(size_t page) noexcept {
  constexpr size_t kWords = kPageSize / core::kUnit / 64;
  uint64_t any = 0;
  for (size_t word = 0; word < kWords; word++) any |= shading.marks[page * kWords + word].load(std::memory_order_relaxed);
  return any != 0;
}

void set_deleted(uint8_t* start) noexcept {
  uint32_t header;
  auto* word = reinterpret_cast<uint32_t*>(start);
  if (core::try_load(word, &header)) core::try_store(word, header | core::kDeletedBit);
}

}  // namespace

bool is_used_up_small_block(size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  return record.state.load(std::memory_order_acquire) == BlockState::kLive && record.kind == BlockKind::kSmall &&
         record.claimed.load(std::memory_order_acquire) == ~uint64_t{0} && record.initialised.load(std::memory_order_acquire) == ~uint64_t{0};
}

bool is_reached_whole(size_t block) noexcept {
  // Deletions that meet on a page lose one of their counts: it is too little rather than too much.
  size_t deleted = 0;
  for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) deleted += core::noted_dead_units(page);
  return shading.found[block] + deleted * core::kUnit >= core::kBlockSize;
}

Unreached UnreachedPages::run() noexcept {
  register_thread();
  walk_block(block_, [this](uint8_t* start, const Walked& walked) noexcept { look_at_object(start, walked); });
  end_page();
  thread_heap.deleted_objects += all_.objects;
  thread_heap.deleted_bytes += all_.bytes;
  return all_;
}

void UnreachedPages::look_at_object(uint8_t* start, const Walked& walked) noexcept {
  size_t page = arena.page_index(reinterpret_cast<uintptr_t>(start));
  if (page != page_) {
    end_page();
    begin_page(page);
  }
  next_ = start + walked.size;
  if (walked.step != Step::kObject || (walked.header & core::kDeletedBit) != 0) return;
  Object* object = Object::at(start);
  auto address = reinterpret_cast<uintptr_t>(object);
  bool reaches_on = next_ > arena.page_start(page) + kPageSize;
  // The mark of an object whose header ends the page is the next page's.
  if ((bears_ || reaches_on) && (is_marked(address) || (keeps_ && kept_.is_kept(address)))) {
    live_until_ = next_;
    bears_ = true;
    return;
  }
  // A walk of the next page must see that it is deleted.
  if (reaches_on) return remove_(object, walked.size, argument_);
  uint32_t sync;
  if (core::try_load(object->sync_word(), &sync) && core::has_lock(sync)) note_dead_lock(sync & core::kSyncHashOrIndex);
  all_.objects++;
  all_.bytes += walked.size;
  units_ += walked.size / core::kUnit;
  if (bears_) set_deleted(start);
  else starts_[count_++] = start;
}

void UnreachedPages::begin_page(size_t page) noexcept {
  const uint8_t* begin = arena.page_start(page);
  // What reaches in from a page that could not be walked to its end may live.
  bool knows_before = page % kPagesPerBlock == 0 || next_ >= begin || core::is_page_dead(page - 1);
  page_ = page;
  bears_ = keeps_ || !knows_before || live_until_ > begin || has_marks(page);
  units_ = count_ = 0;
}

void UnreachedPages::end_page() noexcept {
  if (page_ == kNone) return;
  if (!bears_ && next_ >= arena.page_start(page_) + kPageSize) return mark_page_dead(page_);
  for (size_t i = 0; i < count_; i++) set_deleted(starts_[i]);
  if (units_ == 0) return;
  uint16_t* deleted = &arena.pages[page_].deleted;
  auto sum = static_cast<uint16_t>(__atomic_load_n(deleted, __ATOMIC_RELAXED) + units_);
  __atomic_store_n(deleted, sum, __ATOMIC_RELAXED);
  if (sum >= core::kUnitsPerPage) recount_page(page_);
}

}  // namespace freehold::heap
