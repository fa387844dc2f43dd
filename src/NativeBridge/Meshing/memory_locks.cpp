// mlockall would make all of the arena present, most of which no object has ever used, or fail because of its size. What the program has is locked mapping by mapping instead; of the arena, what
// is used, as it is touched.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "Platform/settings.h"
#include "heap.h"

using namespace freehold::mesh;

namespace {

// The mappings of the process, one after the other. Nothing is allocated.
class Mappings {
 public:
  Mappings() noexcept : file_(os::open_file("/proc/self/maps")) {}
  ~Mappings() {
    if (is_open()) os::close(file_);
  }
  bool is_open() const noexcept { return file_ >= 0; }
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  // False: there is no other, or the file cannot be read.
  bool next(uintptr_t* start, uintptr_t* end, bool* accessible) noexcept {
    char line[160];
    size_t length = 0;
    for (char c; read(&c) && c != '\n';) {
      if (length + 1 < sizeof line) line[length++] = c;
    }
    line[length] = 0;
    const char* at = parse(line, start);
    if (at == nullptr || *at != '-' || (at = parse(at + 1, end)) == nullptr || *at != ' ') return false;
    // The kernel's own pages cannot be locked.
    *accessible = (at[1] != '-' || at[2] != '-' || at[3] != '-') && strstr(at, "[v") == nullptr;
    return true;
  }

 private:
  bool read(char* c) noexcept {
    if (used_ == count_) {
      long count = is_open() ? os::read_some(file_, buffer_, sizeof buffer_) : 0;
      if (count <= 0) return false;
      count_ = static_cast<size_t>(count);
      used_ = 0;
    }
    *c = buffer_[used_++];
    return true;
  }
  static const char* parse(const char* text, uintptr_t* value) noexcept {
    const char* begin = text;
    for (*value = 0;; text++) {
      int digit = *text >= '0' && *text <= '9' ? *text - '0' : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10 : -1;
      if (digit < 0) return text == begin ? nullptr : text;
      *value = *value << 4 | static_cast<uintptr_t>(digit);
    }
  }

  int file_;
  size_t used_ = 0, count_ = 0;
  char buffer_[4096];
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int mlockall(int flags) {
  static auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "mlockall"));
  if ((flags & MCL_CURRENT) == 0 || (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) != 0 || !open_heap()) return next(flags);
  Mappings mappings;
  // No descriptor is left, or there is no /proc: nobody knows what is to be locked.
  if (!mappings.is_open()) {
    errno = EAGAIN;
    return -1;
  }
  if ((flags & MCL_FUTURE) != 0 && next(flags & ~MCL_CURRENT) != 0) return -1;
  unsigned how = (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0;
  uintptr_t start, end;
  bool accessible;
  while (mappings.next(&start, &end, &accessible)) {
    if (!accessible) continue;
    bool own = heap.arena.clip_to_used(&start, &end);
    // Tables are far larger than what is used of them, and no object lies there.
    if (start >= end || (!own && os::is_reserved(start))) continue;
    // Locked first and made present afterwards, as mlockall does it: what cannot be made present (a file that is shorter than its mapping) is no failure, a limit is.
    long result = os::lock_memory(start, end, MLOCK_ONFAULT);
    // Another thread may have unmapped it meanwhile.
    bool is_there = os::is_mapped(reinterpret_cast<void*>(start), os::kPageSize) && os::is_mapped(reinterpret_cast<void*>(end - os::kPageSize), os::kPageSize);
    if (result != 0 && is_there) {
      errno = static_cast<int>(-result);
      return -1;
    }
    if (how == 0 && !own) os::lock_memory(start, end, 0);
  }
  return 0;
}
