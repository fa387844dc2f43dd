// Functions of the C library that take handles inside of what they are given, or give back addresses in it. The compiler calls these instead
// (Compiler/library.cpp). The caller is inside.
#include <errno.h>
#include <iconv.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "out_call.h"

using namespace freehold::bridge;

namespace {

// The handle of a byte of the same object as `handle`, given its address.
template <typename T>
T* same_object(const T* handle, const T* start, T* found) noexcept {
  if (found == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(handle) + (reinterpret_cast<uint64_t>(found) - reinterpret_cast<uint64_t>(start)));
}

constexpr int kMostVectors = 1024;  // IOV_MAX

// Room for vectors of addresses; only few are on the stack, which may be small.
class Vectors {
 public:
  explicit Vectors(size_t count) noexcept : all_(few_) {
    if (count <= kFew) return;
    size_ = (count * sizeof(iovec) + os::kPageSize - 1) & ~(os::kPageSize - 1);
    all_ = static_cast<iovec*>(os::map(size_));
  }
  ~Vectors() {
    if (size_ != 0 && all_ != nullptr) os::unmap(all_, size_);
  }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;
  iovec* all() noexcept { return all_; }

 private:
  static constexpr size_t kFew = 32;
  size_t size_ = 0;
  iovec* all_;
  iovec few_[kFew];
};

template <typename Call>
ssize_t with_vectors(const iovec* vectors, int count, Call call) noexcept {
  if (count < 0 || count > kMostVectors) {
    errno = EINVAL;
    return -1;
  }
  OutCall out(static_cast<size_t>(count));
  Vectors vectors_of_addresses(static_cast<size_t>(count));
  iovec* copy = vectors_of_addresses.all();
  if (!out.has_memory() || copy == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const iovec* from = address(vectors);
  for (int i = 0; i < count; i++) copy[i] = {out.pin(static_cast<char*>(from[i].iov_base)), from[i].iov_len};
  return out.run([&] { return call(copy); });
}

template <typename Call>
ssize_t with_message(msghdr* message, Call call) noexcept {
  msghdr copy = *address(message);
  if (copy.msg_iovlen > static_cast<size_t>(kMostVectors)) {
    errno = EMSGSIZE;
    return -1;
  }
  OutCall out(copy.msg_iovlen + 4);
  Vectors vectors_of_addresses(copy.msg_iovlen);
  iovec* vectors = vectors_of_addresses.all();
  if (!out.has_memory() || vectors == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const iovec* from = address(copy.msg_iov);
  for (size_t i = 0; i < copy.msg_iovlen; i++) vectors[i] = {out.pin(static_cast<char*>(from[i].iov_base)), from[i].iov_len};
  void* name = copy.msg_name;
  void* control = copy.msg_control;
  iovec* original = copy.msg_iov;
  copy.msg_iov = vectors;
  copy.msg_name = out.pin(static_cast<char*>(name));
  copy.msg_control = out.pin(static_cast<char*>(control));
  ssize_t result = out.run([&] { return call(&copy); });
  copy.msg_name = name;
  copy.msg_control = control;
  copy.msg_iov = original;
  *address(message) = copy;
  return result;
}

// Strings of an argument vector and of an environment as addresses, and what else the call takes: `fixed`, which become addresses too. The program may
// have set `environ` to an array of its own.
template <size_t count, typename Call>
int with_strings(const void* (&fixed)[count], char* const* first, char* const* second, Call call) noexcept {
  auto length = [](char* const* list) {
    size_t n = 0;
    if (list != nullptr) {
      while (address(list)[n] != nullptr) n++;
    }
    return n;
  };
  size_t n = length(first), m = length(second);
  OutCall out(n + m + count);
  auto* copies = static_cast<char**>(alloca((n + m + 2) * sizeof(char*)));
  if (!out.has_memory()) {
    errno = ENOMEM;
    return -1;
  }
  for (const void*& one : fixed) one = out.pin(one);
  for (size_t i = 0; i < n; i++) copies[i] = out.pin(address(first)[i]);
  copies[n] = nullptr;
  for (size_t i = 0; i < m; i++) copies[n + 1 + i] = out.pin(address(second)[i]);
  copies[n + 1 + m] = nullptr;
  return out.run([&] { return call(copies, copies + n + 1); });
}

template <typename Number, typename Parse>
Number parse(const char* text, char** end, Parse call) noexcept {
  const char* start = address(text);
  char* stop;
  Number number = call(start, &stop);
  if (end != nullptr) *address(end) = same_object(const_cast<char*>(text), start, stop);
  return number;
}

thread_local char* next_token __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

extern "C" {

long __freehold_strtol(const char* text, char** end, int base) {
  return parse<long>(text, end, [base](const char* from, char** stop) { return strtol(from, stop, base); });
}
unsigned long __freehold_strtoul(const char* text, char** end, int base) {
  return parse<unsigned long>(text, end, [base](const char* from, char** stop) { return strtoul(from, stop, base); });
}
double __freehold_strtod(const char* text, char** end) {
  return parse<double>(text, end, [](const char* from, char** stop) { return strtod(from, stop); });
}
float __freehold_strtof(const char* text, char** end) {
  return parse<float>(text, end, [](const char* from, char** stop) { return strtof(from, stop); });
}
long double __freehold_strtold(const char* text, char** end) {
  return parse<long double>(text, end, [](const char* from, char** stop) { return strtold(from, stop); });
}

char* __freehold_strtok_r(char* text, const char* delimiters, char** state) {
  if (text == nullptr) text = *address(state);
  if (text == nullptr) return nullptr;
  const char* among = address(delimiters);
  text += strspn(address(text), among);
  if (*address(text) == '\0') {
    *address(state) = text;
    return nullptr;
  }
  char* end = text + strcspn(address(text), among);
  if (*address(end) != '\0') *address(end++) = '\0';
  *address(state) = end;
  return text;
}
char* __freehold_strtok(char* text, const char* delimiters) { return __freehold_strtok_r(text, delimiters, &next_token); }
char* __freehold_strsep(char** text, const char* delimiters) {
  char* token = *address(text);
  if (token == nullptr) return nullptr;
  char* end = token + strcspn(address(token), address(delimiters));
  if (*address(end) != '\0') {
    *address(end++) = '\0';
    *address(text) = end;
  } else {
    *address(text) = nullptr;
  }
  return token;
}

size_t __freehold_iconv(iconv_t converter, char** from, size_t* from_left, char** to, size_t* to_left) {
  OutCall out(2);
  char* from_handle = from == nullptr ? nullptr : *address(from);
  char* to_handle = to == nullptr ? nullptr : *address(to);
  char* from_start = out.pin(from_handle);
  char* to_start = out.pin(to_handle);
  char* from_at = from_start;
  char* to_at = to_start;
  size_t left = from_left == nullptr ? 0 : *address(from_left), room = to_left == nullptr ? 0 : *address(to_left);
  size_t result = out.run([&] {
    return iconv(converter, from == nullptr ? nullptr : &from_at, from_left == nullptr ? nullptr : &left, to == nullptr ? nullptr : &to_at,
                 to_left == nullptr ? nullptr : &room);
  });
  if (from != nullptr) *address(from) = same_object(from_handle, from_start, from_at);
  if (to != nullptr) *address(to) = same_object(to_handle, to_start, to_at);
  if (from_left != nullptr) *address(from_left) = left;
  if (to_left != nullptr) *address(to_left) = room;
  return result;
}

ssize_t __freehold_writev(int file, const iovec* vectors, int count) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return writev(file, copy, count); });
}
ssize_t __freehold_readv(int file, const iovec* vectors, int count) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return readv(file, copy, count); });
}
ssize_t __freehold_pwritev(int file, const iovec* vectors, int count, off_t offset) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return pwritev(file, copy, count, offset); });
}
ssize_t __freehold_preadv(int file, const iovec* vectors, int count, off_t offset) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return preadv(file, copy, count, offset); });
}
ssize_t __freehold_sendmsg(int socket, const msghdr* message, int flags) {
  msghdr copy = *address(message);
  return with_message(&copy, [=](msghdr* header) { return sendmsg(socket, header, flags); });
}
ssize_t __freehold_recvmsg(int socket, msghdr* message, int flags) {
  return with_message(message, [=](msghdr* header) { return recvmsg(socket, header, flags); });
}

