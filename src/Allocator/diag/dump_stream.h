// A heap dump on its way to a socket: frames with checksums, so that what is cut off or damaged is seen (docs/internals/heap-dump.md).
//
//   frame   u32 length, u32 CRC-32 of the payload, the payload; little-endian. A length of 0 ends the dump
//
// The payloads behind each other are one stream of records, which may begin in one frame and end in another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

// Allocates nothing, so that the child of a fork can use it. One thread.
class DumpStream {
 public:
  // Who reads has `patience` nanoseconds for all of it, and a second more for each 10 MB: the snapshot costs the program memory meanwhile. What it takes to make the dump does not count.
  void begin(int socket, uint64_t patience) noexcept;
  bool has_failed() const noexcept { return failed_; }
  uint64_t sent() const noexcept { return sent_; }

  // Bytes that are in no frame.
  void raw(const void* bytes, size_t size) noexcept;
  void byte(uint8_t value) noexcept {
    if (used_ == kCapacity) flush();
    buffer_[used_++] = value;
  }
  // Seven bits a byte, the lowest first; all bytes but the last have the highest bit.
  void number(uint64_t value) noexcept {
    while (value >= 0x80) {
      byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<uint8_t>(value));
  }
  // 0, -1, 1, -2, … as 0, 1, 2, 3, …
  void difference(uint64_t value) noexcept { number(value << 1 ^ (static_cast<int64_t>(value) < 0 ? UINT64_MAX : 0)); }
  void text(const char* bytes, size_t size) noexcept {
    number(size);
    for (size_t i = 0; i < size; i++) byte(static_cast<uint8_t>(bytes[i]));
  }
  void flush() noexcept;
  void end() noexcept;

 private:
  static constexpr size_t kCapacity = size_t{64} << 10;

  int socket_ = 0;
  bool failed_ = false;
  uint64_t patience_ = 0, waited_ = 0, sent_ = 0;
  size_t used_ = 0;
  uint8_t buffer_[kCapacity] = {};
};

// `before`: of what is in front of these.
uint32_t checksum(const uint8_t* bytes, size_t size, uint32_t before = 0) noexcept;

}  // namespace freehold::diag
