#define _GNU_SOURCE
#include "handlers.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

static void (*called)(void);
static void handle(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  called();
  // Behind ud2.
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
static void handle_plainly(int signal) {
  (void)signal;
  called();
}
void plain_install(void (*work)(void)) {
  called = work;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, 0);
}
int plain_is_installed(void) {
  struct sigaction action;
  return sigaction(SIGILL, 0, &action) == 0 && action.sa_sigaction == handle && (action.sa_flags & SA_SIGINFO) != 0;
}
int plain_signal(void) {
  int right = signal(SIGUSR2, handle_plainly) == SIG_DFL;
  struct sigaction action;
  right += sigaction(SIGUSR2, 0, &action) == 0 && action.sa_handler == handle_plainly && (action.sa_flags & SA_SIGINFO) == 0;
  right += raise(SIGUSR2) == 0;
  right += signal(SIGUSR2, SIG_DFL) == handle_plainly;
  right += signal(0, handle_plainly) == SIG_ERR && signal(SIGKILL, handle_plainly) == SIG_ERR;
  right += sigaction(SIGKILL, 0, &action) == 0 && action.sa_handler == SIG_DFL;
  right += sigset(SIGUSR2, SIG_HOLD) == SIG_DFL;
  right += raise(SIGUSR2) == 0;
  right += sigset(SIGUSR2, handle_plainly) == SIG_HOLD;  // it comes now
  right += sigset(SIGUSR2, SIG_DFL) == handle_plainly;
  return right;
}
