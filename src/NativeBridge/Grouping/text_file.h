// The files of heap profiles and groups: lines of text. The first one has the kind and its version, the last one a checksum of all before it: a file that was cut off,
// changed or is of another kind is refused, with the line where it went wrong. Nothing here throws: the compiler's plugin uses it too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freehold::grouping {

// FNV-1a.
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325, kHashPrime = 0x100000001b3;
constexpr uint64_t hash_of(std::string_view text, uint64_t hash = kHashStart) noexcept {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * kHashPrime;
  return hash;
}

class Reader {
 public:
  // Reads all of the file, and checks its first line ("freehold KIND 1") and the last one.
  Reader(const std::string& path, std::string_view kind);

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  // The words of the next line; none: it was the last one before the checksum, or something is wrong.
  std::vector<std::string_view> next();
  // The next line is `word` and a number, at most `most`.
  bool expect_count(std::string_view word, uint64_t most, uint64_t* count);
  // What is wrong with the line that was read last. The first error stays.
  bool fail(const std::string& what);
  bool at_end() const { return line_ >= lines_.size(); }

 private:
  std::string path_, text_, error_;
  std::vector<std::string_view> lines_;
  size_t line_ = 0;
};

class Writer {
 public:
  explicit Writer(std::string_view kind) : text_("freehold " + std::string(kind) + " 1\n") {}
  Writer& add(std::string_view word);
  Writer& add(uint64_t number);
  Writer& hexadecimal(uint64_t number);
  void end_line();
  // The whole file or none: what was there before stays after a failure. False: `error` says why.
  bool write(const std::string& path, std::string* error);

 private:
  std::string text_;
  bool in_line_ = false;
};

bool parse_number(std::string_view text, uint64_t* number);
bool parse_hexadecimal(std::string_view text, uint64_t* number);

}  // namespace freehold::grouping
