// Settings by environment variable or configuration key, for both halves: each has a table of its own (knobs.inc). Nothing here allocates, as the meshing malloc reads its
// settings before the first allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::settings {

// A row of a table.
struct Setting {
  const char* variable;
  const char* key;       // of the configuration; "": environment only
  const char* expected;  // the values, as error messages and docs/settings.md say them
  bool (*parse)(const char* text) noexcept;
};

// Looks a configuration key up; false when it is not set.
using Lookup = bool (*)(const char* key, char* value, size_t capacity);

struct Table {
  const char* prefix;           // every variable with it must be in the table
  const char* const* excepted;  // but those with one of these, and _ or nothing behind it: another half's. Ends with null, or is null
  const Setting* rows;
  size_t count;

  // The configuration first: the environment has the last word. An empty variable counts as not set. False after an unknown or malformed setting, with a
  // description in `error`. `lookup` may be null.
  bool read(const char* const* environment, Lookup lookup, char* error, size_t capacity) const noexcept;
};

// Where the digits that `text` begins with end; null if there are none, or their number is too large. (strtoull would take a sign, and change errno.)
const char* parse_digits(const char* text, uint64_t* value) noexcept;

// Each stores the value in *value. False: `text` is none.
bool parse_switch(const char* text, bool* value) noexcept;  // 0, 1, false, true
bool parse_number(const char* text, uint64_t* value) noexcept;
bool parse_count(const char* text, uint64_t* value) noexcept;  // not 0
bool parse_size(const char* text, uint64_t* bytes) noexcept;   // bytes with an optional suffix K, M, G or T; not 0
constexpr uint64_t kNoLimit = UINT64_MAX;
bool parse_limit(const char* text, uint64_t* bytes) noexcept;  // a size, or `none` for kNoLimit

template <typename Value>
struct Word {
  const char* text;
  Value value;
};
bool is_word(const char* text, const char* word) noexcept;
template <typename Value, size_t kCount>
bool parse_word(const char* text, const Word<Value> (&words)[kCount], Value* value) noexcept {
  for (const Word<Value>& word : words) {
    if (!is_word(text, word.text)) continue;
    *value = word.value;
    return true;
  }
  return false;
}

}  // namespace freehold::settings
