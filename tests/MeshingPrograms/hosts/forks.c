// Forks while handlers of early.c allocate.
#include <sys/wait.h>
#include <unistd.h>

int early(void);

int main(void) {
  for (int i = 0; i < 5; i++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(early());
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 1) return 1;
  }
  return 0;
}
