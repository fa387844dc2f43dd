// Uncompiled C++ deletes what compiled code has made, and the other way round, with operators delete of another allocator behind.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

// Not compiled with handles.
struct Item {
  long words[5];
};
void take(std::unique_ptr<Item> item);
std::unique_ptr<Item> give();

int main() {
  size_t sum = 0;
  for (int round = 0; round < 20; round++) {
    // libstdc++ deletes the characters that are too few.
    std::filesystem::path path("/a name that is long enough for the heap");
    for (int i = 0; i < 9; i++) path /= "component";
    sum += path.native().size();
    take(std::make_unique<Item>());
    sum += static_cast<size_t>(give()->words[0]);
  }
  std::puts(sum == 20 * (40 + 9 * 10 + 3) ? "right" : "wrong");
}
