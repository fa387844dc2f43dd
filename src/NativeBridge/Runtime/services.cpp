#include "services.h"

#include <stdlib.h>

#include "handle_table.h"
#include "os.h"
#include "threads.h"

namespace freehold::bridge {

// Until the choice: what uncompiled code frees before is asked for here, and is in no heap.
const freehold_service* service = &defragmenting_service;

namespace {
const freehold_service* chosen_service = &defragmenting_service;

constexpr uint32_t kMostLocks = 16;
// Written by the service's init, when there is one thread.
OwnedLock* locks[kMostLocks];
uint32_t lock_count = 0;

static_assert(sizeof(OwnedLock) == sizeof(freehold_lock) && alignof(OwnedLock) == alignof(freehold_lock));
OwnedLock& lock_of(freehold_lock* lock) noexcept { return *reinterpret_cast<OwnedLock*>(lock); }
}  // namespace

bool add_service_lock(OwnedLock& lock) noexcept {
  if (lock_count == kMostLocks) return false;
  locks[lock_count++] = &lock;
  return true;
}
uint32_t lock_service() noexcept {
  uint32_t taken = 0;
  for (uint32_t i = 0; i < lock_count; i++) {
    if (locks[i]->lock_unless_mine()) taken |= 1u << i;
  }
  return taken;
}
void unlock_service(uint32_t taken) noexcept {
  for (uint32_t i = 0; i < lock_count; i++) {
    if ((taken & 1u << i) != 0) locks[i]->unlock();
  }
}

const char* what_is_wrong(const freehold_service& table) noexcept {
  if (table.version != FREEHOLD_SERVICE_VERSION) return "its version is not that of the runtime";
  if (table.name == nullptr) return "it has no name";
  if (table.init == nullptr || table.deinit == nullptr || table.alloc == nullptr || table.realloc == nullptr || table.free == nullptr ||
      table.usable_size == nullptr || table.find == nullptr || table.barrier == nullptr) {
    return "a callback is missing: a service has all eight";
  }
  return nullptr;
}

void choose_service(ServiceChoice choice) noexcept {
  const freehold_service* chosen = choice == ServiceChoice::kPlain ? &plain_service : &defragmenting_service;
  if (choice == ServiceChoice::kProgram && &freehold_program_service != nullptr) chosen = &freehold_program_service;
  if (const char* wrong = what_is_wrong(*chosen)) {
    os::fail("freehold: the program's freehold_program_service cannot be used: %s (include/service.h)\n", wrong);
  }
  if (chosen->init() != 0) os::fail("freehold: the service '%s' of the handle heap cannot start: no address space?\n", chosen->name);
  service = chosen_service = chosen;
  atexit(chosen->deinit);
}

bool is_defragmenting() noexcept { return chosen_service == &defragmenting_service; }

const freehold_service* interpose_service(const freehold_service* table) noexcept {
  service = table;
  return chosen_service;
}

}  // namespace freehold::bridge

using namespace freehold::bridge;

extern "C" {

void freehold_service_stop(void) {
  // A thread of compiled code that is inside would wait for itself.
  if (Thread* thread = threads::known(); thread != nullptr && !threads::is_outside(*thread)) {
    os::fail("freehold: freehold_service_stop by a thread that runs compiled code or a callback of the service: use a thread of its own\n");
  }
  threads::stop();
}
void freehold_service_resume(void) { threads::resume(); }
void freehold_service_barrier(int everything) {
  freehold_service_stop();
  service->barrier(everything);
  threads::resume();
}

int freehold_service_is_pinned(uint32_t id) { return table.is_pinned(id) ? 1 : 0; }
int freehold_service_move(uint32_t id, void* from, void* to) {
  if (!HandleTable::is_in_use(HandleTable::load(id)) || table.is_pinned(id)) return 0;
  HandleTable::change(id, static_cast<uint64_t>(static_cast<uint8_t*>(to) - static_cast<uint8_t*>(from)));
  return 1;
}

int freehold_service_add_lock(freehold_lock* lock) { return add_service_lock(lock_of(lock)) ? 1 : 0; }
void freehold_service_lock(freehold_lock* lock) { lock_of(lock).lock(); }
void freehold_service_unlock(freehold_lock* lock) { lock_of(lock).unlock(); }

}  // extern "C"
