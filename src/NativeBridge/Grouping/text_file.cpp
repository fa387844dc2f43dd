#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <charconv>

namespace freehold::grouping {

namespace {

constexpr size_t kLargestFile = size_t{1} << 30;

template <int base>
bool parse(std::string_view text, uint64_t* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_all(const std::string& path, std::string* text, std::string* error) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    *error = path + ": cannot be opened: " + strerror(errno);
    return false;
  }
  char part[65536];
  ssize_t size;
  while ((size = read(file, part, sizeof part)) != 0) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) *error = path + ": cannot be read: " + strerror(errno);
    if (size > 0) text->append(part, static_cast<size_t>(size));
    if (text->size() > kLargestFile) *error = path + ": is larger than 1 GB, which no such file is";
    if (!error->empty()) break;
  }
  close(file);
  return error->empty();
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

std::string hexadecimal_of(uint64_t number) {
  char digits[20];
  snprintf(digits, sizeof digits, "%016lx", number);
  return digits;
}

}  // namespace

bool parse_number(std::string_view text, uint64_t* number) { return parse<10>(text, number); }
bool parse_hexadecimal(std::string_view text, uint64_t* number) { return parse<16>(text, number); }

Reader::Reader(const std::string& path, std::string_view kind) : path_(path) {
  if (!read_all(path, &text_, &error_)) return;
  std::string_view rest = text_;
  std::string first = "freehold " + std::string(kind) + " ";
  if (!rest.starts_with(first)) {
    error_ = path + ": is no freehold " + std::string(kind) + ": its first line is not '" + first + "1'";
    return;
  }
  size_t last = 0;  // where the last line begins
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    last = static_cast<size_t>(rest.data() - text_.data());
    lines_.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (!lines_.empty() && lines_[0] != first + "1") {
    error_ = path + ": has version '" + std::string(lines_[0].substr(first.size())) + "'; this program reads version 1";
    return;
  }
  uint64_t sum;
  if (!rest.empty() || lines_.size() < 2 || !lines_.back().starts_with("end ") || !parse_hexadecimal(lines_.back().substr(4), &sum)) {
    error_ = path + ": is cut off: its last line is no checksum";
    return;
  }
  if (sum != hash_of(std::string_view(text_).substr(0, last))) {
    error_ = path + ": is damaged: its checksum is another one";
    return;
  }
  lines_.pop_back();
  line_ = 1;
}

std::vector<std::string_view> Reader::next() {
  std::vector<std::string_view> words;
  if (failed() || at_end()) return words;
  std::string_view line = lines_[line_++];
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    if (end != 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  if (words.empty()) fail("is empty");
  return words;
}

bool Reader::expect_count(std::string_view word, uint64_t most, uint64_t* count) {
  if (at_end()) return fail("'" + std::string(word) + "' is missing behind it");
  std::vector<std::string_view> words = next();
  if (words.size() != 2 || words[0] != word || !parse_number(words[1], count)) return fail("should be '" + std::string(word) + "' and a number");
  return *count <= most || fail("the number is too large");
}

bool Reader::fail(const std::string& what) {
  if (error_.empty()) error_ = path_ + ": line " + std::to_string(line_) + ": " + what;
  return false;
}

Writer& Writer::add(std::string_view word) {
  if (in_line_) text_ += ' ';
  in_line_ = true;
  text_ += word;
  return *this;
}
Writer& Writer::add(uint64_t number) { return add(std::to_string(number)); }
Writer& Writer::hexadecimal(uint64_t number) { return add(hexadecimal_of(number)); }
void Writer::end_line() {
  text_ += '\n';
  in_line_ = false;
}

bool Writer::write(const std::string& path, std::string* error) {
  std::string whole = text_ + "end " + hexadecimal_of(hash_of(text_)) + "\n", made = path + ".new." + std::to_string(getpid());
  int file = open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    *error = made + ": cannot be written: " + strerror(errno);
    return false;
  }
  bool good = write_all(file, whole);
  if (!good) *error = made + ": cannot be written: " + strerror(errno);
  if (close(file) != 0 && good) {
    good = false;
    *error = made + ": cannot be written: " + strerror(errno);
  }
  if (good && rename(made.c_str(), path.c_str()) != 0) {
    good = false;
    *error = path + ": cannot be written: " + strerror(errno);
  }
  if (!good) unlink(made.c_str());
  return good;
}

}  // namespace freehold::grouping
