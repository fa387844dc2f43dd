// Numbers in texts of the heap: where each function says that it ends is the pointer that the program would compute.
#define _GNU_SOURCE
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static locale_t c_locale;

#define CHECK(Char, name, ...)                                   \
  do {                                                           \
    for (int i = 0; i < 4; i++) {                                \
      Char* text = texts_##Char[i];                              \
      Char** end = malloc(sizeof *end);                          \
      double number = (double)name(text, end __VA_ARGS__);       \
      free(malloc(100));                                         \
      printf(" %.0f %td %d", number, *end - text, *end == text); \
      number += (double)name(text, NULL __VA_ARGS__);            \
      printf(" %.0f", number);                                   \
      free(end);                                                 \
    }                                                            \
    printf(" " #name "\n");                                      \
  } while (0)

int main(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", NULL);
  const char* contents[] = {"  42 rest", "none", "-7", "123456789x"};
  char* texts_char[4];
  wchar_t* texts_wchar_t[4];
  for (int i = 0; i < 4; i++) {
    size_t length = strlen(contents[i]) + 1;
    texts_char[i] = malloc(length);
    texts_wchar_t[i] = malloc(length * sizeof(wchar_t));
    for (size_t n = 0; n < length; n++) texts_wchar_t[i][n] = texts_char[i][n] = contents[i][n];
  }
  CHECK(char, strtol, , 10);
  CHECK(char, strtoll, , 0);
  CHECK(char, strtoul, , 10);
  CHECK(char, strtoull, , 10);
  CHECK(char, strtoimax, , 10);
  CHECK(char, strtoumax, , 10);
  CHECK(char, strtoq, , 10);
  CHECK(char, strtol_l, , 10, c_locale);
  CHECK(char, strtoll_l, , 10, c_locale);
  CHECK(char, strtoul_l, , 10, c_locale);
  CHECK(char, strtoull_l, , 10, c_locale);
  CHECK(char, strtod);
  CHECK(char, strtof);
  CHECK(char, strtold);
  CHECK(char, strtof64);
  CHECK(char, strtod_l, , c_locale);
  CHECK(char, strtof_l, , c_locale);
  CHECK(char, strtold_l, , c_locale);
  CHECK(wchar_t, wcstol, , 10);
  CHECK(wchar_t, wcstoll, , 10);
  CHECK(wchar_t, wcstoul, , 10);
  CHECK(wchar_t, wcstoull, , 10);
  CHECK(wchar_t, wcstoimax, , 10);
  CHECK(wchar_t, wcstoumax, , 10);
  CHECK(wchar_t, wcstol_l, , 10, c_locale);
  CHECK(wchar_t, wcstoull_l, , 10, c_locale);
  CHECK(wchar_t, wcstod);
  CHECK(wchar_t, wcstof);
  CHECK(wchar_t, wcstold);
  CHECK(wchar_t, wcstod_l, , c_locale);
  for (int i = 0; i < 4; i++) {
    free(texts_char[i]);
    free(texts_wchar_t[i]);
  }
  return 0;
}
