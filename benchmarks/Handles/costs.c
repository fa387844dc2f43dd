// Prints a line a cost: nanoseconds, and what for.
#include "costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kCalls = 20000000, kRepairs = 100000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static void told(double began, long count, const char* what) { printf("%.1f %s\n", (now() - began) / (double)count, what); }
static void callback(void) { __asm__ volatile(""); }

int main(void) {
  struct box* box = malloc(sizeof *box);
  box->inner = malloc(sizeof *box);
  box->inner->number = 1;
  long sum = 0;
  double began = now();
  for (long i = 0; i < kCalls; i++) plain_nothing();
  told(began, kCalls, "call of uncompiled code without pointers");
  began = now();
  for (long i = 0; i < kCalls; i++) sum += plain_read(box);
  told(began, kCalls, "call of uncompiled code with a pointer that it may keep");
  began = now();
  plain_call(callback, kCalls);
  told(began, kCalls, "call from uncompiled code");
  began = now();
  for (long i = 0; i < kCalls; i++) {
    void* volatile made = malloc(32);
    free(made);
  }
  told(began, kCalls, "malloc and free of 32 bytes");
  began = now();
  sum += plain_moves(&box->inner, kRepairs);
  told(began, kRepairs, "a repaired move");
  began = now();
  sum += plain_sums(&box->inner, kRepairs);
  told(began, kRepairs, "another repaired instruction");
  free(box->inner);
  free(box);
  return sum == 0;
}
