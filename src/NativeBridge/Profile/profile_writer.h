// Writes what the recorder has as a file (Grouping/profile.h has the format). By system calls: at exit the program's own heap may be in any state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder.h"

namespace freehold::profile {

class ProfileWriter {
 public:
  // The caller holds all locks.
  explicit ProfileWriter(Recorder& recorder) noexcept : recorder_(recorder) {}
  void write() noexcept;

 private:
  void find_path() noexcept;
  void gather() noexcept;
  void write_lines() noexcept;
  void text(const char* text) noexcept;
  void number(uint64_t value, unsigned base = 10) noexcept;
  void flush() noexcept;
  void report(const char* what, int error) noexcept;

  static constexpr size_t kBuffer = 1 << 16, kLongestPath = 4200;
  Recorder& recorder_;
  int file_ = -1;
  int error_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325;
  size_t used_ = 0;
  Counts sum_;
  Counts context_numbers_;  // from 1
  uint64_t contexts_ = 0, affinities_ = 0;
  uint32_t chain_[Contexts::kLongestChain] = {};
  char path_[kLongestPath] = {}, new_path_[kLongestPath] = {}, buffer_[kBuffer] = {};
};

}  // namespace freehold::profile
