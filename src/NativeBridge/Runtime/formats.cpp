// Functions that print a list of arguments. The list has handles in it, and the C library hands long strings of it to the system as they are. So the
// text is made first, by the C library, whose accesses work.
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "out_call.h"

extern "C" int __vasprintf_chk(char** made, int flag, const char* format, va_list arguments);

using namespace freehold::bridge;

namespace {

// Without the checks of _FORTIFY_SOURCE.
constexpr int kUnchecked = -1;

// `print` gets the text and its length, and returns whether all of it was printed. The thread is outside meanwhile. Returns the length, or -1.
template <typename Print>
int with_text(FILE* stream, const char* format, va_list arguments, int flag, Print print) noexcept {
  OutCall out(3);
  FILE* to = out.pin(stream);
  const char* how = out.pin(format);
  auto* list = out.pin(arguments);
  return out.run([&] {
    char* text = nullptr;
    int length = how == nullptr ? 0 : flag == kUnchecked ? vasprintf(&text, how, list) : __vasprintf_chk(&text, flag, how, list);
    if (length < 0) return -1;
    bool is_whole = print(to, text, static_cast<size_t>(length));
    int saved = errno;
    free(text);
    errno = saved;
    return is_whole ? length : -1;
  });
}

int print_to_stream(FILE* stream, const char* format, va_list arguments, int flag) noexcept {
  return with_text(stream, format, arguments, flag, [](FILE* to, const char* text, size_t length) { return fwrite(text, 1, length, to) == length; });
}

int print_to_file(int file, const char* format, va_list arguments, int flag) noexcept {
  return with_text(nullptr, format, arguments, flag, [file](FILE*, const char* text, size_t length) {
    while (length != 0) {
      ssize_t written = write(file, text, length);
      if (written < 0) return false;
      text += written;
      length -= static_cast<size_t>(written);
    }
    return true;
  });
}

// `report` is warn, warnx, err or errx with "%s", or with no text.
template <typename Report>
void report_text(const char* format, va_list arguments, Report report) noexcept {
  int error = errno;
  with_text(nullptr, format, arguments, kUnchecked, [&](FILE*, const char* text, size_t) {
    errno = error;
    report(text);
    return true;
  });
}

}  // namespace

extern "C" {

int __freehold_vfprintf(FILE* stream, const char* format, va_list arguments) { return print_to_stream(stream, format, arguments, kUnchecked); }
int __freehold_vprintf(const char* format, va_list arguments) { return print_to_stream(stdout, format, arguments, kUnchecked); }
int __freehold_vdprintf(int file, const char* format, va_list arguments) { return print_to_file(file, format, arguments, kUnchecked); }
int __freehold_vfprintf_chk(FILE* stream, int flag, const char* format, va_list arguments) { return print_to_stream(stream, format, arguments, flag); }
int __freehold_vprintf_chk(int flag, const char* format, va_list arguments) { return print_to_stream(stdout, format, arguments, flag); }
int __freehold_vdprintf_chk(int file, int flag, const char* format, va_list arguments) { return print_to_file(file, format, arguments, flag); }

void __freehold_vwarn(const char* format, va_list arguments) {
  report_text(format, arguments, [](const char* text) { text != nullptr ? warn("%s", text) : warn(nullptr); });
}
void __freehold_vwarnx(const char* format, va_list arguments) {
  report_text(format, arguments, [](const char* text) { text != nullptr ? warnx("%s", text) : warnx(nullptr); });
}
[[noreturn]] void __freehold_verr(int status, const char* format, va_list arguments) {
  report_text(format, arguments, [status](const char* text) { text != nullptr ? err(status, "%s", text) : err(status, nullptr); });
  exit(status);  // no memory for the text
}
[[noreturn]] void __freehold_verrx(int status, const char* format, va_list arguments) {
  report_text(format, arguments, [status](const char* text) { text != nullptr ? errx(status, "%s", text) : errx(status, nullptr); });
  exit(status);
}

}  // extern "C"
