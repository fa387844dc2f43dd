// Functions of the C library that read a number from a text and tell where it ends: the end is a byte of the object that the text's handle names.
// The compiler calls these instead (Compiler/library.cpp). The caller is inside.
#include <stdlib.h>
#include <wchar.h>

#include "out_call.h"

using namespace freehold::bridge;

namespace {

template <typename Char, typename Parse>
auto parse(const Char* text, Char** end, Parse call) noexcept {
  const Char* start = address(text);
  Char* stop;
  auto number = call(start, &stop);
  if (end != nullptr) *address(end) = same_object(const_cast<Char*>(text), start, stop);
  return number;
}

}  // namespace

#define FREEHOLD_INTEGER(type, name, Char)                                                                                 \
  extern "C" type __freehold_##name(const Char* text, Char** end, int base) {                                              \
    return parse(text, end, [base](const Char* from, Char** stop) { return name(from, stop, base); });                     \
  }                                                                                                                        \
  extern "C" type __freehold_##name##_l(const Char* text, Char** end, int base, locale_t locale) {                         \
    return parse(text, end, [base, locale](const Char* from, Char** stop) { return name##_l(from, stop, base, locale); }); \
  }
#define FREEHOLD_REAL(type, name, Char)                                                                        \
  extern "C" type __freehold_##name(const Char* text, Char** end) {                                            \
    return parse(text, end, [](const Char* from, Char** stop) { return name(from, stop); });                   \
  }                                                                                                            \
  extern "C" type __freehold_##name##_l(const Char* text, Char** end, locale_t locale) {                       \
    return parse(text, end, [locale](const Char* from, Char** stop) { return name##_l(from, stop, locale); }); \
  }

FREEHOLD_INTEGER(long, strtol, char)
FREEHOLD_INTEGER(unsigned long, strtoul, char)
FREEHOLD_INTEGER(long, wcstol, wchar_t)
FREEHOLD_INTEGER(unsigned long, wcstoul, wchar_t)
FREEHOLD_REAL(double, strtod, char)
FREEHOLD_REAL(float, strtof, char)
FREEHOLD_REAL(long double, strtold, char)
FREEHOLD_REAL(double, wcstod, wchar_t)
FREEHOLD_REAL(float, wcstof, wchar_t)
FREEHOLD_REAL(long double, wcstold, wchar_t)
#undef FREEHOLD_INTEGER
#undef FREEHOLD_REAL
