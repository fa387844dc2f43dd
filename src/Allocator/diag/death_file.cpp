#include "diag/death_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/module_state.h"
#include "diag/dump_stream.h"

namespace freehold::diag {

namespace {

constexpr size_t kPath = 4096;

struct State {
  char path[kPath] = {}, beside[kPath + 24] = {};
  pid_t process = 0;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// False: it has no room.
bool append(char* text, size_t& length, const char* more, size_t size) noexcept {
  if (length + size >= kPath) return false;
  memcpy(text + length, more, size);
  text[length += size] = 0;
  return true;
}

bool make_path(const char* given) noexcept {
  size_t length = 0;
  state.path[0] = 0;
  // The program may change its folder.
  if (given[0] != '/') {
    if (getcwd(state.path, kPath) == nullptr) return false;
    length = strlen(state.path);
    if (!append(state.path, length, "/", 1)) return false;
  }
  char number[16];
  int digits = snprintf(number, sizeof number, "%d", static_cast<int>(state.process));
  while (*given != 0) {
    bool is_number = given[0] == '%' && given[1] == 'p';
    if (is_number ? !append(state.path, length, number, static_cast<size_t>(digits)) : !append(state.path, length, given, 1)) return false;
    given += is_number ? 2 : 1;
  }
  // Of each process its own: a program that this one starts inherits the setting.
  snprintf(state.beside, sizeof state.beside, "%s.%s.part", state.path, number);
  return true;
}

// A file of its own: what somebody has put there, a pipe perhaps, is neither waited for nor written to.
int open_beside() noexcept {
  unlink(state.beside);
  return open(state.beside, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool write_all(int file, const void* bytes, size_t size) noexcept {
  for (const auto* next = static_cast<const char*>(bytes); size != 0;) {
    ssize_t written = write(file, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool fails(char* reason, size_t capacity, const char* why) noexcept {
  snprintf(reason, capacity, "'%.300s' cannot be written: %s", state.path, why);
  return false;
}

}  // namespace

bool prepare_death_file(const char* path, char* reason, size_t capacity) noexcept {
  state.process = getpid();
  if (!make_path(path)) return fails(reason, capacity, "the path is too long, or the current folder is gone");
  struct stat there;
  if (stat(state.path, &there) == 0 && !S_ISREG(there.st_mode)) return fails(reason, capacity, "it is there, and no file");
  int file = open_beside();
  if (file < 0) return fails(reason, capacity, strerror(errno));
  close(file);
  unlink(state.beside);
  return true;
}

bool write_death_file(const char* json, size_t length, char* reason, size_t capacity) noexcept {
  if (getpid() != state.process) return true;
  struct Header {
    char magic[8];
    uint32_t version, checksum;
    uint64_t length;
  } header = {{'F', 'H', 'D', 'E', 'A', 'T', 'H', 'S'}, kDeathFileVersion, checksum(reinterpret_cast<const uint8_t*>(json), length), length};
  static_assert(sizeof(Header) == 24);
  int file = open_beside();
  if (file < 0) return fails(reason, capacity, strerror(errno));
  bool written = write_all(file, &header, sizeof header) && write_all(file, json, length);
  int failure = errno;
  if (close(file) != 0 && written) {
    written = false;
    failure = errno;
  }
  if (written && rename(state.beside, state.path) == 0) return true;
  if (written) failure = errno;
  unlink(state.beside);
  return fails(reason, capacity, strerror(failure));
}

}  // namespace freehold::diag
