// Calls that end without notice, each before a call whose allocations must have the right context all the same: exceptions that are caught here, above, or on the way
// through a cleanup; longjmp; a thread that ends in the middle.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct Node {
  Node* next;
  long value;
};

static jmp_buf target;
static Node* lists[4];

__attribute__((noinline)) void add(int list) {
  auto* node = static_cast<Node*>(malloc(sizeof(Node)));
  node->next = lists[list];
  node->value = list;
  lists[list] = node;
}
__attribute__((noinline)) void throws(int depth) {
  if (depth == 0) throw 1;
  throws(depth - 1);
}
__attribute__((noinline)) void jumps(int depth) {
  if (depth == 0) longjmp(target, 1);
  jumps(depth - 1);
}
struct Cleanup {
  ~Cleanup() { add(3); }
};
__attribute__((noinline)) void cleans(int depth) {
  Cleanup cleanup;
  throws(depth);
}

__attribute__((noinline)) void after_exception() { add(0); }
__attribute__((noinline)) void after_jump() { add(1); }
__attribute__((noinline)) void after_thread() { add(2); }

static void* ends(void*) { pthread_exit(nullptr); }

int main() {
  for (int i = 0; i < 200; i++) {
    try {
      if (i % 2 == 0) throws(i % 5);
      cleans(i % 7);
    } catch (int) {
      after_exception();
    }
    if (setjmp(target) == 0) {
      jumps(i % 6);
    } else {
      after_jump();
    }
    if (i % 50 == 0) {
      pthread_t thread;
      pthread_create(&thread, nullptr, ends, nullptr);
      pthread_join(thread, nullptr);
    }
    after_thread();
  }
  long sum = 0;
  for (int round = 0; round < 20; round++) {
    for (Node* list : lists) {
      for (Node* node = list; node != nullptr; node = node->next) sum += node->value;
    }
  }
  printf("%ld\n", sum);
  return 0;
}
