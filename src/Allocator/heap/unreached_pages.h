// The end of what marking has not reached, in blocks of small objects that are used up: page by page. A page of which nothing is reached dies without a store to its objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/kept_marks.h"
#include "heap/walk.h"

namespace freehold::heap {

// Of a block that is covered (heap/shading.h), after marking.
bool is_used_up_small_block(size_t block) noexcept;
// Whether all that lives there was reached, by the accounts: it need not be walked.
bool is_reached_whole(size_t block) noexcept;

struct Unreached {
  uint64_t objects = 0, bytes = 0;
};

// Deletes what is neither marked nor kept in one such block; the threads go on, and none of them comes to these objects. Objects that reach into the next page are left to `remove`.
class UnreachedPages {
 public:
  using Remove = void (*)(core::Object* object, size_t size, void* argument) noexcept;
  UnreachedPages(size_t block, const KeptMarks& kept, Remove remove, void* argument) noexcept
      : block_(block), kept_(kept), remove_(remove), argument_(argument), keeps_(kept.keeps_in(block)) {}

  // How many it has deleted itself, and their bytes.
  Unreached run() noexcept;

 private:
  static constexpr size_t kNone = SIZE_MAX, kStartsAtMost = core::kPageSize / core::kMinimumObjectSize + 1;

  void look_at_object(uint8_t* start, const Walked& walked) noexcept;
  void begin_page(size_t page) noexcept;
  void end_page() noexcept;

  const size_t block_;
  const KeptMarks& kept_;
  const Remove remove_;
  void* const argument_;
  const bool keeps_;  // something in the block is kept

  const uint8_t* next_ = nullptr;        // behind what was looked at last
  const uint8_t* live_until_ = nullptr;  // behind what lives of that
  size_t page_ = kNone;
  bool bears_ = false;  // something on the page may live: its objects' headers are to say which do not
  size_t units_ = 0;    // that died on the page
  uint8_t* starts_[kStartsAtMost];
  size_t count_ = 0;  // of starts_
  Unreached all_;
};

}  // namespace freehold::heap
