#include "diag/socket_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

// Whether nobody else can put another folder in the place of this one, or of one above: each belongs to root, to this user or to whom "/" belongs (root of the user namespace above, who has no
// number in this one), and others cannot write to it, or only as to /tmp. `path` has no links.
bool is_trusted_path(const char* path) noexcept {
  struct stat root, status;
  if (stat("/", &root) != 0) return false;
  char part[4096];
  for (size_t length = 1;; length++) {
    if (path[length] != '/' && path[length] != 0) continue;
    if (length >= sizeof part) return false;
    memcpy(part, path, length);
    part[length] = 0;
    if (lstat(part, &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    if (status.st_uid != 0 && status.st_uid != geteuid() && status.st_uid != root.st_uid) return false;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) return false;
    if (path[length] == 0) return true;
  }
}

bool is_own_socket(int folder, const char* name) noexcept {
  struct stat status;
  return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode) && status.st_uid == geteuid();
}

int open_folder(const char* path) noexcept { return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

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

bool listen_in(const char* parent, const char* name, SocketFile* file, Reason fails) noexcept {
  char real[PATH_MAX], path[PATH_MAX];
  if (realpath(parent, real) == nullptr) return fails(parent, strerror(errno));
  // What is done by its path later must still lead there.
  if (!is_trusted_path(real)) return fails(parent, "another user can exchange this folder, or one above");
  int fits = snprintf(path, sizeof path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
  if (fits < 0 || static_cast<size_t>(fits) >= sizeof path) return fails(parent, "the path is too long for a socket");
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return fails(path, strerror(errno));
  // Not through a link that somebody else has put there.
  Descriptor folder(open_folder(path));
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
    if (!is_name_of_ours(entry->d_name) || !is_own_socket(folder, entry->d_name)) continue;
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

void remove_socket_file(const SocketFile& file) noexcept {
  const char* name = strrchr(file.path, '/');
  if (name == nullptr) return;
  char path[sizeof file.path];
  memcpy(path, file.path, sizeof path);
  path[name - file.path] = 0;
  Descriptor folder(open_folder(path));
  if (folder.is_open() && is_own_folder(folder.get()) && is_own_socket(folder.get(), name + 1)) unlinkat(folder.get(), name + 1, 0);
}

bool make_socket_file(SocketFile* file, char* error, size_t capacity) noexcept {
  Reason fails = {error, capacity};
  char name[32];
  snprintf(name, sizeof name, "freehold-%u", static_cast<unsigned>(geteuid()));
  if (const char* folder = folder_of("XDG_RUNTIME_DIR"))
    if (listen_in(folder, "freehold", file, fails)) return true;
  for (const char* folder : {folder_of("TMPDIR"), "/tmp"})
    if (folder != nullptr && listen_in(folder, name, file, fails)) return true;
  return false;
}

}  // namespace freehold::diag
