// What an interposed function of the C library says before the kernel may write to memory of the program: see system_calls.cpp.
#pragma once

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <initializer_list>

#include "heap.h"

namespace freehold::mesh {

// The C library's, looked up when the library starts; null before.
using ClockGettime = int (*)(int clock, void* time);
extern std::atomic<ClockGettime> real_clock_gettime;

class Announcement {
 public:
  // Of a call whose buffers only the C library knows: nothing is meshed until it returns.
  enum class Everything { kYes };

  Announcement(std::initializer_list<const void*> addresses) noexcept {
    if (!heap.barrier.needs_announcements()) return;
    for (const void* address : addresses) add(address);
  }
  explicit Announcement(Everything) noexcept {
    if (!heap.barrier.needs_announcements()) return;
    count_ = ThreadLocalHeap::kAnnouncements + 1;
    for (const void*& address : addresses_) address = nullptr;
  }
  ~Announcement() {
    if (count_ != 0) WriteBarrier::retract(*own_, count_);
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  void add(const void* address) noexcept {
    if (reinterpret_cast<uintptr_t>(address) - heap.arena.start() >= heap.arena.meshable_size()) return;
    // One more than there is room for: nothing is meshed.
    if (count_ < ThreadLocalHeap::kAnnouncements + 1) addresses_[count_++] = address;
  }
  void add(const iovec* vector, int count) noexcept {
    if (!heap.barrier.needs_announcements() || vector == nullptr) return;
    for (int i = 0; i < count; i++) add(vector[i].iov_base);
  }
  void add(const msghdr* message) noexcept {
    if (!heap.barrier.needs_announcements() || message == nullptr) return;
    add(static_cast<const void*>(message));
    add(message->msg_name);
    add(message->msg_control);
    add(message->msg_iov, static_cast<int>(message->msg_iovlen));
  }
  void publish() noexcept {
    if (count_ == 0) return;
    own_ = own_heap();
    if (own_ == nullptr) count_ = 0;
    else heap.barrier.announce(*own_, addresses_, count_, reinterpret_cast<uintptr_t>(this));
  }

 private:
  ThreadLocalHeap* own_ = nullptr;
  uint32_t count_ = 0;
  const void* addresses_[ThreadLocalHeap::kAnnouncements + 1];
};

}  // namespace freehold::mesh

// By assembler name: the C library's headers declare each with its own attributes.
#define NAMED(result, name, parameters)                                                             \
  extern "C" __attribute__((visibility("default"))) result interposed_##name parameters asm(#name); \
  result interposed_##name parameters

#define NEXT(result, name, parameters) static auto* next = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name))

// A call, and which of its arguments the kernel writes to.
#define CALL(result, name, parameters, arguments, ...) \
  NAMED(result, name, parameters) {                    \
    NEXT(result, name, parameters);                    \
    Announcement announcement({__VA_ARGS__});          \
    announcement.publish();                            \
    return next arguments;                             \
  }

// A call whose buffers only the C library knows.
#define QUIET_CALL(result, name, parameters, arguments)        \
  NAMED(result, name, parameters) {                            \
    NEXT(result, name, parameters);                            \
    Announcement announcement(Announcement::Everything::kYes); \
    announcement.publish();                                    \
    return next arguments;                                     \
  }
