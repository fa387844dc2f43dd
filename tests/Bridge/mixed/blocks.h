// Compiled once for each BLOCK_WORDS.
#include <stdlib.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define BLOCK(name) JOIN(name, BLOCK_WORDS)
