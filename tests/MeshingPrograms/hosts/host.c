// Loads plugin.cpp so that only it sees its C++ library.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  void* library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*plugin)(void) = library != NULL ? (int (*)(void))dlsym(library, "plugin") : NULL;
  if (plugin == NULL) return puts(dlerror()), 2;
  return !plugin();
}
