// The C library: what it is given, gives back, keeps, and calls back.
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct item {
  char* name;
  int value;
};
static int by_value(const void* a, const void* b) { return ((const struct item*)a)->value - ((const struct item*)b)->value; }
static int by_name(const void* a, const void* b) { return strcmp(((const struct item*)a)->name, ((const struct item*)b)->name); }
static int with_context(const void* a, const void* b, void* context) {
  ++*(int*)context;
  return by_value(a, b);
}
static int compare_strings(const void* a, const void* b) { return strcmp(a, b); }
static int walked;
static void walk(const void* node, VISIT visit, int depth) {
  if (visit == postorder || visit == leaf) walked += (int)strlen(*(char* const*)node) + depth * 0;
}

int main(void) {
  struct item* items = malloc(100 * sizeof *items);
  for (int i = 0; i < 100; i++) {
    items[i].name = malloc(16);
    sprintf(items[i].name, "item%02d", i * 37 % 100);
    items[i].value = i * 61 % 100;
  }
  qsort(items, 100, sizeof *items, by_value);
  printf("%s %d %s\n", items[0].name, items[50].value, items[99].name);
  qsort(items, 100, sizeof *items, by_name);
  struct item* key = malloc(sizeof *key);
  key->name = strdup("item42");
  struct item* found = bsearch(key, items, 100, sizeof *items, by_name);
  printf("%ld %d\n", found - items, found->value);
  int* calls = calloc(1, sizeof *calls);
  qsort_r(items, 100, sizeof *items, with_context, calls);
  printf("%d %d\n", *calls > 99, items[7].value);

  void* root = NULL;
  for (int i = 0; i < 50; i++) tsearch(items[i].name, &root, compare_strings);
  char* probe = strdup(items[3].name);
  printf("%d\n", *(char**)tfind(probe, &root, compare_strings) == items[3].name);
  twalk(root, walk);
  printf("%d\n", walked);
  for (int i = 0; i < 50; i++) tdelete(items[i].name, &root, compare_strings);

  char* text = strdup("alpha, beta;gamma,,delta");
  char* state;
  for (char* t = strtok_r(text, ",; ", &state); t != NULL; t = strtok_r(NULL, ",; ", &state)) printf("[%s]", t);
  free(text);
  char* fields = strdup("a:b::c");
  char* rest = fields;
  for (char* t; (t = strsep(&rest, ":")) != NULL;) printf("<%s>", t);
  printf("\n");
  char* number = strdup("  123abc");
  char* end;
  long n = strtol(number, &end, 10);
  printf("%ld %s %ld\n", n, end, end - number);
  printf("%.3f %s\n", strtod(strcpy(number, "2.5e1x"), &end), end);
  char** slot = malloc(sizeof *slot);
  strtoul("77 z", slot, 0);
  printf("%s\n", *slot);

  char* joined = malloc(64);
  strcpy(joined, "one");
  strcat(joined, "+two");
  char* e2 = stpcpy(joined + strlen(joined), "+three");
  printf("%s %ld %s %s\n", joined, e2 - joined, strrchr(joined, '+'), (char*)memchr(joined, 't', 20));
  int a, b;
  char* word = malloc(16);
  printf("%d %d %d %s\n", sscanf("7 8 nine", "%d %d %15s", &a, &b, word), a, b, word);

  char* path = strdup(P_tmpdir "/freehold-bridge-XXXXXX");
  int file = mkstemp(path);
  struct iovec* vectors = malloc(3 * sizeof *vectors);
  for (int i = 0; i < 3; i++) {
    vectors[i].iov_base = malloc(32);
    vectors[i].iov_len = (size_t)sprintf(vectors[i].iov_base, "line %d\n", i);
  }
  printf("%zd\n", writev(file, vectors, 3));
  for (int i = 0; i < 3; i++) memset(vectors[i].iov_base, 0, vectors[i].iov_len);
  printf("%zd %s", preadv(file, vectors, 3, 1), (char*)vectors[1].iov_base);
  printf("%zd\n", pwritev(file, vectors, 2, 1));
  // More of them than fit on the stack, and more than there may be.
  struct iovec* many = malloc(1025 * sizeof *many);
  for (int i = 0; i < 1025; i++) many[i] = (struct iovec){strdup("x"), 0};
  many[1000].iov_len = 1;
  printf("%zd\n", pwritev(file, many, 1024, 0));
  printf("%zd\n", pwritev(file, many, 1025, 0));
  lseek(file, 0, SEEK_SET);
  char* buffer = calloc(1, 128);
  printf("%zd\n", read(file, buffer, 127));
  FILE* stream = fdopen(file, "r+");
  rewind(stream);
  char* line = NULL;
  size_t capacity = 0;
  int total = 0;
  while (getline(&line, &capacity, stream) > 0) total += line[5];
  printf("%d\n", total);
  free(line);
  line = malloc(4);
  capacity = 4;
  rewind(stream);
  while (getline(&line, &capacity, stream) > 0) total += line[5];
  printf("%d %s", total, line);
  free(line);
  char* big = malloc(1000);
  setvbuf(stream, big, _IOFBF, 1000);
  fseek(stream, 0, SEEK_END);
  fprintf(stream, "%s|%d|%s\n", joined, 5, word);
  fflush(stream);
  rewind(stream);
  while (fgets(buffer, 128, stream) != NULL) total += (int)strlen(buffer);
  printf("%d %s", total, buffer);
  fclose(stream);
  free(big);
  unlink(path);
  char* made;
  printf("%d %s\n", asprintf(&made, "%s-%d", word, 9), made);
  made = realloc(made, 100);
  strcat(made, "!");
  puts(made);
  free(made);
  char* variable = strdup("FREEHOLD_TEST_VARIABLE=set");
  putenv(variable);
  printf("%s\n", getenv("FREEHOLD_TEST_VARIABLE"));
  struct tm* when = calloc(1, sizeof *when);
  when->tm_year = 100;
  when->tm_mday = 1;
  strftime(buffer, 128, "%Y-%m-%d", when);
  puts(buffer);
  fflush(stdout);
  char** variables_of_program = malloc(2 * sizeof *variables_of_program);
  variables_of_program[0] = strdup("WORD=environ");
  variables_of_program[1] = NULL;
  for (int i = 0; i < 4; i++) {
    pid_t child = fork();
    if (child == 0) {
      char** arguments = malloc(4 * sizeof *arguments);
      arguments[0] = strdup("sh");
      arguments[1] = strdup("-c");
      arguments[2] = strdup("echo its word: $WORD");
      arguments[3] = NULL;
      if (i < 2) {
        extern char** environ;
        environ = variables_of_program;
      }
      if (i == 0) execv("/bin/sh", arguments);
      if (i == 1) execvp("/bin/sh", arguments);
      if (i == 2) execvpe("/bin/sh", arguments, variables_of_program);
      if (i == 3) fexecve(open("/bin/sh", O_RDONLY), arguments, variables_of_program);
      _exit(1);
    }
    waitpid(child, NULL, 0);
  }
  pid_t child = fork();
  if (child == 0) {
    char** arguments = malloc(4 * sizeof *arguments);
    arguments[0] = strdup("sh");
    arguments[1] = strdup("-c");
    arguments[2] = strdup("echo from the child");
    arguments[3] = NULL;
    execv("/bin/sh", arguments);
    _exit(1);
  }
  int* status = malloc(sizeof *status);
  waitpid(child, status, 0);
  printf("%d\n", WEXITSTATUS(*status));
  extern char** environ;
  posix_spawn_file_actions_t* actions = malloc(sizeof *actions);
  posix_spawn_file_actions_init(actions);
  char* place = strdup("/dev/null");
  posix_spawn_file_actions_addopen(actions, 0, place, O_RDONLY, 0);
  free(place);
  for (int i = 0; i < 2; i++) {
    char** arguments = malloc(4 * sizeof *arguments);
    char** variables = malloc(2 * sizeof *variables);
    arguments[0] = strdup("sh");
    arguments[1] = strdup("-c");
    arguments[2] = strdup("echo spawned $WORD; exit 3");
    arguments[3] = NULL;
    variables[0] = strdup("WORD=word");
    variables[1] = NULL;
    pid_t* made = malloc(sizeof *made);
    char* shell = strdup(i == 0 ? "/bin/sh" : "sh");
    int error = i == 0 ? posix_spawn(made, shell, actions, NULL, arguments, variables) : posix_spawnp(made, shell, actions, NULL, arguments, environ);
    waitpid(*made, status, 0);
    printf("%d %d\n", error, WEXITSTATUS(*status));
  }
  printf("%d\n", posix_spawn(&child, "/does/not/exist", NULL, NULL, (char*[]){"x", NULL}, environ) == ENOENT);
  posix_spawn_file_actions_destroy(actions);
  free(actions);
  void* memory;
  printf("%d\n", posix_memalign(&memory, 256, 1000) == 0 && (size_t)memory % 256 == 0);
  free(memory);
  size_t (*length)(const char*) = strlen;
  void* (*allocate)(size_t) = malloc;
  void (*release)(void*) = free;
  char* raw = allocate(10);
  strcpy(raw, "pointer");
  printf("%zu %zu\n", length(raw), length(joined));
  release(raw);
  release(joined);
  errno = 0;
  printf("%d %d\n", open(strdup("/does/not/exist"), O_RDONLY), errno == ENOENT);
  return isdigit((unsigned char)*word);
}
