#include "statistics.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "defragmenter.h"
#include "faults.h"
#include "os.h"
#include "runtime.h"

namespace freehold::bridge::statistics {

namespace {

// Bytes; 0: the kernel does not say.
uint64_t proportional_set() noexcept {
  int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[2048];
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* line = strstr(text, "\nPss:");
  if (line == nullptr) return 0;
  uint64_t kilobytes = 0;
  for (const char* c = line + 5; *c != '\0' && *c != 'k'; c++) {
    if (*c >= '0' && *c <= '9') kilobytes = kilobytes * 10 + static_cast<uint64_t>(*c - '0');
  }
  return kilobytes * 1024;
}

}  // namespace

void print() noexcept {
  HeapFigures figures = heap.figures();
  threads::StopFigures stops = threads::stop_figures();
  os::print(
      "freehold native: %u objects live, %u bytes; spans %u bytes; process PSS %u bytes\n"
      "freehold native: %u objects moved, %u bytes, %u rounds; %u stops, longest %u us, longest wait for threads %u us, all %u us, %u given up\n"
      "freehold native: %u handles repaired in uncompiled code, %u without a step; %u passed to code that may keep them\n",
      figures.live_objects, figures.live_bytes, figures.resident_bytes, proportional_set(), figures.moved_objects, figures.moved_bytes, defragmenter.rounds(),
      stops.stops, stops.longest_nanoseconds / 1000, stops.longest_wait_nanoseconds / 1000, stops.total_nanoseconds / 1000, stops.abandoned, faults::repaired(),
      faults::emulated(), escaped.load(std::memory_order_relaxed));
}

}  // namespace freehold::bridge::statistics

using namespace freehold::bridge;

extern "C" size_t freehold_handles_statistics(uint64_t* figures, size_t count) {
#define FREEHOLD_FIGURE(name, unit, text) uint64_t name;
  struct Table {
#include "handle_figures.inc"
  };
#undef FREEHOLD_FIGURE
  constexpr size_t kFigures = sizeof(Table) / sizeof(uint64_t);
  if (count == 0) return kFigures;
  HeapFigures now = heap.figures();
  threads::StopFigures stops = threads::stop_figures();
  Table table = {
      .LiveObjects = now.live_objects,
      .LiveBytes = now.live_bytes,
      .ResidentBytes = now.resident_bytes,
      .MovedObjects = now.moved_objects,
      .MovedBytes = now.moved_bytes,
      .Rounds = defragmenter.rounds(),
      .Stops = stops.stops,
      .LongestStop = stops.longest_nanoseconds,
      .LongestWait = stops.longest_wait_nanoseconds,
      .AbandonedStops = stops.abandoned,
      .RepairedHandles = faults::repaired(),
      .EmulatedMoves = faults::emulated(),
      .EscapedHandles = escaped.load(std::memory_order_relaxed),
  };
  memcpy(figures, &table, (count < kFigures ? count : kFigures) * sizeof(uint64_t));
  return kFigures;
}
