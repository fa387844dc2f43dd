// The socket on which the tool `freehold` asks a running program (FREEHOLD_DIAGNOSTICS=1): stat, leaks, verify, dump. docs/internals/diagnostics.md has the reasons.
//
// A file of a folder that only the user can enter: $XDG_RUNTIME_DIR/freehold, else $TMPDIR/freehold-<uid>, else /tmp/freehold-<uid>. One request for each connection, one connection at a time;
// who is neither this user nor root is refused. A thread of the managed half waits for requests, and answers. Everything that arrives is bounded in size and in time.
//
// Both directions have a frame of 16 bytes, little-endian, with the text of an answer behind it (src/Tools/Freehold/Protocol/Frame.cs has the same):
//
//   offset  size  request                    answer
//   0       4     "FHDG"                     "FHDG"
//   4       2     version: 1                 1
//   6       2     command (enum Command)     status (enum Status)
//   8       8     0: no command has data     bytes of UTF-8 that follow; of a dump kStreamed, and a stream that says itself where it ends (diag/dump_stream.h)
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

enum class Command : uint16_t { kNone = 0, kStat = 1, kLeaks = 2, kVerify = 3, kDump = 4, kDumpAnyway = 5 };
enum class Status : uint16_t { kDone = 0, kBadRequest = 1, kOtherVersion = 2, kUnknownCommand = 3, kFailed = 4, kNotAllowed = 5 };

struct Frame {
  char magic[4];
  uint16_t version;
  uint16_t code;
  uint64_t length;
};
static_assert(sizeof(Frame) == 16);
inline constexpr char kMagic[4] = {'F', 'H', 'D', 'G'};
inline constexpr uint16_t kProtocolVersion = 1;
inline constexpr uint64_t kStreamed = UINT64_MAX;
inline constexpr uint64_t kTimeToTake = 30'000'000'000;  // nanoseconds that a client has for its answer, and a second more for each megabyte

// Makes the folder and the socket, removes what dead processes have left there, and removes the socket's file when the process exits. False: it cannot be, and `error` says why. Once.
bool open_diagnostics(char* error, size_t capacity) noexcept;

// Waits for a request that is right, and answers the others itself. kNone: there is no socket (any more). One thread.
Command next_request() noexcept;
// Answers the request, and ends its connection. What the client has not taken after 30 s, and a second more for each MB, is dropped.
void answer(Status status, const char* text, size_t length) noexcept;

// For an answer that is made of several parts: another descriptor of its connection, above those of standard streams; negative: there is none.
int answering_socket() noexcept;
// It is not needed: answer() comes.
void leave_answering_socket() noexcept;
// Whoever else has a copy of it, the client sees the end.
void end_answer() noexcept;

// In the child of a fork: the requests are the parent's.
// `keeps_answer`: but for that descriptor, which it has for the answer.
void leave_diagnostics_to_parent(bool keeps_answer = false) noexcept;

// The path of the socket's file; empty before it is open.
const char* diagnostics_path() noexcept;
// Removes the file and closes the socket, so that next_request() returns: where there is no thread to answer, and for tests.
void close_diagnostics() noexcept;
// For tests: in place of the 30 s. Before requests are waited for.
void set_time_to_take(uint64_t nanoseconds) noexcept;

}  // namespace freehold::diag
