// a guaranteed tail call of a function of the C library has no translation
#include <stdio.h>
int forward(const char* text) { [[clang::musttail]] return puts(text); }
