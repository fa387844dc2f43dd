// A mistake with a freed object, named by the first argument. Where the object is allocated, freed and used, by the line: run.sh compares these with the report.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct holder {
  char* text;
};
size_t plain_length(struct holder* holder);
void plain_free(void* pointer);
void plain_realloc(struct holder* holder);
size_t plain_size(struct holder* holder);

static volatile char sink;

__attribute__((noinline)) static char* make(void) {
  char* made = malloc(40);  // allocated
  memset(made, 'x', 40);
  made[39] = 0;
  return made;
}
__attribute__((noinline)) static void discard(char* object) {
  free(object);  // freed
  sink = 0;
}
__attribute__((noinline)) static void read_from(volatile char* gone) {
  sink = gone[3];  // load
  sink = 1;
}
__attribute__((noinline)) static void write_to(volatile char* gone) {
  gone[3] = 1;  // store
  sink = 1;
}

static char* shared;
static void* in_thread(void* unused) {
  read_from(shared);
  return unused;
}
static void in_handler(int signal) { read_from(shared); }

static void use(const char* how, char* object) {
  char copy[64];
  struct holder* holder = malloc(sizeof *holder);
  holder->text = object;
  if (strcmp(how, "inside") == 0) free(object + 8);  // inside
  if (strcmp(how, "before") == 0) free(object - 8);
  if (strcmp(how, "realloc-inside") == 0) puts(realloc(object + 8, 40));  // realloc-inside
  if (strcmp(how, "realloc-before") == 0) puts(realloc(object - 8, 40));
  if (strcmp(how, "size-inside") == 0) printf("%zu\n", malloc_usable_size(object + 8));  // size-inside
  holder->text = object + 8;
  if (strcmp(how, "plain-realloc-inside") == 0) plain_realloc(holder);
  if (strcmp(how, "plain-size-inside") == 0) printf("%zu\n", plain_size(holder));
  holder->text = object;
  discard(object);
  shared = object;
  if (strcmp(how, "load") == 0) read_from(object);
  if (strcmp(how, "store") == 0) write_to(object);
  if (strcmp(how, "strlen") == 0) printf("%zu\n", strlen(object));  // strlen
  if (strcmp(how, "memcpy") == 0) memcpy(copy, object, 40 + (size_t)sink), puts(copy);
  if (strcmp(how, "kept") == 0) printf("%zu\n", plain_length(holder));  // kept
  if (strcmp(how, "double") == 0) free(object);                         // double
  if (strcmp(how, "plain") == 0) plain_free(holder);
  if (strcmp(how, "realloc") == 0) puts(realloc(object, 400));  // realloc
  if (strcmp(how, "late") == 0) {
    // The plain quarantine is over, that of debug mode is not.
    for (int i = 0; i < 20000; i++) free(malloc(16));
    free(object);
  }
  if (strcmp(how, "handler") == 0) {
    stack_t other = {malloc(65536), 0, 65536};
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
  }
  if (strcmp(how, "thread") == 0 || strcmp(how, "threads") == 0) {
    pthread_t threads[4];
    int count = how[6] == 's' ? 4 : 1;
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  }
  if (strcmp(how, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) read_from(object);
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) abort();
  }
}

int main(int count, char** arguments) {
  // Something to move.
  for (int i = 0; i < 1000; i++) {
    char* churn = make();
    if (i % 2 == 0) free(churn);
  }
  use(arguments[1], make());
  puts("nothing was noticed");
  return 0;
}
