// Control of handles for code that does not know them: the managed half looks these functions up by name.
#include <stddef.h>
#include <stdint.h>

#include "defragmenter.h"
#include "heap.h"
#include "objects.h"
#include "runtime.h"
#include "scoped_pins.h"
#include "services.h"
#include "threads.h"

using namespace freehold::bridge;

namespace {

// What freehold_handles_pin and freehold_handles_look say. System.NativePin knows the numbers.
enum class Found : int32_t { kLive, kPlain, kFreed, kUnknown, kOutside, kNoMemory };

// System.NativePin has the same layout.
struct PinnedObject {
  uint64_t address;       // of the byte that the handle means
  uint64_t offset, size;  // of that byte in the object; the object's bytes, slack behind what was asked for included
  uint64_t place;         // what scoped_pins calls it
};

Found look(uint64_t handle, PinnedObject& object) noexcept {
  if ((handle & kHandleBit) == 0) return Found::kPlain;
  if (!HandleTable::is_live(handle)) return table.was_given_out(HandleTable::id_of(handle)) ? Found::kFreed : Found::kUnknown;
  uint64_t start = objects::start_of(handle), at = HandleTable::translate(handle);
  object.address = at;
  object.offset = at - start;
  object.size = objects::usable_size(reinterpret_cast<void*>(start));
  return object.offset > object.size ? Found::kOutside : Found::kLive;
}

}  // namespace

extern "C" {

// Keeps the object of a handle where it is, until freehold_handles_unpin. The calling thread is outside: it may wait for a stop of the handles.
int32_t freehold_handles_pin(uint64_t handle, PinnedObject* object) {
  *object = {};
  if (!is_initialized()) return static_cast<int32_t>((handle & kHandleBit) == 0 ? Found::kPlain : Found::kUnknown);
  threads::Inside inside;
  Found found = look(handle, *object);
  if (found != Found::kLive) return static_cast<int32_t>(found);
  object->place = scoped_pins.add(handle);
  return static_cast<int32_t>(object->place != 0 ? Found::kLive : Found::kNoMemory);
}

// 1, or 0: it was let go before.
int32_t freehold_handles_unpin(uint64_t handle, uint64_t place) {
  threads::Inside inside;
  return scoped_pins.remove(place, handle) ? 1 : 0;
}

// Everything that the runtime of handles keeps, with its threads stopped. Null, or what is wrong, good until the next call.
const char* freehold_handles_verify() {
  if (!is_initialized()) return nullptr;
  threads::stop();
  const char* wrong = is_defragmenting() ? heap.verify() : nullptr;
  threads::resume();
  return wrong;
}

// For tests: all objects that nothing pins move.
void freehold_handles_move_everything() {
  if (is_initialized()) defragmenter.move_everything();
}
}
