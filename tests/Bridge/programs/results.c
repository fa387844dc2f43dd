// Functions of the C library that return one of their arguments, or a place in it. Each argument in turn is in the heap; the result is used after
// calls, while objects move.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#undef basename
extern char* basename(const char*);

// Handles change nothing: what is in `memory` is in a new object, which others lie beside.
static void* in_heap(const void* memory, size_t size) {
  free(malloc(size));
  void* made = malloc(size);
  memcpy(made, memory, size);
  return made;
}
static void move_all(void) {
  for (int i = 0; i < 20; i++) {
    free(malloc(100));
    usleep(0);
  }
}

static void show(const char* name, const char* result, const char* start) {
  move_all();
  if (result == NULL) {
    printf("%s null\n", name);
  } else {
    printf("%s %ld %s\n", name, (long)(result - start), result);
  }
}
// `expression` uses a, the first argument, and b, the second.
#define EACH(name, first, second, expression, origin)                  \
  for (int which = 0; which < 4; which++) {                            \
    char one[200] = first, other[200] = second;                        \
    char* a = (which & 1) != 0 ? in_heap(one, sizeof one) : one;       \
    char* b = (which & 2) != 0 ? in_heap(other, sizeof other) : other; \
    const char* found = expression;                                    \
    show(name, found, origin);                                         \
    if (a != one) free(a);                                             \
    if (b != other) free(b);                                           \
  }
#define WIDE(name, expression)                                                                            \
  for (int which = 0; which < 4; which++) {                                                               \
    wchar_t one[50] = L"wide text", other[50] = L"te";                                                    \
    wchar_t* a = (which & 1) != 0 ? in_heap(one, sizeof one) : one;                                       \
    wchar_t* b = (which & 2) != 0 ? in_heap(other, sizeof other) : other;                                 \
    const wchar_t* found = expression;                                                                    \
    move_all();                                                                                           \
    printf("%s %ld %d\n", name, found == NULL ? -1 : (long)(found - a), found == NULL ? 0 : (int)*found); \
    if (a != one) free(a);                                                                                \
    if (b != other) free(b);                                                                              \
  }

static void strings(void) {
  EACH("strcpy", "text", "other", strcpy(a, b), a)
  EACH("strncpy", "text", "other", strncpy(a, b, 100), a)
  EACH("strcat", "text", "other", strcat(a, b), a)
  EACH("strncat", "text", "other", strncat(a, b, 3), a)
  EACH("memcpy", "text", "other", memcpy(a, b, 10), a)
  EACH("memmove", "text", "other", memmove(a + 1, b, 10), a)
  EACH("memset", "text", "other", memset(a + 2, b[0], 4), a)
  EACH("stpcpy", "text", "other", stpcpy(a, b), a)
  EACH("stpncpy", "text", "other", stpncpy(a, b, 9), a)
  EACH("mempcpy", "text", "other", mempcpy(a, b, 3), a)
  EACH("memccpy", "text", "other", memccpy(a, b, 'h', 9), a)
  EACH("memccpy none", "text", "other", memccpy(a, b, 'x', 5), a)
  EACH("strchr", "a text", "other", strchr(a, b[1]), a)
  EACH("strchr none", "a text", "zone", strchr(a, b[0]), a)
  EACH("strrchr", "a text", "other", strrchr(a, b[1]), a)
  EACH("strchrnul", "a text", "zone", strchrnul(a, b[0]), a)
  EACH("memchr", "a text", "x", memchr(a, b[0], 9), a)
  EACH("memrchr", "a text", "t", memrchr(a, b[0], 6), a)
  EACH("rawmemchr", "a text", "t", rawmemchr(a, b[0]), a)
  EACH("strstr", "a text", "ex", strstr(a, b), a)
  EACH("strstr none", "a text", "zone", strstr(a, b), a)
  EACH("strcasestr", "a text", "EX", strcasestr(a, b), a)
  EACH("strpbrk", "a text", "xe", strpbrk(a, b), a)
  EACH("memmem", "a text", "ext", memmem(a, 6, b, 3), a)
  EACH("basename", "/some/path", "", basename(a), a)
  EACH("basename of none", "name", "", basename(a), a)
  EACH("dirname", "/some/path", "", dirname(a), a)
  WIDE("wcschr", wcschr(a, b[0]))
  WIDE("wcsrchr", wcsrchr(a, b[0]))
  WIDE("wcsstr", wcsstr(a, b))
  WIDE("wcspbrk", wcspbrk(a, b))
  WIDE("wmemchr", wmemchr(a, b[1], 9))
  WIDE("wcscpy", wcscpy(a, b))
  WIDE("wmemset", wmemset(a, b[0], 3))
}

static void others(void) {
  struct tm when = {.tm_year = 100, .tm_mday = 2, .tm_mon = 3};
  time_t seconds = 954633600;
  EACH("asctime_r", "", "", asctime_r(memcpy(a, &when, sizeof when), b), b)
  EACH("ctime_r", "", "", ctime_r(memcpy(a, &seconds, sizeof seconds), b), b)
  // The zone's name is the C library's.
  EACH("localtime_r", "", "", (const char*)&localtime_r(memcpy(a, &seconds, sizeof seconds), (struct tm*)b)->tm_year, b)
  EACH("gmtime_r", "", "", (const char*)&gmtime_r(memcpy(a, &seconds, sizeof seconds), (struct tm*)b)->tm_year, b)
  EACH("inet_ntop", "\x01\x02\x03\x04", "", inet_ntop(AF_INET, a, b, 100), b)
  EACH("inet_ntop fails", "\x01\x02\x03\x04", "", inet_ntop(AF_INET, a, b, 3), b)
  EACH("strerror_r", "", "", strerror_r(123456, b, 100), b)
  for (int which = 0; which < 2; which++) {
    char space[100];
    char* buffer = which == 0 ? space : malloc(100);
    char* text = strerror_r(ENOENT, buffer, 100);
    move_all();
    printf("%s\n", text);
    if (which == 1) free(buffer);
  }
  EACH("strptime", "2001", "%Y", strptime(a, b, &when), a)
  EACH("fgets null", "", "", fgets(a, 10, stdin), a)
}

// What is filled in points into a buffer that the caller gave.
static void users(void) {
  for (int which = 0; which < 3; which++) {
    char* buffer = malloc(10000);
    struct passwd* entry = malloc(sizeof *entry);
    struct group* group = malloc(sizeof *group);
    struct passwd* found = NULL;
    struct group* found_group = NULL;
    int error = which == 0   ? getpwuid_r(0, entry, buffer, 10000, &found)
                : which == 1 ? getpwnam_r("root", entry, buffer, 10000, &found)
                             : getgrgid_r(0, group, buffer, 10000, &found_group);
    move_all();
    if (which < 2) {
      printf("%d %d %s %s %d\n", error, found != NULL, entry->pw_name, entry->pw_dir, found->pw_uid);
    } else {
      printf("%d %d %s %d\n", error, found_group != NULL, group->gr_name, found_group->gr_gid);
    }
    free(buffer);
    free(entry);
    free(group);
  }
}

int main(void) {
  if (freopen("/dev/null", "r", stdin) == NULL) return 1;
  strings();
  others();
  users();
  return 0;
}
