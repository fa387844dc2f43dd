#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

int plain_call(int (*callback)(char*), char* text) { return callback(text); }
void plain_longjmp(jmp_buf there, int value, char* text) { longjmp(there, text[0] == 0 ? 0 : value); }

static jmp_buf here;
// What the frames were that have been jumped over is written over.
static int scribble(void) {
  volatile char memory[20000];
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (char)0xee;
  return memory[7] != 0;
}
int plain_try(int (*callback)(char*), char* text) {
  if (setjmp(here) == 0) return callback(text);
  return scribble() + 100;
}
void plain_throw(char* text) { longjmp(here, text[0]); }
// The target is not compiled: after the jump the thread is outside, so what the callback gets are handles.
int plain_catch(int (*callback)(char*, jmp_buf*), int (*is_same)(char*), char* text) {
  jmp_buf there;
  int came = setjmp(there);
  if (came == 0) return callback(text, &there);
  return came * 10 + is_same(text) + scribble();
}
int plain_catch_signal(int (*callback)(char*, sigjmp_buf*), int (*is_same)(char*), char* text) {
  sigjmp_buf there;
  int came = sigsetjmp(there, 1);
  if (came == 0) return callback(text, &there);
  return came * 10 + is_same(text) + scribble();
}
int plain_length(const char* text) { return (int)strlen(text); }
