// Functions of the C library that take handles inside of what they are given, or give back addresses in it. The compiler calls these instead
// (Compiler/library.cpp). The caller is inside.
#include <errno.h>
#include <iconv.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out_call.h"

using namespace freehold::bridge;

namespace {

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

thread_local char* next_token __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

extern "C" {

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
int __freehold_execveat(int folder, const char* path, char* const* arguments, char* const* environment, int flags) {
  const void* fixed[] = {path};
  return with_strings(fixed, arguments, environment,
                      [&](char** list, char** variables) { return execveat(folder, static_cast<const char*>(fixed[0]), list, variables, flags); });
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
