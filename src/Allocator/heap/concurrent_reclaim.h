// Finds and deletes what no root reaches beside the threads, which stand only at the beginning and at the end of the marking (docs/internals/reclaim.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/concurrent_reclaim_counters.h"
#include "heap/reclaim_scope.h"
#include "heap/root_support.h"

namespace freehold::heap {

// The caller holds the lock of places, and no other. `remove` is called for each object without a mark, beside the threads. `check`, if it is not null, at the end of the marking with
// the threads stopped: it may look at whatever is_kept() says. False: no memory, or nothing to stop yet; nothing was deleted.
// `removed` tells of those that went without it. kYoung: only after one that could begin (are_blocks_young()).
using UnreachedFound = void (*)(core::Object* object, size_t size, void* argument) noexcept;
using UnreachedRemoved = void (*)(uint64_t objects, uint64_t bytes, void* argument) noexcept;
bool reclaim_beside_threads(const RootSupport& support, ReclaimScope scope, UnreachedFound remove, UnreachedRemoved removed, void* argument,
                            void (*check)() noexcept) noexcept;
// In the child of a fork, which has no marker: what a marking of the parent has begun is forgotten, with its marks. While there is one thread.
void forget_marking() noexcept;
// For `check`: whether the marking has found that the object stays.
bool is_kept(const core::Object* object) noexcept;

}  // namespace freehold::heap
