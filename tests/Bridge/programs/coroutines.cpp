// options: -std=c++20
// C++20 coroutines: their frames are objects of the heap, with everything that lives across a suspension, references to other objects too.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

template <typename T>
class Generator {
 public:
  struct promise_type {
    T current{};
    std::exception_ptr failure;
    Generator get_return_object() { return Generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(T value) {
      current = std::move(value);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };
  explicit Generator(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Generator(Generator&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  ~Generator() {
    if (frame_) frame_.destroy();
  }
  bool next() {
    frame_.resume();
    if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
    return !frame_.done();
  }
  const T& value() const { return frame_.promise().current; }

 private:
  std::coroutine_handle<promise_type> frame_;
};

static Generator<int> numbers(int from, int to) {
  std::vector<int> seen;
  for (int i = from; i < to; i++) {
    seen.push_back(i);
    co_yield i + static_cast<int>(seen.size());
  }
}

struct Tree {
  int key;
  std::unique_ptr<Tree> left, right;
};
static void add(std::unique_ptr<Tree>& tree, int key) {
  if (!tree) tree = std::make_unique<Tree>(Tree{key, nullptr, nullptr});
  else add(key < tree->key ? tree->left : tree->right, key);
}
static Generator<int> in_order(const Tree* tree) {
  if (tree == nullptr) co_return;
  for (auto left = in_order(tree->left.get()); left.next();) co_yield left.value();
  co_yield tree->key;
  for (auto right = in_order(tree->right.get()); right.next();) co_yield right.value();
}

static Generator<std::string> words(const std::string& text, std::map<std::string, int>& counts) {
  std::string word;
  for (char letter : text + " ") {
    if (letter != ' ') {
      word += letter;
      continue;
    }
    if (word == "stop") throw std::runtime_error("stopped at " + std::to_string(counts.size()));
    counts[word]++;
    co_yield word;
    word.clear();
  }
}

// Tasks that wait for each other: symmetric transfer.
class Task {
 public:
  struct promise_type {
    std::coroutine_handle<> waiting;
    std::unique_ptr<long> result;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().waiting ? ended.promise().waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(long value) { result = std::make_unique<long>(value); }
    void unhandled_exception() { std::terminate(); }
  };
  explicit Task(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  ~Task() {
    if (frame_) frame_.destroy();
  }
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    frame_.promise().waiting = waiting;
    return frame_;
  }
  long await_resume() { return *frame_.promise().result; }
  long run() {
    frame_.resume();
    return *frame_.promise().result;
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};
static Task fibonacci(int n) {
  if (n < 2) co_return n;
  std::string text(static_cast<size_t>(n) * 3, 'x');
  long first = co_await fibonacci(n - 1);
  long second = co_await fibonacci(n - 2);
  co_return first + second + static_cast<long>(text.size()) - n * 3;
}

int main() {
  int sum = 0;
  for (auto all = numbers(3, 40); all.next();) sum += all.value();
  printf("%d\n", sum);
  std::unique_ptr<Tree> tree;
  for (int i = 0; i < 60; i++) add(tree, i * 37 % 61);
  for (auto all = in_order(tree.get()); all.next();) printf("%d ", all.value());
  printf("\n");
  std::map<std::string, int> counts;
  std::string text = "one two three two one a-word-that-is-too-long-for-the-object-itself two stop never";
  try {
    for (auto all = words(text, counts); all.next();) printf("<%s>", all.value().c_str());
  } catch (const std::runtime_error& error) {
    printf(" %s\n", error.what());
  }
  for (auto& [word, count] : counts) printf("%s %d\n", word.c_str(), count);
  printf("%ld\n", fibonacci(14).run());
  // One that is destroyed in the middle.
  auto left = numbers(0, 1000);
  for (int i = 0; i < 5; i++) left.next();
  printf("%d\n", left.value());
}
