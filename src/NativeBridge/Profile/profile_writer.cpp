#include "profile_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Platform/files.h"

namespace freehold::profile {

namespace {

// The end of what is written.
char* put(char* to, const char* end, const char* text) noexcept {
  while (*text != '\0' && to + 1 < end) *to++ = *text++;
  *to = '\0';
  return to;
}

char* put_number(char* to, const char* end, uint64_t value, unsigned base) noexcept {
  char digits[24];
  size_t n = sizeof digits;
  digits[--n] = '\0';
  do digits[--n] = "0123456789abcdef"[value % base];
  while ((value /= base) != 0);
  return put(to, end, digits + n);
}

}  // namespace

void ProfileWriter::find_path() noexcept {
  char* to = path_;
  const char* end = path_ + kLongestPath - 32;
  bool has_number = false;
  auto process = static_cast<uint64_t>(getpid());
  for (const char* from = recorder_.path_; *from != '\0'; from++) {
    if (from[0] == '%' && from[1] == 'p') {
      to = put_number(to, end, process, 10);
      has_number = true;
      from++;
    } else {
      const char one[2] = {*from, '\0'};
      to = put(to, end, one);
    }
  }
  if (recorder_.is_child_ && !has_number) to = put_number(put(to, end, "."), end, process, 10);
  to = put(new_path_, new_path_ + kLongestPath, path_);
  put_number(put(to, new_path_ + kLongestPath, ".new."), new_path_ + kLongestPath, process, 10);
}

void ProfileWriter::flush() noexcept {
  for (size_t done = 0; done < used_ && error_ == 0;) {
    ssize_t size = ::write(file_, buffer_ + done, used_ - done);
    if (size > 0) {
      done += static_cast<size_t>(size);
    } else if (size == 0 || errno != EINTR) {
      error_ = size == 0 ? EIO : errno;
    }
  }
  used_ = 0;
}

void ProfileWriter::text(const char* text) noexcept {
  for (; *text != '\0'; text++) {
    if (used_ == kBuffer) flush();
    buffer_[used_++] = *text;
    hash_ = (hash_ ^ static_cast<uint8_t>(*text)) * 0x100000001b3;
  }
}

void ProfileWriter::number(uint64_t value, unsigned base) noexcept {
  char digits[24];
  put_number(digits, digits + sizeof digits, value, base);
  text(digits);
}

// All threads' counts as one, and which contexts there is anything to say of.
void ProfileWriter::gather() noexcept {
  for (ThreadState* state = recorder_.states_; state != nullptr; state = state->next) {
    state->affinity.counts().for_each([&](uint64_t key, uint64_t value) {
      if (uint64_t* sum = sum_.at(key)) *sum += value;
    });
  }
  auto give_number = [&](uint64_t context) {
    uint64_t* number = context_numbers_.at(context);
    if (number != nullptr && *number == 0) *number = ++contexts_;
  };
  for (uint32_t i = kNoContext; i < recorder_.contexts_.end(); i++) {
    if (recorder_.contexts_[i].allocations != 0) give_number(i);
  }
  // Of objects that the parent of a fork has allocated.
  sum_.for_each([&](uint64_t key, uint64_t) {
    if (key >> 32 != 0) affinities_++;
    if (key >> 32 != 0) give_number(key >> 32);
    give_number(key & UINT32_MAX);
  });
}

void ProfileWriter::write_lines() noexcept {
  Contexts& contexts = recorder_.contexts_;
  text("freehold heap-profile 1\nsites ");
  number(contexts.sites_end() - 1);
  text("\n");
  for (uint32_t i = 1; i < contexts.sites_end(); i++) {
    number(contexts.site(i).shape, 16);
    text(" ");
    text(contexts.site(i).name);
    text("\n");
  }
  text("contexts ");
  number(contexts_);
  text("\n");
  // In the order of their numbers in the file.
  Counts by_number;
  context_numbers_.for_each([&](uint64_t context, uint64_t number) {
    if (uint64_t* place = by_number.at(number)) *place = context;
  });
  for (uint64_t n = 1; n <= contexts_; n++) {
    uint64_t* place = by_number.at(n);
    uint64_t context = place == nullptr || *place == 0 ? kNoContext : *place;
    ContextNode& node = contexts[static_cast<uint32_t>(context)];
    uint64_t* accesses = sum_.at(context);
    number(node.allocations);
    text(" ");
    number(node.bytes);
    text(" ");
    number(accesses == nullptr ? 0 : *accesses);
    uint32_t length = 0;
    for (auto at = static_cast<uint32_t>(context); at != kNoContext && length < Contexts::kLongestChain; at = contexts[at].parent)
      chain_[length++] = contexts[at].site - 1;
    while (length != 0) {
      text(" ");
      number(chain_[--length]);
    }
    text("\n");
  }
  text("affinities ");
  number(affinities_);
  text("\n");
  sum_.for_each([&](uint64_t key, uint64_t weight) {
    if (key >> 32 == 0) return;
    uint64_t a = *context_numbers_.at(key >> 32) - 1, b = *context_numbers_.at(key & UINT32_MAX) - 1;
    number(a < b ? a : b);
    text(" ");
    number(a < b ? b : a);
    text(" ");
    number(weight);
    text("\n");
  });
  uint64_t hash = hash_;
  text("end ");
  number(hash, 16);
  text("\n");
  flush();
}

void ProfileWriter::report(const char* what, int error) noexcept {
  char line[kLongestPath + 256];
  const char* end = line + sizeof line;
  char* to = put(line, end, "freehold: the heap profile '");
  to = put(put(put(put(to, end, path_), end, "' cannot be "), end, what), end, ": ");
  const char* text = strerrordesc_np(error);
  put(put(to, end, text == nullptr ? "an unknown error" : text), end, "\n");
  os::write_error(line);
}

void ProfileWriter::write() noexcept {
  find_path();
  gather();
  file_ = open(new_path_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) return report("written", errno);
  write_lines();
  if (close(file_) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0 && rename(new_path_, path_) != 0) error_ = errno;
  if (error_ == 0) return;
  report("written", error_);
  unlink(new_path_);
}

}  // namespace freehold::profile
