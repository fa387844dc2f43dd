#include "split_mesher.h"

#include <algorithm>

#include "knobs.h"
#include "no_signals.h"

namespace freehold::mesh {
namespace {

constexpr size_t kCandidatesSize = SplitMesher::kMaximalCandidates * 40;  // of Candidate
constexpr uint64_t kLongestPause = 1000;                                  // milliseconds
constexpr uint64_t kLongestPass = 30'000'000;                             // nanoseconds of the processor: the thread that came by does the work
constexpr uint32_t kLeastSpans = 8;                                       // partial spans of a class below which nothing is worth a look
// Buffers of the C library's streams, which no interposed call sees: one of 4096 bytes or more is in no span that meshes, one of this size may be.
constexpr uint32_t kStreamBuffer = 1024;
constexpr uint32_t kBatch = 64;  // spans meshed between two looks at announcements

// Other threads write to what is not copied, and nobody to what is.
__attribute__((no_sanitize("thread", "address"), noinline)) void copy(uint8_t* to, const uint8_t* from, size_t size) noexcept {
  auto* target = reinterpret_cast<uint64_t*>(to);
  auto* source = reinterpret_cast<const uint64_t*>(from);
  for (size_t i = 0; i < size / 8; i++) target[i] = source[i];
}

}  // namespace

bool SplitMesher::open(GlobalHeap& heap, WriteBarrier& barrier, uint64_t seed) noexcept {
  static_assert(kCandidatesSize == kMaximalCandidates * sizeof(Candidate));
  heap_ = &heap;
  barrier_ = &barrier;
  random_ = Random(seed);
  pause_ = knobs.period;
  // Four fifths of what the kernel allows; the rest is for the program.
  budget_ = static_cast<int64_t>(knobs.map_budget != 0 ? knobs.map_budget : os::maximal_mappings() * 4 / 5);
  candidates_ = static_cast<Candidate*>(os::reserve(kCandidatesSize));
  return candidates_ != nullptr && os::commit(candidates_, kCandidatesSize);
}

void SplitMesher::close() noexcept {
  if (candidates_ != nullptr) os::unreserve(candidates_, kCandidatesSize);
  candidates_ = nullptr;
}

bool SplitMesher::is_candidate(const MiniHeap& mini_heap, uint32_t size_class) const noexcept {
  return mini_heap.bin.load(std::memory_order_relaxed) < GlobalHeap::kBins && mini_heap.size_class.load(std::memory_order_relaxed) == size_class &&
         mini_heap.members < kMaximalMembers && !heap_->arena().is_frozen(mini_heap.page);
}

// With the mesher's and the class's lock. The spans that have their pages from `other` have them from `one` afterwards.
bool SplitMesher::mesh(uint32_t size_class, MiniHeapId one, MiniHeapId other) noexcept {
  const SizeClass& c = kSizeClasses[size_class];
  MeshableArena& arena = heap_->arena();
  MiniHeap &target = (*heap_)[one], &source = (*heap_)[other];
  Bits valid = Bits::first(c.slots), free_there = heap_->free_of(target), free_here = heap_->free_of(source), live;
  for (int i = 0; i < 4; i++) live.words[i] = ~free_here.words[i] & valid.words[i];
  for (int i = 0; i < 4; i++) {
    if ((live.words[i] & ~free_there.words[i]) != 0) return false;
  }
  size_t span = size_t{c.pages} << os::kPageShift;
  MiniHeapId group[kMaximalMembers + 1];
  uint32_t count = 0;
  for (MiniHeapId id = source.next_member; id != 0; id = (*heap_)[id].next_member) group[count++] = id;
  group[count++] = other;  // the leader last, so that at each step every span knows where its pages are
  for (uint32_t i = 0; i < count; i++) {
    if (barrier_->protect(arena.address((*heap_)[group[i]].page), span)) continue;
    while (i-- > 0) barrier_->lift(arena.address((*heap_)[group[i]].page), span);
    figures_.refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // A slot that is freed from now on is copied all the same. None is allocated: that takes the class's lock.
  uint8_t *from = arena.address(source.page), *to = arena.address(target.page);
  uint64_t copied = 0;
  for (uint32_t i = 0; i < 4; i++) {
    for (uint64_t bits = live.words[i]; bits != 0; bits &= bits - 1, copied++) {
      size_t offset = (64 * i + static_cast<uint32_t>(__builtin_ctzll(bits))) * size_t{c.size};
      copy(to + offset, from + offset, c.size);
    }
  }
  figures_.bytes_copied.fetch_add(copied * c.size, std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; i++) {
    MiniHeap& moved = (*heap_)[group[i]];
    uint8_t* address = arena.address(moved.page);
    if (!arena.alias(target.page, moved.page, c.pages, source.page)) {
      for (uint32_t k = i; k < count; k++) barrier_->lift(arena.address((*heap_)[group[k]].page), span);
      heap_->settle(source);
      heap_->settle(target);
      figures_.refused.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    barrier_->release(address, span);
    if (&moved != &source) {
      source.next_member = moved.next_member;  // the group is taken in the order of the chain
      source.members--;
    } else {
      heap_->take_from_bin(source);
    }
    moved.next_member = target.next_member;
    target.next_member = group[i];
    target.members++;
    moved.leader.store(one, std::memory_order_seq_cst);
    moved.bin.store(MiniHeap::kMember, std::memory_order_seq_cst);
  }
  heap_->saved_pages.fetch_add(kSizeClasses[size_class].pages, std::memory_order_relaxed);
  arena.remove_meshed(source.page, c.pages);
  figures_.meshes.fetch_add(1, std::memory_order_relaxed);
  // Whoever freed the last slot of one of them meanwhile saw the old leader.
  for (uint32_t i = 0; i < count; i++) {
    MiniHeap& moved = (*heap_)[group[i]];
    if (moved.bin.load(std::memory_order_relaxed) == MiniHeap::kMember && moved.is_empty()) heap_->settle(moved);
  }
  if (target.bin.load(std::memory_order_relaxed) != MiniHeap::kUnused) heap_->settle(target);
  return true;
}

uint32_t SplitMesher::run_class(uint32_t size_class, uint64_t end_of_pass) noexcept {
  const SizeClass& c = kSizeClasses[size_class];
  Bits valid = Bits::first(c.slots);
  uint32_t count = 0;
  {
    os::LockGuard guard(heap_->lock_of(size_class));
    heap_->put_in_order(size_class);
    // The emptiest first: they have the best prospects.
    for (uint32_t bin = GlobalHeap::kBins; bin-- > 1;) {
      for (MiniHeapId id = heap_->first_of_bin(size_class, bin); id != 0 && count < kMaximalCandidates; id = (*heap_)[id].next) {
        if (!is_candidate((*heap_)[id], size_class)) continue;
        Candidate& candidate = candidates_[count++];
        candidate.id = id;
        candidate.page = (*heap_)[id].page;
        candidate.live = heap_->free_of((*heap_)[id]);
        for (int i = 0; i < 4; i++) candidate.live.words[i] = ~candidate.live.words[i] & valid.words[i];
      }
    }
  }
  if (count < 2) return 0;
  // By address instead of at random, which the slots within are already: what moves is at high addresses and where it goes at low ones, so that neighbours
  // stay neighbours and the kernel needs fewer mappings.
  std::sort(candidates_, candidates_ + count, [](const Candidate& a, const Candidate& b) noexcept { return a.page < b.page; });
  uint32_t meshed = 0, in_batch = 0;
  bool open = false;
  split(candidates_, count, random_.below(count / 2), [&](const Candidate& left, const Candidate& right) noexcept {
    if (heap_->arena().mappings() + 2 > budget_) return false;
    if (!open && !(open = barrier_->begin(heap_->heaps(), heap_->heap_count()))) return false;
    {
      os::LockGuard guard(heap_->lock_of(size_class));
      MiniHeap &one = (*heap_)[left.id], &other = (*heap_)[right.id];
      if (is_candidate(one, size_class) && is_candidate(other, size_class) && one.members + other.members + 1u <= kMaximalMembers) {
        meshed += mesh(size_class, left.id, right.id);
      }
    }
    if (++in_batch < kBatch) return true;
    // Who wants to announce something waits no longer than for a batch.
    barrier_->end();
    open = false;
    in_batch = 0;
    return os::processor_time() < end_of_pass;
  });
  if (open) barrier_->end();
  return meshed;
}

uint64_t SplitMesher::run(uint64_t milliseconds, bool now_anyway) noexcept {
  // Not open: meshing is switched off, or there is no file for spans.
  if (!knobs.meshing || candidates_ == nullptr || barrier_->kind() == BarrierKind::kNone) return 0;
  if (!now_anyway && milliseconds < next_time_.load(std::memory_order_relaxed)) return 0;
  if (!lock_.try_lock()) return 0;
  uint64_t partial = 0;
  for (uint32_t i = 1; i < kClasses; i++) {
    if (is_meshable(i)) partial += heap_->partial_spans(i);
  }
  uint64_t meshed = 0;
  bool likely = partial >= 32 && (pause_ <= knobs.period || partial > partial_then_ + partial_then_ / 8 || milliseconds >= last_pass_ + pause_);
  if (likely || now_anyway) {
    // A handler that interrupts a pass, and stores to a span that is being meshed or announces a system call, would wait for what only the pass can end.
    NoSignals no_signals;
    uint64_t begin = os::processor_time(), end = now_anyway ? UINT64_MAX : begin + kLongestPass;
    for (uint32_t n = 1; n < kClasses && (n == 1 || os::processor_time() < end); n++) {
      // Each pass begins with the class after the one at which the last pass ended.
      uint32_t i = last_class_ = last_class_ % (kClasses - 1) + 1;
      if (is_meshable(i) && heap_->partial_spans(i) >= (now_anyway ? 2 : kLeastSpans) &&
          !(barrier_->needs_announcements() && kSizeClasses[i].size == kStreamBuffer)) {
        meshed += run_class(i, end);
      }
    }
    uint64_t time = os::processor_time() - begin;
    figures_.passes.fetch_add(1, std::memory_order_relaxed);
    figures_.nanoseconds.fetch_add(time, std::memory_order_relaxed);
    if (time > figures_.longest_nanoseconds.load(std::memory_order_relaxed)) figures_.longest_nanoseconds.store(time, std::memory_order_relaxed);
    partial_then_ = partial - std::min(partial, meshed);
    // It pays if a span takes at most a fifth of a millisecond. Otherwise the next one waits for new partial spans, or for a time that doubles. And passes take a third of the
    // time at most, a twentieth if they do not pay.
    bool pays = meshed >= 8 && time < meshed * 200'000;
    pause_ = pays ? knobs.period : std::min(std::max<uint64_t>(pause_, 1) * 2, kLongestPause);
    last_pass_ = milliseconds;
    next_time_.store(milliseconds + std::max(knobs.period, time / (pays ? 500'000 : 50'000)), std::memory_order_relaxed);
  } else {
    next_time_.store(milliseconds + knobs.period, std::memory_order_relaxed);
  }
  lock_.unlock();
  return meshed;
}

}  // namespace freehold::mesh
