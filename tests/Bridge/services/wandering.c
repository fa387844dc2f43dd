// A service of a program, compiled without handles: at each barrier every object that is not pinned moves to another block, and its old one is overwritten. Blocks are powers
// of two, each size in a range of its own, so that an address leads to its block by a shift.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "freehold/service.h"

// In ids, during a barrier: the object has moved.
#define MOVED 0x80000000u

enum { kLeast = 4, kMost = 32, kRange = 34, kSizes = kMost - kLeast + 1 };

static struct {
  uint32_t* ids;        // of each block, 0: free
  uint32_t* next_free;  // numbers plus one
  uint32_t free, used;
} sizes[kSizes];
static char* start;
static struct freehold_lock lock;
static unsigned long moves, kept;

static void* reserve(size_t size) {
  void* made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? NULL : made;
}
static unsigned bits_of(size_t size) {
  unsigned bits = kLeast;
  while ((size_t)1 << bits < size) bits++;
  return bits;
}
static char* block(unsigned bits, uint32_t number) { return start + ((size_t)(bits - kLeast) << kRange) + ((size_t)number << bits); }
static unsigned bits_at(void* address) { return (unsigned)(((char*)address - start) >> kRange) + kLeast; }
static uint32_t number_at(void* address) { return (uint32_t)((((char*)address - start) & (((size_t)1 << kRange) - 1)) >> bits_at(address)); }
static int is_mine(void* address) { return (char*)address >= start && (size_t)((char*)address - start) < (size_t)kSizes << kRange; }

static int init(void) {
  if (!freehold_service_add_lock(&lock)) return 1;
  char* made = reserve(((size_t)kSizes << kRange) + 65536);
  for (unsigned i = 0; i < kSizes; i++) {
    size_t bytes = (((size_t)1 << (kRange - kLeast - i)) * sizeof(uint32_t) + 4095) & ~(size_t)4095;
    sizes[i].ids = reserve(bytes);
    sizes[i].next_free = reserve(bytes);
    if (sizes[i].ids == NULL || sizes[i].next_free == NULL) return 1;
  }
  start = (char*)(((uintptr_t)made + 65535) & ~(uintptr_t)65535);
  return made == NULL;
}
static void deinit(void) {
  if (getenv("WANDERING") != NULL) fprintf(stderr, "wandering: %d moves, %d pinned\n", moves != 0, kept != 0);
}

// With the lock, or all threads stopped. Null: no block is left.
static char* take(unsigned bits, uint32_t id, int* is_new) {
  uint32_t number = sizes[bits - kLeast].free;
  *is_new = number == 0;
  if (number != 0) {
    sizes[bits - kLeast].free = sizes[bits - kLeast].next_free[--number];
  } else {
    if (sizes[bits - kLeast].used == (uint32_t)1 << (kRange - bits)) return NULL;
    number = sizes[bits - kLeast].used++;
  }
  sizes[bits - kLeast].ids[number] = id;
  return block(bits, number);
}
static void give(char* at) {
  unsigned size = bits_at(at) - kLeast;
  uint32_t number = number_at(at);
  sizes[size].ids[number] = 0;
  sizes[size].next_free[number] = sizes[size].free;
  sizes[size].free = number + 1;
}

static void* allocate(uint32_t id, size_t size, size_t* alignment, int zeroed) {
  unsigned bits = bits_of(size > *alignment ? size : *alignment);
  int is_new;
  freehold_service_lock(&lock);
  char* made = take(bits, id, &is_new);
  freehold_service_unlock(&lock);
  if (made != NULL && zeroed && !is_new) memset(made, 0, size);
  return made;
}
static void* resize(uint32_t id, void* at, size_t size) {
  (void)id;
  return size <= (size_t)1 << bits_at(at) ? at : NULL;
}
static int release(uint32_t id, void* address) {
  if (!is_mine(address) || block(bits_at(address), number_at(address)) != address || sizes[bits_at(address) - kLeast].ids[number_at(address)] != id) return 0;
  freehold_service_lock(&lock);
  give(address);
  freehold_service_unlock(&lock);
  return 1;
}
static size_t usable(void* address) { return is_mine(address) ? (size_t)1 << bits_at(address) : 0; }
static uint32_t find(void* address, void** at) {
  *at = NULL;
  if (!is_mine(address)) return 0;
  *at = block(bits_at(address), number_at(address));
  return sizes[bits_at(address) - kLeast].ids[number_at(address)] & ~MOVED;
}

static void barrier(int everything) {
  (void)everything;
  for (unsigned size = 0; size < kSizes; size++) {
    for (uint32_t number = 0, end = sizes[size].used; number < end; number++) {
      uint32_t id = sizes[size].ids[number];
      // Once: a second move could lead back.
      if (id == 0 || (id & MOVED) != 0) continue;
      if (freehold_service_is_pinned(id)) {
        kept++;
        continue;
      }
      int is_new;
      char *from = block(size + kLeast, number), *to = take(size + kLeast, id | MOVED, &is_new);
      if (to == NULL) continue;
      memcpy(to, from, (size_t)1 << (size + kLeast));
      if (!freehold_service_move(id, from, to)) abort();
      memset(from, 0xdb, (size_t)1 << (size + kLeast));
      give(from);
      moves++;
    }
    for (uint32_t number = 0; number < sizes[size].used; number++) sizes[size].ids[number] &= ~MOVED;
  }
}

const struct freehold_service freehold_program_service = {
    FREEHOLD_SERVICE_VERSION, "wandering", init, deinit, allocate, resize, release, usable, find, barrier};
