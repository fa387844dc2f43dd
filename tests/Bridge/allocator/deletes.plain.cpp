#include <memory>

struct Item {
  long words[5];
};
void take(std::unique_ptr<Item> item) { item->words[1] = 4; }
std::unique_ptr<Item> give() {
  auto made = std::make_unique<Item>();
  made->words[0] = 3;
  return made;
}
