// References tell LLVM that there is memory to read, wherever the function is: it may read early, behind a call that has freed the object, when the program
// itself does not read there. Each function is told by its callee that the object is gone, and leaves it alone.
#include <stdio.h>
#include <stdlib.h>

struct Node {
  long value, other;
  int at() const;
};

#define APART __attribute__((noinline))

static Node* node;
static bool frees = false;

// Frees the node in every second call.
APART static bool release() {
  frees = !frees;
  if (frees) delete node;
  return frees;
}
APART static bool grow(long*& words, size_t count) {
  auto* made = static_cast<long*>(realloc(words, count * sizeof(long)));
  bool moved = made != words;
  words = made;
  return moved;
}
static Node* fresh(long n) { return node = new Node{n, n + 1}; }

APART static long in_a_branch(const Node& given) { return release() ? -1 : given.value; }
APART static long in_two_branches(const Node& given, long n) {
  bool gone = release();
  long sum = n;
  if (!gone) sum += given.value;
  if (!gone && n > 3) sum -= given.other;
  return sum;
}
APART static long in_a_loop(const Node& given, const long* wanted, int count) {
  release();
  long sum = 0;
  for (int i = 0; i < count; i++) {
    if (wanted[i] != 0) sum += given.value * i;
  }
  return sum;
}
APART static long behind_a_realloc(const long& first, long*& words, size_t count) { return grow(words, count) ? words[0] : first; }
APART int Node::at() const { return release() ? -1 : static_cast<int>(other); }
APART static Node& found() { return *node; }
APART static long of_a_result() {
  Node& one = found();
  bool gone = release();
  return gone ? 0 : one.value + one.other;
}
// What malloc returns has a size that LLVM knows.
APART static long of_an_allocation(int n) {
  auto* words = static_cast<long*>(malloc(2 * sizeof(long)));
  if (words == nullptr) return 1;
  words[0] = n;
  words[1] = n * 2;
  bool gone = n % 2 == 0;
  if (gone) free(words);
  puts("between");
  long result = gone ? 7 : words[1];
  if (!gone) free(words);
  return result;
}
template <typename T>
struct Holder {
  T& inner;
  APART long read() {
    T& one = inner;
    return release() ? 5 : one.value;
  }
};

int main() {
  long wanted[8];
  // Each twice: with an object that is freed, and with one that is not.
  for (int i = 0; i < 6; i++) {
    for (long& one : wanted) one = frees ? 1 : 0;
    printf("%ld ", in_a_branch(*fresh(i)));
    printf("%ld ", in_a_branch(*fresh(i)));
    printf("%ld ", in_two_branches(*fresh(i), i));
    printf("%ld ", in_two_branches(*fresh(i), i));
    printf("%ld ", in_a_loop(*fresh(i + 10), wanted, 8));
    for (long& one : wanted) one = 1;
    printf("%ld ", in_a_loop(*fresh(i + 10), wanted, 8));
    printf("%d ", fresh(i)->at());
    printf("%d ", fresh(i + 1)->at());
    fresh(i);
    printf("%ld ", of_a_result());
    fresh(i);
    printf("%ld ", of_a_result());
    Holder<Node> holder{*fresh(i)};
    printf("%ld ", holder.read());
    Holder<Node> again{*fresh(i)};
    printf("%ld\n", again.read());
    printf("%ld\n", of_an_allocation(i));
  }
  auto* words = static_cast<long*>(malloc(4 * sizeof(long)));
  words[0] = 42;
  for (size_t count = 4; count < 100000; count = count * 3 / 2) printf("%ld\n", behind_a_realloc(words[0], words, count));
  free(words);
}
