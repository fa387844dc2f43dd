#include "heap/background_thread.h"

#include <pthread.h>

#include <cstddef>

#include "core/stop_spacing.h"
#include "os/signals.h"

namespace freehold::heap {

namespace {

using Body = void* (*)(void*);

void* run(void* body) {
  core::stops_are_spaced = true;
  return reinterpret_cast<Body>(body)(nullptr);
}

}  // namespace

bool start_background_thread(const char* name, void* (*body)(void*)) noexcept {
  os::SignalMask most = ~(os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) | os::signal_bit(kPreemptionSignal)), before;
  os::change_signal_mask(SIG_BLOCK, &most, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  bool started = pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body)) == 0;
  if (started) pthread_setname_np(thread, name);  // for debuggers and profilers
  pthread_attr_destroy(&attributes);
  os::change_signal_mask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace freehold::heap
