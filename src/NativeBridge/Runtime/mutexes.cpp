// Robust mutexes: the kernel and the C library keep lists of those that a thread has locked, by address. So such a mutex stays where it is. The compiler
// calls this instead (Compiler/library.cpp). The caller is inside.
#include <pthread.h>

#include "out_call.h"

using namespace freehold::bridge;

extern "C" int __freehold_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  int robust = PTHREAD_MUTEX_STALLED;
  if (attributes != nullptr) pthread_mutexattr_getrobust(address(attributes), &robust);
  void* slot;
  if (robust == PTHREAD_MUTEX_ROBUST) __freehold_keep(mutex, &slot);
  return pthread_mutex_init(address(mutex), address(attributes));
}
