#include "diag/socket_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>

#include "Platform/time.h"

namespace freehold::diag {

namespace {

constexpr const char kEnding[] = ".sock";
constexpr int kBacklog = 16;

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  int release() noexcept {
    int number = number_;
    number_ = -1;
    return number;
  }

 private:
  int number_;
};

struct Reason {
  char* text;
  size_t capacity;

  bool operator()(const char* path, const char* what) const noexcept {
    snprintf(text, capacity, "%s: %s", path, what);
    return false;
  }
};

// Whether a user who is not this one could have a hand in it.
bool is_own_folder(int folder) noexcept {
  struct stat status;
  return fstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

bool is_name_of_ours(const char* name) noexcept {
  size_t digits = strspn(name, "0123456789");
  if (digits == 0 || name[digits] != '-') return false;
  size_t time = strspn(name + digits + 1, "0123456789abcdef");
  return time != 0 && strcmp(name + digits + 1 + time, kEnding) == 0;
}

// Other processes of the user remove sockets that nobody listens on: between bind and listen, this one is such a socket. Who is stopped in between holds the others up for a second, not longer.
void lock_folder(int folder) noexcept {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && flock(folder, LOCK_EX | LOCK_NB) != 0; i++) os::pause(10'000);
}

bool listen_in(const char* path, SocketFile* file, Reason fails) noexcept {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return fails(path, strerror(errno));
  // Not through a link that somebody else has put there.
  Descriptor folder(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) return fails(path, strerror(errno));
  if (!is_own_folder(folder.get())) return fails(path, "it belongs to another user");
  if (fchmod(folder.get(), 0700) != 0) return fails(path, strerror(errno));

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The number of a process is one in each container: two may share the folder.
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d-%llx%s", path, static_cast<int>(getpid()),
                        static_cast<unsigned long long>(os::nanoseconds()), kEnding);
  if (length < 0 || static_cast<size_t>(length) >= sizeof address.sun_path) return fails(path, "the path is too long for a socket");
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return fails(path, strerror(errno));
  // The mode of the file, whatever the umask allows beyond it.
  fchmod(listener.get(), 0600);
  lock_folder(folder.get());
  remove_stale_sockets(folder.get(), path);
  bool listens = bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (listens && listen(listener.get(), kBacklog) != 0) {
    unlink(address.sun_path);
    listens = false;
  }
  if (!listens) return fails(path, strerror(errno));
  memcpy(file->path, address.sun_path, sizeof file->path);
  file->listener = listener.release();
  return true;
}

// An absolute one, and not in a program with more rights than its user.
const char* folder_of(const char* variable) noexcept {
  const char* path = secure_getenv(variable);
  return path != nullptr && path[0] == '/' ? path : nullptr;
}

}  // namespace

void remove_stale_sockets(int folder, const char* path) noexcept {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) close(copy);
    return;
  }
  while (const dirent* entry = readdir(entries)) {
    size_t length = strlen(entry->d_name);
    if (length < sizeof kEnding || strcmp(entry->d_name + length - (sizeof kEnding - 1), kEnding) != 0) continue;
    // Only what this file makes: a socket of the user's, with the number of a process and a time for a name.
    struct stat status;
    if (!is_name_of_ours(entry->d_name) || fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(status.st_mode) ||
        status.st_uid != geteuid())
      continue;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    int written = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", path, entry->d_name);
    if (written < 0 || static_cast<size_t>(written) >= sizeof address.sun_path) continue;
    // Not by the number of the process, which another one may have by now, or in another container. A listener with a full queue answers EAGAIN, a living one takes the connection for nothing.
    Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (probe.is_open() && connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED)
      unlinkat(folder, entry->d_name, 0);
  }
  closedir(entries);
}

bool make_socket_file(SocketFile* file, char* error, size_t capacity) noexcept {
  Reason fails = {error, capacity};
  char path[4096];
  auto fits = [&path](int length) noexcept { return length > 0 && static_cast<size_t>(length) < sizeof path; };
  if (const char* folder = folder_of("XDG_RUNTIME_DIR"))
    if (fits(snprintf(path, sizeof path, "%s/freehold", folder)) && listen_in(path, file, fails)) return true;
  for (const char* folder : {folder_of("TMPDIR"), "/tmp"})
    if (folder != nullptr && fits(snprintf(path, sizeof path, "%s/freehold-%u", folder, static_cast<unsigned>(geteuid()))) && listen_in(path, file, fails))
      return true;
  return false;
}

}  // namespace freehold::diag
