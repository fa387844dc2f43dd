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
  // The new one; -1: none.
  int file = -1;
  bool has_name = false;
  int failure = 0;  // errno of what failed first
  uint32_t sum = 0;
  uint64_t length = 0;

  void release() noexcept {
    if (file >= 0) close(file);
  }
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

struct Header {
  char magic[8];
  uint32_t version, checksum;
  uint64_t length;
};
static_assert(sizeof(Header) == 24);

// A file of its own: what somebody has put there, a pipe perhaps, is neither waited for nor written to.
int open_beside() noexcept {
  unlink(state.beside);
  return open(state.beside, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// A process that is killed leaves nothing of a file without a name. Not each file system has such.
int open_without_name() noexcept {
  char folder[kPath];
  const char* end = strrchr(state.path, '/');
  size_t length = end == state.path ? 1 : static_cast<size_t>(end - state.path);
  memcpy(folder, state.path, length);
  folder[length] = 0;
  // It gets its name by way of /proc.
  return access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
}

bool name_beside() noexcept {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", state.file);
  unlink(state.beside);
  return linkat(AT_FDCWD, link, AT_FDCWD, state.beside, AT_SYMLINK_FOLLOW) == 0;
}

void begin_file() noexcept {
  state.sum = 0;
  state.length = 0;
  state.failure = 0;
  state.file = open_without_name();
  state.has_name = state.file < 0;
  if (state.file < 0) state.file = open_beside();
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

void add_to_death_file(const char* json, size_t length) noexcept {
  if (getpid() != state.process || state.failure != 0) return;
  if (state.file < 0) {
    begin_file();
    // What it says is known at the end.
    Header header = {};
    if (state.file < 0 || !write_all(state.file, &header, sizeof header)) {
      state.failure = errno;
      return;
    }
  }
  if (!write_all(state.file, json, length)) state.failure = errno;
  state.sum = checksum(reinterpret_cast<const uint8_t*>(json), length, state.sum);
  state.length += length;
}

bool end_death_file(bool keep, char* reason, size_t capacity) noexcept {
  if (getpid() != state.process) return true;
  int file = state.file, failure = state.failure;
  Header header = {{'F', 'H', 'D', 'E', 'A', 'T', 'H', 'S'}, kDeathFileVersion, state.sum, state.length};
  if (keep && failure == 0 && pwrite(file, &header, sizeof header, 0) != sizeof header) failure = EIO;
  if (keep && failure == 0 && !state.has_name) {
    state.has_name = name_beside();
    if (!state.has_name) failure = errno;
  }
  if (file >= 0 && close(file) != 0 && failure == 0) failure = errno;
  if (keep && failure == 0 && rename(state.beside, state.path) != 0) failure = errno;
  if (state.has_name && (!keep || failure != 0)) unlink(state.beside);
  state.file = -1;
  state.failure = 0;
  state.has_name = false;
  return !keep || failure == 0 || fails(reason, capacity, strerror(failure));
}

}  // namespace freehold::diag
