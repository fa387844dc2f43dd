#include "diag/diagnostic_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "Platform/time.h"
#include "core/module_state.h"
#include "diag/socket_file.h"

namespace freehold::diag {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kToAsk = 5 * kSecond;
constexpr uint64_t kSlowest = 1'000'000;  // bytes that a client takes in a second
constexpr size_t kLongestRefused = size_t{1} << 20;

// Written before the thread that serves begins, and in the child of a fork; else that thread's.
struct State {
  SocketFile file;
  // Of the thread that serves; a child of a fork may begin while that one closes it.
  std::atomic<int> client{-1}, second{-1};  // second: another number of the same connection
  std::atomic<ino_t> client_number{0};
  pid_t owner = 0;
  ino_t listener = 0;  // the socket's number
  uint64_t to_take = kTimeToTake;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Until the socket is ready, an error of it included; false when the time is over.
bool wait_for(int socket, short event, uint64_t end) noexcept {
  while (true) {
    uint64_t now = os::nanoseconds();
    if (now >= end) return false;
    pollfd what = {socket, event, 0};
    int ready = poll(&what, 1, static_cast<int>((end - now) / 1'000'000) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// As much as arrives in time.
size_t receive(int socket, void* bytes, size_t size) noexcept {
  uint64_t end = os::nanoseconds() + kToAsk;
  size_t got = 0;
  while (got < size && wait_for(socket, POLLIN, end)) {
    ssize_t more = recv(socket, static_cast<char*>(bytes) + got, size - got, MSG_DONTWAIT);
    if (more > 0) got += static_cast<size_t>(more);
    else if (more == 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return got;
}

// For all of it, not for each part: who takes a byte now and then must not keep the thread.
bool send_all(int socket, const char* bytes, size_t size) noexcept {
  uint64_t end = os::nanoseconds() + state.to_take + size / kSlowest * kSecond;
  while (size != 0) {
    ssize_t sent = send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      size -= static_cast<size_t>(sent);
      if (size != 0 && os::nanoseconds() >= end) return false;
    } else if ((sent < 0 && errno != EAGAIN && errno != EINTR) || !wait_for(socket, POLLOUT, end)) {
      return false;
    }
  }
  return true;
}

// A program that closes all descriptors, as daemons do, may get a number again for a socket of its own.
bool is_socket(int descriptor, ino_t number) noexcept {
  struct stat status;
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == number;
}

// The number is taken out first: in the child of a fork that begins in between, it may be the program's by then.
void hang_up() noexcept {
  int client = state.client.exchange(-1);
  if (is_socket(client, state.client_number)) close(client);
}

// What came is read before the end, and what is still being sent: the kernel would take the answer back with a reset, or refuse the rest of the request.
void refuse(Status status, const char* why) noexcept {
  Frame frame = {{kMagic[0], kMagic[1], kMagic[2], kMagic[3]}, kProtocolVersion, static_cast<uint16_t>(status), strlen(why)};
  if (send_all(state.client, reinterpret_cast<const char*>(&frame), sizeof frame) && send_all(state.client, why, frame.length)) {
    shutdown(state.client, SHUT_WR);
    char rest[4096];
    uint64_t end = os::nanoseconds() + state.to_take;
    size_t read = 0;
    for (ssize_t got; read < kLongestRefused && wait_for(state.client, POLLIN, end) && (got = recv(state.client, rest, sizeof rest, MSG_DONTWAIT)) > 0;)
      read += static_cast<size_t>(got);
  }
  hang_up();
}

bool may_ask(int socket) noexcept {
  ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer && (peer.uid == geteuid() || peer.uid == 0);
}

bool is_gone(int socket) noexcept {
  pollfd client = {socket, 0, 0};
  return poll(&client, 1, 0) > 0 && (client.revents & (POLLHUP | POLLERR)) != 0;
}

Command read_request() noexcept {
  if (!may_ask(state.client)) {
    refuse(Status::kNotAllowed, "Only the user of the process, and root, may ask it.");
    return Command::kNone;
  }
  Frame frame;
  size_t got = receive(state.client, &frame, sizeof frame);
  if (got == 0) {
    hang_up();  // whoever looks for sockets of dead processes says nothing
    return Command::kNone;
  }
  if (got < sizeof frame) {
    refuse(Status::kBadRequest, "The request has fewer than 16 bytes, or they did not come within 5 seconds.");
  } else if (memcmp(frame.magic, kMagic, sizeof kMagic) != 0) {
    refuse(Status::kBadRequest, "This is no request: it does not begin with FHDG.");
  } else if (frame.version != kProtocolVersion) {
    refuse(Status::kOtherVersion, "The process speaks version 1 of the protocol. Use the tool 'freehold' of the version that the program was published with.");
  } else if (frame.length != 0) {
    refuse(Status::kBadRequest, "No command has data, and the request announces some.");
  } else if (frame.code < static_cast<uint16_t>(Command::kStat) || frame.code > static_cast<uint16_t>(Command::kDumpAnyway)) {
    refuse(Status::kUnknownCommand, "The process does not know this command. Use the tool 'freehold' of the version that the program was published with.");
  } else if (!is_gone(state.client)) {
    return static_cast<Command>(frame.code);
  } else {
    hang_up();  // who asked has given up: the program is not stopped for nobody
  }
  return Command::kNone;
}

bool is_listener() noexcept { return is_socket(state.file.listener, state.listener); }

void remove_file() noexcept {
  // A child of a fork that exits leaves its parent's.
  if (getpid() == state.owner && state.file.path[0] != 0) remove_socket_file(state.file);
}

}  // namespace

bool open_diagnostics(char* error, size_t capacity) noexcept {
  if (!make_socket_file(&state.file, error, capacity)) return false;
  struct stat status;
  if (fstat(state.file.listener, &status) == 0) state.listener = status.st_ino;
  state.owner = getpid();
  atexit(remove_file);
  return true;
}

Command next_request() noexcept {
  while (is_listener()) {
    hang_up();
    int client = accept4(state.file.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      struct stat status;
      state.client_number = fstat(client, &status) == 0 ? status.st_ino : 0;
      state.client = client;
      if (Command command = read_request(); command != Command::kNone) return command;
    } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      break;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      os::pause(100'000);  // there are no descriptors, or there is no memory, at the moment
    }
  }
  return Command::kNone;
}

void answer(Status status, const char* text, size_t length) noexcept {
  Frame frame = {{kMagic[0], kMagic[1], kMagic[2], kMagic[3]}, kProtocolVersion, static_cast<uint16_t>(status), length};
  int client = state.client;
  if (is_socket(client, state.client_number) && send_all(client, reinterpret_cast<const char*>(&frame), sizeof frame)) send_all(client, text, length);
  hang_up();
}

int answering_socket() noexcept {
  int client = state.client;
  state.second = is_socket(client, state.client_number) ? fcntl(client, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
  return state.second;
}

void leave_answering_socket() noexcept {
  int second = state.second.exchange(-1);
  if (is_socket(second, state.client_number)) close(second);
}

void end_answer() noexcept {
  int client = state.client;
  if (is_socket(client, state.client_number)) shutdown(client, SHUT_RDWR);
  leave_answering_socket();
  hang_up();
}

void leave_diagnostics_to_parent(bool keeps_answer) noexcept {
  if (state.file.listener < 0) return;
  close(state.file.listener);
  state.file.listener = -1;
  // Nor does it remove its parent's file, which has the same number in another namespace of processes.
  state.file.path[0] = 0;
  if (!keeps_answer) leave_answering_socket();
  hang_up();
}

const char* diagnostics_path() noexcept { return state.file.path; }

void set_time_to_take(uint64_t nanoseconds) noexcept { state.to_take = nanoseconds; }

void close_diagnostics() noexcept {
  remove_file();
  state.file.path[0] = 0;
  if (state.file.listener >= 0) shutdown(state.file.listener, SHUT_RDWR);
}

}  // namespace freehold::diag
