#include "Platform/files.h"

#include <fcntl.h>
#include <string.h>

#include <cstdint>

#include "Platform/one_for_all.h"
#include "Platform/settings.h"
#include "Platform/system_call.h"

namespace freehold::os {

FREEHOLD_ONE_FOR_ALL long read_file(const char* path, char* text, size_t capacity) noexcept {
  text[0] = 0;
  long descriptor = system_call(SYS_openat, AT_FDCWD, argument(path), O_RDONLY | O_CLOEXEC);
  if (is_error(descriptor)) return -1;
  size_t length = 0;
  while (length + 1 < capacity) {
    long count = system_call(SYS_read, descriptor, argument(text + length), static_cast<long>(capacity - 1 - length));
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  system_call(SYS_close, descriptor);
  text[length] = 0;
  return static_cast<long>(length);
}

FREEHOLD_ONE_FOR_ALL size_t maximal_mappings() noexcept {
  constexpr size_t kDefault = 65'530;  // the kernel's own
  char text[32];
  uint64_t most;
  if (read_file("/proc/sys/vm/max_map_count", text, sizeof text) <= 0 || settings::parse_digits(text, &most) == nullptr || most == 0) return kDefault;
  return most;
}

FREEHOLD_ONE_FOR_ALL void write_error(const char* text) noexcept {
  auto left = static_cast<long>(strlen(text));
  while (left > 0) {
    long written = system_call(SYS_write, 2, argument(text), left);
    if (written <= 0) return;
    text += written;
    left -= written;
  }
}

}  // namespace freehold::os
