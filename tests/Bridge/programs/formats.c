// Lists of arguments that are printed: strings in the heap of all lengths, to streams of all kinds.
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int to_stream(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vfprintf(stream, format, arguments);
  va_end(arguments);
  return n;
}
static int to_output(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vprintf(format, arguments);
  va_end(arguments);
  return n;
}
static int to_file(int file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vdprintf(file, format, arguments);
  va_end(arguments);
  return n;
}
static int to_memory(char* text, size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, size, format, arguments);
  va_end(arguments);
  return n;
}
static int to_new(char** text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vasprintf(text, format, arguments);
  va_end(arguments);
  return n;
}
static void to_errors(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  errno = ENOENT;
  vwarn(format, arguments);
  va_end(arguments);
  va_start(arguments, format);
  vwarnx(format, arguments);
  va_end(arguments);
}
static void ends(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  verrx(5, format, arguments);
}

static char* text_of(size_t length) {
  char* text = malloc(length + 1);
  for (size_t i = 0; i < length; i++) text[i] = (char)('a' + i * i % 23);
  text[length] = '\0';
  return text;
}
static unsigned hash_of_file(int file) {
  unsigned hash = 5381;
  char block[4096];
  ssize_t n;
  lseek(file, 0, SEEK_SET);
  while ((n = read(file, block, sizeof block)) > 0) {
    for (ssize_t i = 0; i < n; i++) hash = hash * 33 + (unsigned char)block[i];
  }
  return hash;
}

int main(void) {
  const size_t lengths[] = {1, 4095, 4096, 9000};
  const int modes[] = {_IONBF, _IOLBF, _IOFBF};
  char* format = strdup("<%s|%d|%s>\n");
  for (int i = 0; i < 4; i++) {
    char* text = text_of(lengths[i]);
    for (int mode = 0; mode < 3; mode++) {
      FILE* stream = tmpfile();
      setvbuf(stream, NULL, modes[mode], 4096);
      printf("%d", to_stream(stream, format, text, 7, text));
      printf(" %d %d\n", fflush(stream), ferror(stream));
      printf("%x\n", hash_of_file(fileno(stream)));
      fclose(stream);
    }
    FILE* file = tmpfile();
    printf("%d", to_file(fileno(file), format, text, 8, text));
    printf(" %x\n", hash_of_file(fileno(file)));
    fclose(file);
    printf("%d\n", to_output(format, text, 9, text));
    char* made = malloc(3 * lengths[i] + 100);
    printf("%d\n", to_memory(made, 3 * lengths[i] + 100, format, text, 10, text));
    puts(made);
    free(made);
    printf("%d\n", to_new(&made, format, text, 11, text));
    puts(made);
    free(made);
    free(text);
  }
  fflush(stdout);
  char* text = text_of(9000);
  int closed = open("/dev/null", O_RDONLY);
  errno = 0;
  printf("%d", to_file(closed, "%s", text));
  printf(" %d\n", errno == EBADF);
  FILE* stream = fdopen(closed, "r");
  printf("%d\n", to_stream(stream, "%s", text));
  printf("%d\n", to_stream(stdout, "%s", ""));
  int* count = malloc(sizeof *count);
  to_output("%.*s%n\n", 5, text, count);
  printf("%d\n", *count);
  fflush(stdout);
  program_invocation_short_name = "program";
  to_errors("%s", text);
  ends("%s", text);
  return 0;
}
