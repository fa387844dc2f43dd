#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int (*work)(void (*)(void));
static void between(void) { free(malloc(100)); }
static void* run(void* unused) { return (void*)(long)work(between); }

int main(int count, char** arguments) {
  (void)count;
  long right = 0;
  int destroyed = 0;
  for (int i = 0; i < 5; i++) {
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      puts(dlerror());
      return 1;
    }
    work = (int (*)(void (*)(void)))dlsym(library, "opened_work");
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    void* result;
    pthread_join(thread, &result);
    right += (long)result;
    destroyed = ((int (*)(void))dlsym(library, "opened_destroyed"))();
    dlclose(library);
  }
  // Of the main thread, which ends after it was closed.
  right += work(between);
  puts(right == 6 * 50 * 22 && destroyed == 5 ? "right" : "wrong");
  return 0;
}
