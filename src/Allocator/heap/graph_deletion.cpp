#include "heap/graph_deletion.h"

#include "core/arena.h"
#include "core/knobs.h"
#include "core/object.h"
#include "heap/deletion.h"
#include "heap/forwarding.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/reachability.h"
#include "heap/running_finalizers.h"
#include "heap/unreached_objects.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::Object;

namespace {

struct Deletion {
  const uint64_t *root, *array;
  GraphDeletion* result;
  bool gone;
};

template <typename Function>
void for_each_live(Object* const* objects, size_t count, Function function) noexcept {
  for (size_t i = 0; i < count; i++) {
    Walked walked = look_at(objects[i]->start());
    if (walked.step == Step::kObject && (walked.header & core::kDeletedBit) == 0) function(objects[i], walked);
  }
}

void found(Object* const* objects, size_t count, void* argument) noexcept {
  auto& deletion = *static_cast<Deletion*>(argument);
  GraphDeletion* result = deletion.result;
  deletion.gone = count == 0;
  for_each_live(objects, count, [&](Object* object, const Walked& walked) noexcept {
    if (walked.type->has_finalizer() && (*object->sync_word() & core::kSyncFinalizerRun) == 0) list_finalizable(*deletion.array, result->finalizable++, object);
  });
  if (result->finalizable != 0) return;
  auto* root = reinterpret_cast<Object*>(current_address(*deletion.root));
  // A finalizer may delete its own object: the deletion that runs it ends the object's life.
  bool ends_elsewhere = is_finalizing(root);
  for_each_live(objects, count, [&](Object* object, const Walked& walked) noexcept {
    if (object == root && ends_elsewhere) return;
    if (object == root && core::has_lock(*object->sync_word())) result->root_has_lock = 1;
    else if (!delete_unreached(object, object == root)) return;
    result->objects++;
    result->bytes += walked.size;
  });
}

}  // namespace

GraphResult delete_graph(const uint64_t* root, const uint64_t* finalizable, GraphDeletion* result) noexcept {
  *result = {};
  if (!core::arena.contains(*root) || is_shared(reinterpret_cast<const void*>(*root))) return GraphResult::kNotInHeap;
  Deletion deletion = {root, finalizable, result, false};
  // As reclaim() does.
  if (core::knobs.debug) refresh_pins();
  if (!find_graph(root, found, &deletion)) return GraphResult::kNotPossible;
  if (deletion.gone) return GraphResult::kGone;
  if (result->finalizable != 0) return GraphResult::kFinalizable;
  if (core::knobs.debug) release_what_no_thread_pins();
  return GraphResult::kDeleted;
}

}  // namespace freehold::heap
