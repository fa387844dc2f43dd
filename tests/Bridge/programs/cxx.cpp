// C++: containers, exceptions, virtual calls, closures, smart pointers, threads.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  virtual std::string name() const { return "shape"; }
};
struct Square : Shape {
  double side;
  explicit Square(double s) : side(s) {}
  double area() const override { return side * side; }
};
struct Circle : virtual Shape {
  double r;
  explicit Circle(double r) : r(r) {}
  double area() const override { return 3 * r * r; }
  std::string name() const override { return "a circle with a name that is too long for the small buffer"; }
};
struct Guard {
  std::string* log;
  const char* name;
  ~Guard() { *log += name; }
};

static int depth(int n, std::string* log) {
  Guard guard{log, n % 2 ? "o" : "e"};
  auto held = std::make_unique<std::vector<int>>(n, n);
  if (n == 0) throw std::runtime_error("the bottom, with a text that needs memory of its own: " + std::to_string(held->size()));
  return depth(n - 1, log) + held->back();
}

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 20; i++) {
    if (i % 3) shapes.push_back(std::make_unique<Square>(i));
    else shapes.push_back(std::make_unique<Circle>(i));
  }
  double area = 0;
  size_t letters = 0;
  for (auto& shape : shapes) {
    area += shape->area();
    letters += shape->name().size();
  }
  printf("%.1f %zu %d\n", area, letters, dynamic_cast<Circle*>(shapes[3].get()) != nullptr);

  std::map<std::string, int> ages;
  for (int i = 0; i < 300; i++) ages["key number " + std::to_string(i * 7919 % 1000)] = i;
  for (int i = 0; i < 300; i += 3) ages.erase("key number " + std::to_string(i * 7919 % 1000));
  long sum = 0;
  for (auto& [key, value] : ages) sum = sum * 31 % 1000003 + value + static_cast<long>(key.size());
  printf("%zu %ld %s\n", ages.size(), sum, ages.begin()->first.c_str());
  std::unordered_map<int, std::string> names;
  for (int i = 0; i < 1000; i++) names[i * 31] = std::string(static_cast<size_t>(i % 50), 'x');
  size_t total = 0;
  for (auto& entry : names) total += entry.second.size();
  printf("%zu %zu\n", names.size(), total);
  std::set<int> set;
  for (int i = 0; i < 500; i++) set.insert(i * 37 % 211);
  printf("%zu %d %d\n", set.size(), *set.lower_bound(100), *set.rbegin());
  std::list<int> list(100);
  std::iota(list.begin(), list.end(), 0);
  list.remove_if([](int i) { return i % 3 == 0; });
  list.sort(std::greater<int>());
  list.reverse();
  printf("%zu %d\n", list.size(), list.front());
  std::deque<std::string> deque;
  for (int i = 0; i < 200; i++) {
    deque.push_back(std::to_string(i));
    if (i % 3 == 0) deque.pop_front();
    deque.push_front("f");
  }
  printf("%zu %s\n", deque.size(), deque[150].c_str());

  std::string log;
  try {
    depth(10, &log);
  } catch (const std::exception& e) {
    printf("%s %s\n", e.what(), log.c_str());
  }
  try {
    std::vector<int> v(3);
    v.at(5) = 1;
  } catch (const std::out_of_range&) {
    puts("out of range");
  }
  try {
    try {
      throw std::string("inner");
    } catch (...) {
      log = "rethrown ";
      throw;
    }
  } catch (std::string& s) {
    puts((log + s).c_str());
  }
  std::function<int(int)> fib = [&fib](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
  printf("%d\n", fib(15));
  auto shared = std::make_shared<std::vector<int>>(50, 3);
  std::weak_ptr<std::vector<int>> weak = shared;
  auto other = shared;
  shared.reset();
  printf("%d %ld\n", weak.lock()->at(49), other.use_count());
  std::ostringstream out;
  out << "stream " << 42 << ' ' << 2.5 << ' ' << std::string("text that is long enough to need its own memory, and grows the buffer") << std::hex << 255;
  std::istringstream in("1 2 three 4.5");
  int a, b;
  std::string word;
  double d;
  in >> a >> b >> word >> d;
  std::cout << out.str() << ' ' << a + b << word << d << std::endl;
  std::variant<int, std::string> variant = std::string("variant");
  printf("%s\n", std::get<std::string>(variant).c_str());

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::map<int, std::vector<int>> results;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([i, &mutex, &results] {
      std::vector<int> mine;
      for (int j = 0; j < 500; j++) mine.push_back(i * j);
      std::lock_guard<std::mutex> lock(mutex);
      results[i] = std::move(mine);
    });
  }
  for (auto& thread : threads) thread.join();
  long check = 0;
  for (auto& [i, values] : results) check += std::accumulate(values.begin(), values.end(), 0L) * (i + 1);
  printf("%ld\n", check);
  std::vector<std::string> words;
  for (int i = 0; i < 200; i++) words.push_back("w" + std::to_string(i * 7 % 200) + std::string(static_cast<size_t>(i % 30), 'z'));
  std::sort(words.begin(), words.end());
  std::stable_sort(words.begin(), words.end(), [](const std::string& x, const std::string& y) { return x.size() < y.size(); });
  std::string joined;
  for (auto& w : words) joined += w;
  printf("%zu %s %zu\n", joined.size(), words[100].c_str(), joined.find("w77"));
  static std::string global = joined.substr(5, 50);
  puts(global.c_str());
  return 0;
}
