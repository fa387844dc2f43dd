// Objects for tests/OneProcess.
#pragma once

#include <stddef.h>
#include <stdint.h>

void* object_make(size_t size, unsigned seed);
int object_is_intact(const void* object, size_t size, unsigned seed);
void object_free(void* object);
void* object_inside(void* object, long offset);
uint64_t object_churn(unsigned seed, unsigned rounds);
int object_free_foreign(unsigned count);
int object_visit(unsigned count, int (*visit)(void* object, size_t size, unsigned seed));
