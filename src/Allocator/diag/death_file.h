// The file of FREEHOLD_DEATHS (docs/internals/deaths.md): a header, then JSON. It is there as a whole or not at all: written beside its name, as `NAME.PROCESS.part`, then given it.
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

// Replaces the file. False, with the reason: it is as it was. In the child of a fork: does nothing, and true. One thread at a time.
bool write_death_file(const char* json, size_t length, char* reason, size_t capacity) noexcept;

}  // namespace freehold::diag
