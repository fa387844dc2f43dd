// Which service has the memory of objects (include/service.h).
#pragma once

#include "../include/service.h"
#include "owned_lock.h"

namespace freehold::bridge {

enum class ServiceChoice { kProgram, kDefragmenter, kPlain };

// The one that is in use. Written once, by choose_service.
extern const freehold_service* service;

// Its memory is the heap's (heap.h).
bool is_defragmenting() noexcept;
// From now on calls go through `table`, which passes them on to the one that was chosen. Once, before the first object.
const freehold_service* interpose_service(const freehold_service* table) noexcept;

extern const freehold_service defragmenting_service, plain_service;

// Once, with the settings read, before the first object. Ends the process with a message when the service is not complete, or cannot work.
void choose_service(ServiceChoice choice) noexcept;
// What is wrong with the table of a service, or null.
const char* what_is_wrong(const freehold_service& table) noexcept;

// Locks of the service, which a fork takes. False: there is no more room.
bool add_service_lock(OwnedLock& lock) noexcept;
// Around fork. Which ones were taken: not those that the calling thread has.
uint32_t lock_service() noexcept;
void unlock_service(uint32_t taken) noexcept;

}  // namespace freehold::bridge
