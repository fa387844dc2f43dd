// The file of FREEHOLD_DEATHS (docs/internals/deaths.md): a header, then JSON. It is there as a whole or not at all: written without a name, then named `NAME.PROCESS.part`, and then as it is
// called. (Where the file system has no files without a name, it is `NAME.PROCESS.part` from the beginning.)
//
//   0   8   FHDEATHS
//   8   u32 version, 1
//   12  u32 CRC-32 of the JSON, as in zip
//   16  u64 bytes of the JSON
//
// All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

inline constexpr uint32_t kDeathFileVersion = 1;

// Makes sure that the file can be written, before anything of the program runs: `path` with its `%p` replaced, from the current folder. What is there stays. False: the reason is in `reason`.
bool prepare_death_file(const char* path, char* reason, size_t capacity) noexcept;

// The next piece of a new file, which the first one begins. What fails is told at the end. In the child of a fork these two do nothing. One thread at a time.
void add_to_death_file(const char* json, size_t length) noexcept;
// The new file replaces the one before, if `keep`. False, with the reason: that is as it was.
bool end_death_file(bool keep, char* reason, size_t capacity) noexcept;

}  // namespace freehold::diag
