// options: -std=c++17
// Classes of the standard library as members of an object in the heap: libstdc++ keeps no address of it, so it can move. How often a handle was passed to code that may keep it is the last figure
// of freehold/handles.h; without handles there is none.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fs = std::filesystem;

extern "C" size_t freehold_handles_statistics(uint64_t* figures, size_t count) __attribute__((weak));

static uint64_t escaped() {
  uint64_t figures[64] = {};
  if (freehold_handles_statistics == nullptr) return 0;
#ifdef __NO_INLINE__
  // libstdc++ finds the program's copy of basic_string::_M_create then, and keeps what it returns.
  return 0;
#endif
  return figures[freehold_handles_statistics(figures, 64) - 1];
}

struct Paths {
  fs::path first, second{"a name of more than fifteen characters"}, third{second};
  fs::directory_iterator folder;
  fs::directory_entry entry;
};
static size_t use(Paths& all) {
  std::error_code error;
  size_t sum = 0;
  all.first = "root";
  all.first /= all.second;
  all.first /= std::string(20, 'x');
  all.first += all.first.native();
  all.third = all.first;
  all.second = all.first.parent_path();
  all.second.replace_filename(all.third.filename());
  all.second.replace_extension("text");
  all.third.remove_filename();
  for (const fs::path& part : all.first) sum += part.native().size();
  std::vector<fs::path> many(3, all.first);
  many.push_back(all.second);
  many.insert(many.begin(), fs::path("another name of more than fifteen characters"));
  std::map<fs::path, int> ordered;
  for (fs::path& one : many) ordered[one]++;
  sum += ordered.size() + fs::exists(all.first, error);
  all.folder = fs::directory_iterator("/", error);
  all.entry = fs::directory_entry(all.second, error);
  if (all.folder != fs::directory_iterator()) all.folder.increment(error), sum++;
  all.folder = fs::directory_iterator();
  try {
    throw fs::filesystem_error("what", all.first, std::make_error_code(std::errc::io_error));
  } catch (const fs::filesystem_error& thrown) {
    sum += thrown.path1() == all.first;
  }
  return sum;
}

struct Tables {
  std::unordered_map<std::string, int> numbers;
  std::unordered_set<int> set;
  std::map<std::string, std::string> texts;
  std::multiset<int> ordered;
  std::list<std::string> list;
};
static size_t use(Tables& all) {
  for (int i = 0; i < 100; i++) {
    std::string key = "a key of more than fifteen characters " + std::to_string(i);
    all.numbers[key] = i;
    all.set.insert(i * 3);
    all.texts[key] = key;
    all.ordered.insert(i % 7);
    all.list.push_back(key);
  }
  all.set.rehash(1000);
  all.list.sort();
  all.list.reverse();
  for (int i = 0; i < 100; i += 2) all.numbers.erase("a key of more than fifteen characters " + std::to_string(i)), all.set.erase(i);
  return all.numbers.size() + all.set.size() + all.texts.size() + all.ordered.count(3) + all.list.size();
}

struct Others {
  std::exception_ptr thrown, copy;
  std::locale locale, classic = std::locale::classic();
  std::logic_error error{"none"}, other{error};
  std::string text;
};
static size_t use(Others& all) {
  try {
    throw std::runtime_error(std::string(40, 'r'));
  } catch (...) {
    all.thrown = std::current_exception();
  }
  all.copy = all.thrown;
  all.error = std::logic_error(std::string(50, 'l'));
  all.locale = all.classic;
  all.text = all.locale.name();
  size_t sum = all.text.size() + (all.copy == all.thrown);
  return sum + std::string(all.error.what()).size();
}

template <typename Type>
static void check(const char* name) {
  size_t sum = 0;
  uint64_t before = 0;
  for (int i = 0; i < 10; i++) {
    // The first time things are made that stay.
    if (i == 1) before = escaped();
    auto made = std::make_unique<Type>();
    auto copy = std::make_unique<Type>();
    sum += use(*made) + use(*copy);
  }
  std::printf("%s: %zu, %d passed to code that may keep them\n", name, sum, static_cast<int>(escaped() - before));
}

int main() {
  check<Paths>("paths");
  check<Tables>("tables");
  check<Others>("others");
}
