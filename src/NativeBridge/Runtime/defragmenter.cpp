#include "defragmenter.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "knobs.h"
#include "os.h"
#include "statistics.h"

namespace freehold::bridge {

Defragmenter defragmenter;

namespace {

constexpr uint64_t kShortestWait = 100'000, kLongestWait = 60'000'000;  // microseconds between two looks at the heap
constexpr size_t kWorthIt = size_t{4} << 20;                            // bytes

}  // namespace

void Defragmenter::initialize() noexcept {
  char error[512];
  if (!read_knobs(environ, error, sizeof error)) os::fail("freehold: %s\n", error);
  if (knobs.statistics) atexit(statistics::print);
  if (knobs.stress == 0) return;
  heap.overwrite_moved();
  threads::always_poll();
}

// Everything moves so often that it is a constant cost for each event, however many objects there are and however large they are.
void Defragmenter::stress_step(Thread&) noexcept {
  uint64_t events = events_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (events < knobs.stress) return;
  if (knobs.stress_moves && knobs.stress != 1) {
    // A handler that interrupts this thread here may poll, too: it must not wait for what the thread has.
    if (!heap.try_lock()) return;
    uint64_t pages = heap.spans().live() / os::kPageSize;
    heap.unlock();
    if (events < knobs.stress + table.ever_given_out() / 4 + pages) return;
  }
  events_.store(0, std::memory_order_relaxed);
  if (knobs.stress_moves) return move_everything();
  threads::stop();
  threads::resume();
}

void Defragmenter::move_everything() noexcept {
  threads::stop();
  uint64_t count = table.ever_given_out();
  for (uint64_t id = 1; id <= count; id++) heap.move(static_cast<uint32_t>(id), nullptr);
  if (const char* wrong = heap.verify()) os::fail("freehold: after everything moved: %s\n", wrong);
  threads::resume();
}

size_t Defragmenter::compact(uint32_t size_class, const Bounds& bounds) noexcept {
  Spans& spans = heap.spans();
  // Spans with room, the sparsest first.
  uint32_t slots = Spans::slots_in(size_class);
  heap.lock();
  size_t count = 0, room = 0;
  for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) {
    count++;
    room += slots - spans.numbered(at)->live;
  }
  if (room < 2 * slots) {
    heap.unlock();
    return 0;
  }
  size_t counters = slots + 2, bytes = ((count + counters) * sizeof(uint32_t) + os::kPageSize - 1) & ~(os::kPageSize - 1);
  auto* sorted = static_cast<uint32_t*>(os::map(bytes));
  if (sorted == nullptr) {
    heap.unlock();
    return 0;
  }
  uint32_t* place = sorted + count;
  for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) place[spans.numbered(at)->live + 1]++;
  for (size_t i = 1; i < counters; i++) place[i] += place[i - 1];
  for (uint32_t at = heap.partial(size_class); at != 0; at = spans.numbered(at)->next) sorted[place[spans.numbered(at)->live]++] = at;
  heap.unlock();

  size_t emptied = 0, from = 0, to = count, slot = 0;
  auto has_room = [&](uint32_t number) {
    Span* span = spans.numbered(number);
    return span->kind == SpanKind::kSmall && span->size_class == size_class && span->free_slot != kNoSlot;
  };
  while (from + 1 < to) {
    threads::stop();
    uint64_t began = os::nanoseconds(), time = 0;
    threads::for_each([&](Thread& thread) { heap.take_loose(thread.cache, size_class); });
    for (size_t moves = 0; from + 1 < to && time < kBatchMicroseconds * 1000;) {
      Span* source = spans.numbered(sorted[from]);
      bool is_here = source->kind == SpanKind::kSmall && source->size_class == size_class;
      if (!is_here || slot == slots) {
        from++;
        slot = 0;
        time = os::nanoseconds() - began;
        continue;
      }
      uint32_t id = spans.word(source, static_cast<uint32_t>(slot)).load(std::memory_order_relaxed);
      if ((id & kFreeSlot) == 0) {
        while (from + 1 < to && !has_room(sorted[to - 1])) to--;
        if (from + 1 >= to) break;
        if (heap.move(id, spans.numbered(sorted[to - 1])) && (source->kind != SpanKind::kSmall || source->live == 0)) emptied += kUnit;
        if (++moves % 64 == 0) time = os::nanoseconds() - began;
      }
      slot++;
    }
    threads::resume();
    time = os::nanoseconds() - began;
    os::pause(static_cast<uint64_t>(static_cast<double>(time) / 1000 * (1 - bounds.overhead) / bounds.overhead) + 1);
  }
  os::unmap(sorted, bytes);
  return emptied;
}

size_t Defragmenter::run_round(const Bounds& bounds) noexcept {
  size_t emptied = 0;
  for (uint32_t c = 0; c < kClasses; c++) emptied += compact(c, bounds);
  heap.lock();
  heap.spans().give_back_dirty();
  heap.unlock();
  rounds_.fetch_add(1, std::memory_order_relaxed);
  return emptied;
}

void* Defragmenter::watch(void* pointer) noexcept {
  auto* self = static_cast<Defragmenter*>(pointer);
  Bounds bounds;
  uint64_t wait = kShortestWait;
  while (true) {
    os::pause(wait);
    heap.lock();
    double used = static_cast<double>(heap.spans().used()), live = static_cast<double>(heap.spans().live());
    heap.unlock();
    if (used < live * bounds.upper || used - live < static_cast<double>(kWorthIt)) {
      wait = kShortestWait;
      continue;
    }
    double gained = static_cast<double>(self->run_round(bounds));
    // What could have been gained, had nothing been pinned, is what is above the lower bound.
    bool paid = gained * 4 >= used - live * bounds.lower;
    wait = paid ? kShortestWait : wait * 2 < kLongestWait ? wait * 2 : kLongestWait;
  }
  return nullptr;
}

void Defragmenter::start() noexcept {
  if (!knobs.defragment || started_.exchange(true, std::memory_order_relaxed)) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // It takes no signals that are meant for the program.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, watch, this) != 0) started_.store(false, std::memory_order_relaxed);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace freehold::bridge
