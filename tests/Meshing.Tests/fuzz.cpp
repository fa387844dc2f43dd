// Bytes are a program: each pair of them allocates, frees, changes or meshes. Every object's contents are checked when it goes, and the heap at the end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "heap.h"
#include "knobs.h"

using namespace freehold::mesh;

namespace {

struct Object {
  unsigned char* start;
  size_t size;
  unsigned char content;
};

void fill(Object& object, unsigned char content) {
  object.content = content;
  memset(object.start, content, object.size);
}

void check(const Object& object, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (object.start[i] != object.content) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t length) {
  knobs.seed = 1;
  knobs.address_space = size_t{1} << 32;
  if (!open_heap()) abort();
  std::vector<Object> live;
  for (size_t i = 0; i + 1 < length; i += 2) {
    uint8_t what = data[i], more = data[i + 1];
    size_t size = what % 4 == 3 ? size_t{more} << (what >> 3 & 15) : (what >> 3) * size_t{9} + more;
    if (what % 8 < 4 || live.empty()) {
      Object object = {static_cast<unsigned char*>(what % 8 == 1 ? allocate_aligned(size, size_t{16} << more % 12) : allocate(size)), size, 0};
      if (object.start == nullptr) continue;
      fill(object, more);
      live.push_back(object);
      continue;
    }
    std::swap(live[more * live.size() / 256], live.back());
    Object& object = live.back();
    check(object, object.size);
    if (what % 8 == 4) {
      auto* moved = static_cast<unsigned char*>(reallocate(object.start, size + 1));
      if (moved == nullptr) continue;
      object.start = moved;
      check(object, std::min(object.size, size + 1));
      object.size = size + 1;
      fill(object, more);
    } else if (what == 0xff) {
      compact();
    } else {
      deallocate(object.start);
      live.pop_back();
    }
  }
  if (verify() != nullptr) abort();
  for (Object& object : live) {
    check(object, object.size);
    deallocate(object.start);
  }
  close_heap();
  return 0;
}

#ifdef FREEHOLD_FUZZ_MAIN
int main(int count, char** files) {
  for (int i = 1; i < count; i++) {
    static uint8_t data[1 << 20];
    FILE* file = fopen(files[i], "rb");
    if (file == nullptr) return 2;
    size_t length = fread(data, 1, sizeof data, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, length);
  }
}
#endif
