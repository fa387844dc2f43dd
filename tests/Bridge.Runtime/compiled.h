// What compiled code does, by hand: a thread that is inside, and translations.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "defragmenter.h"
#include "heap.h"
#include "knobs.h"
#include "runtime.h"
#include "threads.h"

namespace freehold::bridge::test {

// No round but those that a test asks for: the thread that looks after the heap would begin its own once there is some memory.
[[maybe_unused]] inline const bool rounds_by_itself = knobs.defragment = false;

template <typename T = uint8_t>
T* at(void* pointer) {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
}
inline bool is_handle(const void* pointer) { return reinterpret_cast<int64_t>(pointer) < 0; }
inline uint32_t id(const void* pointer) { return HandleTable::id_of(reinterpret_cast<uint64_t>(pointer)); }

// A compiled function that an outside caller has called.
class Compiled {
 public:
  Compiled() : was_outside_(__freehold_enter_compiled()) {}
  ~Compiled() {
    if (was_outside_ != 0) __freehold_leave_compiled();
  }

 private:
  uint32_t was_outside_;
};

// A call of uncompiled code with one object.
struct OneRecord : PinRecord {
  void* slot = nullptr;
  OneRecord() { count = 1; }
};

// A poll, whether the stop word is set or not.
inline void poll(void* live = nullptr) {
  OneRecord record;
  record.slot = live;
  __freehold_poll(live != nullptr ? &record : nullptr);
}

// Everything moves, as seen by a thread that is inside and has translated `live`.
inline void move_everything(void* live = nullptr) {
  Thread& thread = threads::current();
  OneRecord record;
  record.slot = live;
  threads::link(thread, record);
  threads::leave(thread);
  defragmenter.move_everything();
  threads::enter(thread);
  threads::unlink(thread, record);
}

}  // namespace freehold::bridge::test
