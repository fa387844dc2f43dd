// The service interface: who decides where the objects behind handles lie, and when they move. The runtime of handles (libfreehold_handles.so) keeps ids, pins and
// stops; a service has the memory. Two are in the runtime: the defragmenter, and a plain one that never moves. A program has its own by a definition of
// freehold_program_service. docs/internals/services.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FREEHOLD_SERVICE_VERSION 1

// A lock of a service's own. Zeroes at the beginning: free. Not recursive.
// NOLINTNEXTLINE(readability-identifier-naming): a name for C
struct freehold_lock {
  uint32_t state;
};

// Eight callbacks. All are needed. A service is not compiled with handles: it gets addresses. Its callers are inside, so no barrier runs meanwhile, with the
// exceptions below. Several threads may call at the same time. It must not allocate through handles, nor wait for a thread of compiled code.
// NOLINTNEXTLINE(readability-identifier-naming): a name for C
struct freehold_service {
  uint32_t version;  // FREEHOLD_SERVICE_VERSION
  const char* name;

  // Once, when the runtime is loaded, before all others. Not zero: it cannot work, and the program ends with a message.
  int (*init)(void);
  // When the process exits. Other threads may still run.
  void (*deinit)(void);

  // Memory for the object with that id: `size` bytes, not 0, at most 3.25 GB; zeroes if asked for. Null: there is none. `alignment`, a power of two from 16 to 64 KB:
  // what the object needs wherever it moves; the service may raise it to what it will have.
  void* (*alloc)(uint32_t id, size_t size, size_t* alignment, int zeroed);
  // `start`, if the object may have that size where it is. Null: the runtime makes another object, copies, and frees this one.
  void* (*realloc)(uint32_t id, void* start, size_t size);
  // Zero: the address is not the start of that object, and nothing is freed.
  int (*free)(uint32_t id, void* address);
  // Of the object that the address lies in. 0: none of the service's.
  size_t (*usable_size)(void* address);

  // Which object an address lies in. 0: none; then `start` says whether the memory is the service's (null: it is not). Also called for addresses of others, by any
  // thread, outside too, at any time.
  uint32_t (*find)(void* address, void** start);
  // All threads are stopped: objects may move (freehold_service_move). `everything`: all that are not pinned shall move, as a test of the program.
  void (*barrier)(int everything);
};

// The program's own, if it defines one. It is taken unless FREEHOLD_NATIVE_SERVICE names another.
extern const struct freehold_service freehold_program_service __attribute__((weak));

// What a service may call.

// Stops all threads and resumes them. By a thread that no compiled code has called, or a function that compiled code has called as uncompiled. One stop at a time: a second
// caller waits. Between the two the caller must not allocate, free or take a lock that a stopped thread may have.
void freehold_service_stop(void);
void freehold_service_resume(void);
// The service's barrier between a stop and its resumption.
void freehold_service_barrier(int everything);
// During a stop. Not zero: the object must stay where it is.
int freehold_service_is_pinned(uint32_t id);
// During a stop, when the object's bytes are at `to`: the handle leads there from now on. Zero: it is pinned or freed, and must stay.
int freehold_service_move(uint32_t id, void* from, void* to);

// In init: a lock that the runtime takes before each fork and lets go after it, in both processes. A handler of a signal may fork when it has interrupted compiled code;
// nobody is stopped then, and without this the child would wait for a thread that it does not have. Zero: there are 16 already.
int freehold_service_add_lock(struct freehold_lock* lock);
// In a callback. Between the two a service calls none of these functions, nor anything that may wait for another thread.
void freehold_service_lock(struct freehold_lock* lock);
void freehold_service_unlock(struct freehold_lock* lock);

#ifdef __cplusplus
}
#endif
