#include "Platform/settings.h"

#include <string.h>

#include <initializer_list>

#include "Platform/one_for_all.h"
namespace freehold::settings {

namespace {

// What has been written of a text, as much as fits: snprintf may allocate.
class Text {
 public:
  Text(char* text, size_t capacity) noexcept : text_(text), capacity_(capacity) {
    if (capacity != 0) *text = 0;
  }

  void add(const char* part, size_t length) noexcept {
    while (length-- != 0 && length_ + 1 < capacity_) text_[length_++] = *part++;
    if (capacity_ != 0) text_[length_] = 0;
  }
  void add(std::initializer_list<const char*> parts) noexcept {
    for (const char* part : parts) add(part, strlen(part));
  }

 private:
  char* text_;
  size_t capacity_, length_ = 0;
};

bool is_excepted(const char* name, size_t length, const char* const* excepted) noexcept {
  for (; excepted != nullptr && *excepted != nullptr; excepted++) {
    size_t prefix = strlen(*excepted);
    if (length >= prefix && strncmp(name, *excepted, prefix) == 0 && (length == prefix || name[prefix] == '_')) return true;
  }
  return false;
}

const Setting* find(const Table& table, const char* name, size_t length) noexcept {
  for (size_t i = 0; i < table.count; i++) {
    if (strlen(table.rows[i].variable) == length && strncmp(table.rows[i].variable, name, length) == 0) return &table.rows[i];
  }
  return nullptr;
}

// The first name, and of the others what lies behind the words that all begin with.
void add_names(Text& text, const Table& table) noexcept {
  size_t common = strlen(table.prefix);
  if (table.prefix[common - 1] == '_') common--;
  for (size_t i = 0; i < table.count; i++) {
    if (i != 0) text.add({i + 1 == table.count ? " and " : ", "});
    text.add({table.rows[i].variable + (i == 0 ? 0 : common)});
  }
}

}  // namespace

FREEHOLD_ONE_FOR_ALL bool Table::read(const char* const* environment, Lookup lookup, char* error, size_t capacity) const noexcept {
  Text text(error, capacity);
  for (size_t i = 0; i < count; i++) {
    const Setting& row = rows[i];
    char value[256];
    if (*row.key == 0 || lookup == nullptr || !lookup(row.key, value, sizeof value) || row.parse(value)) continue;
    text.add({"The configuration setting ", row.key, " has the value '", value, "'; expected is ", row.expected, "."});
    return false;
  }
  for (; environment != nullptr && *environment != nullptr; environment++) {
    const char* name = *environment;
    if (strncmp(name, prefix, strlen(prefix)) != 0) continue;
    size_t length = strcspn(name, "=");
    if (name[length] == 0 || is_excepted(name, length, excepted)) continue;
    const Setting* row = find(*this, name, length);
    const char* value = name + length + 1;
    if (row == nullptr) {
      text.add({"The environment variable "});
      text.add(name, length);
      text.add({" is not known. Known are "});
      add_names(text, *this);
      text.add({"."});
      return false;
    }
    if (*value != 0 && !row->parse(value)) {
      text.add({"The environment variable ", row->variable, " has the value '", value, "'; expected is ", row->expected, "."});
      return false;
    }
  }
  return true;
}

FREEHOLD_ONE_FOR_ALL const char* parse_digits(const char* text, uint64_t* value) noexcept {
  const char* end = text;
  for (*value = 0; *end >= '0' && *end <= '9'; end++) {
    if (__builtin_mul_overflow(*value, uint64_t{10}, value) || __builtin_add_overflow(*value, static_cast<uint64_t>(*end - '0'), value)) return nullptr;
  }
  return end == text ? nullptr : end;
}

FREEHOLD_ONE_FOR_ALL bool is_word(const char* text, const char* word) noexcept { return strcmp(text, word) == 0; }

FREEHOLD_ONE_FOR_ALL bool parse_switch(const char* text, bool* value) noexcept {
  return parse_word<bool>(text, {{"1", true}, {"true", true}, {"0", false}, {"false", false}}, value);
}

FREEHOLD_ONE_FOR_ALL bool parse_number(const char* text, uint64_t* value) noexcept {
  const char* end = parse_digits(text, value);
  return end != nullptr && *end == 0;
}

FREEHOLD_ONE_FOR_ALL bool parse_count(const char* text, uint64_t* value) noexcept { return parse_number(text, value) && *value != 0; }

FREEHOLD_ONE_FOR_ALL bool parse_size(const char* text, uint64_t* bytes) noexcept {
  constexpr char kUnits[] = "KkMmGgTt";
  uint64_t number;
  const char* end = parse_digits(text, &number);
  if (end == nullptr) return false;
  int shift = 0;
  if (*end != 0) {
    const char* unit = strchr(kUnits, *end);
    if (unit == nullptr || end[1] != 0) return false;
    shift = 10 * (1 + static_cast<int>(unit - kUnits) / 2);
  }
  if (number == 0 || number > (UINT64_MAX >> shift)) return false;
  *bytes = number << shift;
  return true;
}

FREEHOLD_ONE_FOR_ALL bool parse_limit(const char* text, uint64_t* bytes) noexcept {
  if (!is_word(text, "none")) return parse_size(text, bytes);
  *bytes = kNoLimit;
  return true;
}

}  // namespace freehold::settings
