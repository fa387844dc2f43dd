#include "diag/dump_stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <array>

#include "Platform/time.h"

namespace freehold::diag {

namespace {

constexpr uint64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
constexpr uint64_t kSlowest = 10'000'000;  // bytes in a second

constexpr std::array<uint32_t, 256> kChecksums = [] {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
    table[i] = sum;
  }
  return table;
}();

}  // namespace

uint32_t checksum(const uint8_t* bytes, size_t size, uint32_t before) noexcept {
  uint32_t sum = ~before;
  for (size_t i = 0; i < size; i++) sum = sum >> 8 ^ kChecksums[(sum ^ bytes[i]) & 0xff];
  return ~sum;
}

void DumpStream::begin(int socket, uint64_t patience) noexcept {
  socket_ = socket;
  patience_ = patience;
  failed_ = false;
  waited_ = sent_ = 0;
  used_ = 0;
}

void DumpStream::raw(const void* bytes, size_t size) noexcept {
  const auto* next = static_cast<const char*>(bytes);
  while (size != 0 && !failed_) {
    ssize_t sent = send(socket_, next, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      next += sent;
      size -= static_cast<size_t>(sent);
      sent_ += static_cast<uint64_t>(sent);
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    uint64_t limit = patience_ + sent_ / kSlowest * kSecond, before = os::nanoseconds();
    if (sent == 0 || errno != EAGAIN || waited_ >= limit) {
      failed_ = true;
      return;
    }
    pollfd socket = {socket_, POLLOUT, 0};
    if (poll(&socket, 1, static_cast<int>((limit - waited_) / kMillisecond) + 1) < 0 && errno != EINTR) failed_ = true;
    waited_ += os::nanoseconds() - before;
  }
}

void DumpStream::flush() noexcept {
  if (used_ == 0) return;
  uint32_t head[2] = {static_cast<uint32_t>(used_), checksum(buffer_, used_)};
  raw(head, sizeof head);
  raw(buffer_, used_);
  used_ = 0;
}

void DumpStream::end() noexcept {
  flush();
  uint32_t head[2] = {};
  raw(head, sizeof head);
}

}  // namespace freehold::diag
