// A C++ library that a C program loads for itself: operator new has to find what it throws with, and the handler.
#include <cstddef>
#include <cstdint>
#include <new>

static bool handled = false;

extern "C" int plugin(void) {
  volatile std::size_t size = PTRDIFF_MAX - 100;
  bool caught = false;
  std::set_new_handler([] {
    handled = true;
    std::set_new_handler(nullptr);
  });
  try {
    delete[] new char[size];
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  return caught && handled && new (std::nothrow) char[size] == nullptr;
}
