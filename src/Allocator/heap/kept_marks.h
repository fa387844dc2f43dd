// What stays although no root reaches it: objects whose finalizers are to run, and all that these lead to. Found by the marker alone, beside the threads: nobody else reads or writes these
// marks until it has ended.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/bounded_stack.h"

extern "C" {
// 1: an object was registered for finalization again since the marking began. Whoever clears "finalizer run" stores it first, in cooperative mode.
[[gnu::visibility("hidden")]] extern uint8_t freehold_registered_again;
}

namespace freehold::heap {

class KeptMarks {
 public:
  KeptMarks() noexcept;
  ~KeptMarks();

  // An object whose type has a finalizer, without a mark. It stays, with what it leads to, unless its finalizer has run.
  void add_candidate(core::Object* object) noexcept;
  // True: it was not kept before, nor marked.
  bool keep(uintptr_t address) noexcept;
  // As those of MarkingTeam.
  void drain() noexcept { drain(UINT64_MAX, false); }
  bool drain_stopped(uint64_t at_most) noexcept { return drain(at_most, true); }
  // Of a current name. What is marked need not be kept.
  bool is_kept(uintptr_t address) const noexcept;
  bool keeps_in(size_t block) const noexcept { return bits_ != nullptr && (blocks_[block / 64] >> (block % 64) & 1) != 0; }
  // False: there was no memory.
  bool is_complete() const noexcept { return complete_; }
  uint64_t scanned() const noexcept { return scanned_; }

  template <typename Function>
  void for_each_candidate(Function function) noexcept {
    for (size_t i = 0; i < candidates_.count(); i++) function(candidates_.items()[i]);
  }
  template <typename Function>
  void for_each_finalized(Function function) noexcept {
    for (size_t i = 0; i < finalized_.count(); i++) function(finalized_.items()[i]);
  }

 private:
  bool reserve() noexcept;
  void scan(const core::Object* object, const core::MethodTable* type, size_t size) noexcept;
  void scan_overflowed(bool stopped) noexcept;
  bool drain(uint64_t at_most, bool stopped) noexcept;

  uint64_t* bits_ = nullptr;        // a bit for each unit of the arena
  uint64_t* blocks_ = nullptr;      // a bit for each block: its bits have memory
  uint64_t* overflowed_ = nullptr;  // likewise: something there is to be scanned, and the stack had no room for it
  bool any_overflowed_ = false;
  BoundedStack<core::Object*> stack_, candidates_, finalized_;
  uint64_t scanned_ = 0;
  bool complete_ = true;
};

}  // namespace freehold::heap
