// The child of a fork has a defragmenter's thread of its own, once its heap is worth it. Where there is none (another compiler, service or stress) only
// the heap is used.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

size_t freehold_handles_statistics(uint64_t* figures, size_t count) __attribute__((weak));
extern const char freehold_program_service[] __attribute__((weak));

static int is_set(const char* name) {
  const char* value = getenv(name);
  return value != NULL && *value != '\0';
}
static int has_defragmenter(void) {
  return freehold_handles_statistics != NULL && freehold_program_service == NULL && !is_set("FREEHOLD_NATIVE_SERVICE") && !is_set("FREEHOLD_NATIVE_STRESS");
}
static uint64_t rounds(void) {
  enum { kRounds = 5 };
  uint64_t figures[32] = {0};
  freehold_handles_statistics(figures, 32);
  return figures[kRounds];
}
// 40 MB, of which a tenth is left. Returns when the defragmenter has worked, or after two minutes.
static int fill_and_wait(void) {
  enum { kCount = 200000 };
  uint64_t before = has_defragmenter() ? rounds() : 0;
  char** all = malloc(kCount * sizeof *all);
  int count = is_set("FREEHOLD_NATIVE_STRESS") ? kCount / 100 : kCount;
  for (int i = 0; i < count; i++) memset(all[i] = malloc(200), i, 200);
  for (int i = 0; i < count; i++) {
    if (i % 10 != 0) free(all[i]);
  }
  int worked = !has_defragmenter();
  for (int i = 0; i < 12000 && !worked; i++) {
    usleep(10000);
    worked = rounds() > before;
  }
  int right = 1;
  for (int i = 0; i < count; i += 10) {
    right &= all[i][199] == (char)i;
    free(all[i]);
  }
  free(all);
  return worked && right;
}

int main(void) {
  printf("%d\n", fill_and_wait());
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) _exit(fill_and_wait() ? 7 : 1);
  int status;
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  return 0;
}