int __freehold_execv(const char* path, char* const* arguments) {
  const void* fixed[] = {path};
  return with_strings(fixed, arguments, environ, [&](char** list, char** variables) { return execve(static_cast<const char*>(fixed[0]), list, variables); });
}
int __freehold_execvp(const char* file, char* const* arguments) {
  const void* fixed[] = {file};
  return with_strings(fixed, arguments, environ, [&](char** list, char** variables) { return execvpe(static_cast<const char*>(fixed[0]), list, variables); });
}
int __freehold_execvpe(const char* file, char* const* arguments, char* const* environment) {
  const void* fixed[] = {file};
  return with_strings(fixed, arguments, environment,
                      [&](char** list, char** variables) { return execvpe(static_cast<const char*>(fixed[0]), list, variables); });
}
int __freehold_fexecve(int file, char* const* arguments, char* const* environment) {
  const void* fixed[] = {nullptr};
  return with_strings(fixed, arguments, environment, [&](char** list, char** variables) { return fexecve(file, list, variables); });
}
int __freehold_execve(const char* path, char* const* arguments, char* const* environment) {
  const void* fixed[] = {path};
  return with_strings(fixed, arguments, environment,
                      [&](char** list, char** variables) { return execve(static_cast<const char*>(fixed[0]), list, variables); });
}

// The child of a spawn runs in this process's memory until it is another program: its threads' records too.
using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, char* const*);
static int spawn(Spawn how, pid_t* child, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                 char* const* arguments, char* const* environment) {
  pid_t made = 0;
  const void* fixed[] = {path, actions, attributes};
  int error = with_strings(fixed, arguments, environment, [&](char** list, char** variables) {
    return how(&made, static_cast<const char*>(fixed[0]), static_cast<const posix_spawn_file_actions_t*>(fixed[1]),
               static_cast<const posix_spawnattr_t*>(fixed[2]), list, environment == nullptr ? nullptr : variables);
  });
  if (error == 0 && child != nullptr) *address(child) = made;
  return error == -1 ? ENOMEM : error;
}
int __freehold_posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                           char* const* arguments, char* const* environment) {
  return spawn(posix_spawn, child, path, actions, attributes, arguments, environment);
}
int __freehold_posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                            char* const* arguments, char* const* environment) {
  return spawn(posix_spawnp, child, file, actions, attributes, arguments, environment);
}

}  // extern "C"
