// Ways out of frames that nobody announces: longjmp of uncompiled code over compiled frames and out of them, vfork, pthread_exit, cancellation, and
// jumps out of handlers on a stack of their own.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int plain_call(int (*)(char*), char*);
void plain_longjmp(jmp_buf, int, char*);
int plain_try(int (*)(char*), char*);
void plain_throw(char*);
int plain_length(const char*);
int plain_catch(int (*)(char*, jmp_buf*), int (*)(char*), char*);
int plain_catch_signal(int (*)(char*, sigjmp_buf*), int (*)(char*), char*);
pid_t vfork(void);

static char* same(char* text) { return text; }
static char* (*volatile any)(char*) = same;

// A thread that is marked outside in compiled code gives addresses away.
static int is_inside(char* text) { return any(text) == text; }

static int jump_into_compiled(char* text) {
  jmp_buf* here = malloc(sizeof *here);
  int came = setjmp(*here);
  if (came == 0) plain_longjmp(*here, 5, text);
  printf("%d %d\n", came, is_inside(text));
  free(here);
  return plain_length(text);
}
static int in_a_child(char* text) {
  char* program = strdup("/bin/true");
  char* arguments[] = {program, NULL};
  pid_t child = vfork();
  if (child == 0) {
    execv(program, arguments);
    _exit(9);
  }
  int inside = is_inside(text), status;
  free(program);
  waitpid(child, &status, 0);
  printf("%d %d\n", status, inside);
  return plain_length(text);
}
static int deep(char* text, int n) {
  if (n == 0) plain_throw(text);
  char* copy = strdup(text);
  int result = deep(copy, n - 1) + plain_length(copy);
  free(copy);
  return result;
}
static int jump_over_compiled(char* text) { return deep(text, 5); }
static int churn(char* text) {
  int total = 0;
  for (int i = 0; i < 50; i++) {
    char* copy = strdup(text);
    total += plain_length(copy);
    free(copy);
  }
  return total;
}

static pthread_key_t key;
static int exits, cleanups;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void at_exit(void* value) {
  pthread_mutex_lock(&lock);
  exits += plain_length(value);
  pthread_mutex_unlock(&lock);
  free(value);
}
static int leave_thread(char* text) {
  if (strcmp(text, "leave") == 0) pthread_exit(text);
  return 1;
}
static void* leave_by_exit(void* text) {
  pthread_setspecific(key, strdup(text));
  plain_call(leave_thread, text);
  return NULL;
}
static int never[2];
static void cleanup(void* text) {
  pthread_mutex_lock(&lock);
  cleanups += plain_length(text);
  pthread_mutex_unlock(&lock);
}
static int wait_for_ever(char* text) {
  char* buffer = malloc(32);
  pthread_cleanup_push(cleanup, text);
  while (read(never[0], buffer, 32) >= 0) continue;
  pthread_cleanup_pop(0);
  return 0;
}
static void* leave_by_cancel(void* text) {
  pthread_setspecific(key, strdup(text));
  plain_call(wait_for_ever, text);
  return NULL;
}

static sigjmp_buf out;
static void jump_out(int number) { siglongjmp(out, number == SIGILL); }
static void* jump_from_handlers(void* text) {
  stack_t* stack = calloc(1, sizeof *stack);
  stack->ss_size = 65536;
  static char memory[65536];
  stack->ss_sp = memory;
  sigaltstack(stack, NULL);
  struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_ONSTACK};
  sigaction(SIGILL, &action, NULL);
  volatile int jumps = 0;
  if (sigsetjmp(out, 1) != 0) jumps++;
  if (jumps < 3) __builtin_trap();
  // Other threads stop this one now, at its polls and in its calls.
  int total = churn(text);
  stack->ss_flags = SS_DISABLE;
  sigaltstack(stack, NULL);
  free(stack);
  printf("%d %d\n", jumps, total);
  return NULL;
}

// To setjmp of code that was not compiled.
static char* known;
static int is_same(char* text) { return text == known; }
static int jump_to_plain(char* text, jmp_buf* there) {
  char* copy = strdup(text);
  int length = plain_length(copy);
  free(copy);
  longjmp(*there, length);
}
static sigjmp_buf* target;
static char* interrupted;
static void jump_to_target(int number) { siglongjmp(*target, plain_length(interrupted) + (number == SIGILL)); }
static int trap_to_plain(char* text, sigjmp_buf* there) {
  target = there;
  struct sigaction action = {.sa_handler = jump_to_target};
  sigaction(SIGILL, &action, NULL);
  if (text[0] == 'l') __builtin_trap();
  return text[0];
}

// A handler that jumps within itself: what it has interrupted goes on, with the addresses that it had.
static int inner;
static void jump_inside(int number) {
  static jmp_buf here;
  volatile int jumps = 0;
  if (setjmp(here) < 3) {
    jumps++;
    longjmp(here, jumps);
  }
  inner += jumps + plain_length(interrupted) + (number == SIGTRAP);
}
static int interrupt_in_a_loop(char* text) {
  struct sigaction action = {.sa_handler = jump_inside};
  sigaction(SIGTRAP, &action, NULL);
  int sum = 0;
  for (int i = 0; text[i] != 0; i++) {
    __asm__ volatile("int3");
    sum += text[i];
  }
  signal(SIGTRAP, SIG_DFL);
  return sum;
}

int main(void) {
  char* text = strdup("leave");
  known = text;
  interrupted = strdup("interrupted");
  for (int i = 0; i < 3; i++) {
    printf("%d ", plain_catch(jump_to_plain, is_same, text));
    printf("%d ", plain_catch_signal(trap_to_plain, is_same, text));
    char* copy = strdup("a text whose object moves");
    printf("%d %d %d\n", interrupt_in_a_loop(copy), inner, churn(copy));
    free(copy);
  }
  free(interrupted);
  printf("%d\n", plain_call(jump_into_compiled, text));
  printf("%d\n", plain_call(in_a_child, text));
  for (int i = 0; i < 3; i++) printf("%d %d\n", plain_try(jump_over_compiled, text), plain_call(churn, text));
  pthread_key_create(&key, at_exit);
  if (pipe(never) != 0) return 1;
  for (int i = 0; i < 10; i++) {
    pthread_t first, second;
    void *one, *two;
    pthread_create(&first, NULL, leave_by_exit, text);
    pthread_create(&second, NULL, leave_by_cancel, text);
    churn(text);
    pthread_cancel(second);
    churn(text);
    pthread_join(first, &one);
    pthread_join(second, &two);
    if (one != text || two != PTHREAD_CANCELED) printf("wrong result\n");
  }
  printf("%d %d\n", exits, cleanups);
  pthread_t jumper;
  pthread_create(&jumper, NULL, jump_from_handlers, text);
  for (int i = 0; i < 20; i++) churn(text);
  pthread_join(jumper, NULL);
  free(text);
  return 0;
}
