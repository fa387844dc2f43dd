// What a verifier finds: the first record that contradicts the others. Nothing here allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::os {

struct Violation {
  const char* what = nullptr;    // null: nothing is wrong
  const char* record = nullptr;  // the kind of record, which has this number
  uint64_t number = 0;
  const void* address = nullptr;  // of the memory that the record describes; null: of none
  bool is_found() const noexcept { return what != nullptr; }
};

// "WHAT (RECORD NUMBER, at ADDRESS)", as much as fits. Null when nothing was found, otherwise the text.
inline const char* describe(const Violation& violation, char* text, size_t capacity) noexcept {
  if (!violation.is_found()) return nullptr;
  size_t length = 0;
  auto put = [&](const char* more) noexcept {
    while (*more != 0 && length + 1 < capacity) text[length++] = *more++;
    text[length] = 0;
  };
  auto put_number = [&](uint64_t value, uint32_t base) noexcept {
    char digits[24];
    uint32_t at = sizeof digits;
    digits[--at] = 0;
    do digits[--at] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    put(digits + at);
  };
  put(violation.what);
  put(" (");
  put(violation.record);
  put(" ");
  put_number(violation.number, 10);
  if (violation.address != nullptr) {
    put(", at 0x");
    put_number(reinterpret_cast<uintptr_t>(violation.address), 16);
  }
  put(")");
  return text;
}

}  // namespace freehold::os
