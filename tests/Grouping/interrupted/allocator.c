// The allocator behind that of heap profiles: its realloc raises a signal when it is asked to, so that a handler interrupts the recorder at a known place. And a library whose handlers of fork allocate:
// it has registered them before the recorder has.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

int allocator_interrupts;

void* realloc(void* pointer, size_t size) {
  static void* (*next)(void*, size_t);
  if (next == NULL) next = (void* (*)(void*, size_t))dlsym(RTLD_NEXT, "realloc");
  if (allocator_interrupts != 0) {
    allocator_interrupts = 0;
    raise(SIGUSR1);
  }
  return next(pointer, size);
}

static void* volatile touched;
static void touch(void) {
  touched = malloc(10);
  free(touched);
}
__attribute__((constructor)) static void begin(void) { pthread_atfork(touch, touch, touch); }
