// The defragmenter as a service: the callbacks of include/service.h on the heap of spans.
#include "defragmenter.h"
#include "heap.h"
#include "services.h"
#include "threads.h"

namespace freehold::bridge {

namespace {

ThreadCache& cache() noexcept { return threads::current().cache; }

int init() noexcept { return heap.initialize() ? 0 : 1; }
void deinit() noexcept {}
void* alloc(uint32_t id, size_t size, size_t* alignment, int zeroed) noexcept { return heap.allocate(cache(), id, size, alignment, zeroed != 0); }
void* resize(uint32_t, void* start, size_t size) noexcept { return heap.reallocate(start, size); }
int release(uint32_t id, void* address) noexcept { return heap.free(cache(), id, address) ? 1 : 0; }
size_t usable_size(void* address) noexcept { return heap.usable_size(address); }
uint32_t find(void* address, void** start) noexcept { return heap.find(address, start); }
void barrier(int everything) noexcept {
  if (everything != 0) {
    defragmenter.move_all_objects();
  } else {
    defragmenter.compact_all();
  }
}

}  // namespace

const freehold_service defragmenting_service = {FREEHOLD_SERVICE_VERSION, "defragmenter", init, deinit, alloc, resize, release, usable_size, find, barrier};

}  // namespace freehold::bridge
