// Exceptions that are pointers: what is caught is what was thrown, a handle; code that is compiled never needs a repair.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" size_t freehold_handles_statistics(uint64_t* figures, size_t count) __attribute__((weak));

struct Base {
  virtual ~Base() = default;
  int first = 1;
};
struct Other {
  virtual ~Other() = default;
  int second = 2;
};
struct Derived : Base, Other {
  int third = 3;
};

static uint64_t repairs() {
  constexpr size_t kRepairedHandles = 10;  // as docs/statistics.md counts them
  uint64_t figures[32] = {};
  return freehold_handles_statistics == nullptr ? 0 : (freehold_handles_statistics(figures, 32), figures[kRepairedHandles]);
}
template <typename Thrown, typename Caught, typename Use>
static int catch_it(Thrown thrown, Use use) {
  try {
    throw thrown;
  } catch (Caught caught) {
    for (int i = 0; i < 20; i++) delete[] new char[100];
    return use(caught);
  }
}

int main() {
  for (int i = 0; i < 10; i++) {
    auto* text = new char[10];
    std::strcpy(text, "thrown");
    std::printf("%d", catch_it<char*, char*>(text, [](char* it) { return static_cast<int>(std::strlen(it)) + it[2]; }));
    std::printf(" %d", catch_it<char*, const char*>(text, [text](const char* it) { return it == text ? it[1] : -1; }));
    auto* object = new Derived;
    std::printf(" %d", catch_it<Derived*, Derived*>(object, [](Derived* it) { return it->third + it->second; }));
    std::printf(" %d", catch_it<Derived*, Base*>(object, [](Base* it) { return it->first; }));
    std::printf(" %d", catch_it<Derived*, Other*>(object, [object](Other* it) { return it == object ? it->second : -1; }));
    std::printf(" %d\n", catch_it<Derived, Other&>(*object, [](Other& it) { return it.second; }));
    delete object;
    delete[] text;
  }
  std::printf("%d\n", static_cast<int>(repairs()));
  return 0;
}
