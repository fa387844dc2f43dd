// A listening Unix socket in a folder of the user's own, with mode 0700, itself 0600; and what dead processes have left there goes.
#pragma once

#include <sys/un.h>

#include <cstddef>

namespace freehold::diag {

struct SocketFile {
  int listener = -1;
  char path[sizeof(sockaddr_un::sun_path)] = {};
};

// In the first of $XDG_RUNTIME_DIR/freehold, $TMPDIR/freehold-<uid> and /tmp/freehold-<uid> where that can be, and where no other user can exchange a folder above. False: in none of them; `error` says why, of the last. Uses malloc.
bool make_socket_file(SocketFile* file, char* error, size_t capacity) noexcept;

// Removes its file, if that is still the socket of this user that was made there.
void remove_socket_file(const SocketFile& file) noexcept;

// Removes files of sockets on which nobody listens any more. `folder` is a descriptor, which stays open; `path` its name.
void remove_stale_sockets(int folder, const char* path) noexcept;

}  // namespace freehold::diag
