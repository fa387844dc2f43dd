// A program without handles opens a library that has them (paths.cpp), calls it and frees what it gets.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

// A program at a fixed address has stubs for functions whose addresses it takes.
static void (*volatile let_go)(void*) = free;
static int (*volatile make)(const char*, mode_t) = mkdir;

int main(int count, char** arguments) {
  void* library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    puts(dlerror());
    return 1;
  }
  int (*grow)(const char*) = (int (*)(const char*))dlsym(library, "grow");
  int (*make_folder)(const char*) = (int (*)(const char*))dlsym(library, "make_folder");
  char* (*give)(void) = (char* (*)(void))dlsym(library, "give");
  printf("%d\n", grow("/a/name/that/is/long/enough/for/the/heap"));
  printf("%d\n", make_folder(arguments[2]));
  char* text = realloc(give(), 400);
  puts(text);
  free(text);
  let_go(malloc(100));
  free(give());
  if (make(arguments[2], 0700) == 0) puts("the folder was there");
  return 0;
}
