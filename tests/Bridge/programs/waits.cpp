// options: -std=c++20
// What libstdc++.so has out of line and gives pointers that it finds in the program's structures: mutexes, threads' states, flags. All in the heap.
#include <condition_variable>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

struct Channel {
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable_any any;
  int turn = 0, rounds = 0;
  bool done = false;
};

// Two threads take turns: each wait waits.
void take_turns() {
  auto channel = std::make_unique<Channel>();
  constexpr int kRounds = 300;
  auto play = [&channel](int mine) {
    for (int i = 0; i < kRounds; i++) {
      auto lock = std::make_unique<std::unique_lock<std::mutex>>(channel->mutex);
      while (channel->turn != mine) channel->changed.wait(*lock);
      channel->turn = 1 - mine;
      channel->rounds++;
      channel->changed.notify_one();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  std::printf("turns %d\n", channel->rounds);
}

void wait_with_a_limit() {
  auto channel = std::make_unique<Channel>();
  std::unique_lock<std::mutex> lock(channel->mutex);
  bool came = channel->changed.wait_for(lock, std::chrono::milliseconds(1), [&] { return channel->done; });
  std::thread other([&] {
    std::lock_guard<std::mutex> inner(channel->mutex);
    channel->done = true;
    channel->changed.notify_all();
    channel->any.notify_all();
  });
  bool later = channel->changed.wait_for(lock, std::chrono::hours(1), [&] { return channel->done; });
  channel->any.wait(lock, [&] { return channel->done; });
  lock.unlock();
  other.join();
  std::printf("limits %d %d\n", came, later);
}

struct Last {
  int* counted;
  ~Last() { ++*counted; }
};
// What waits sees all that the thread has done, its thread-local objects' destructors too.
void at_thread_exit() {
  auto channel = std::make_unique<Channel>();
  auto counted = std::make_unique<int>(0);
  for (int i = 0; i < 20; i++) {
    channel->done = false;
    std::thread other([&] {
      thread_local Last last{counted.get()};
      std::unique_lock<std::mutex> lock(channel->mutex);
      channel->done = last.counted != nullptr;
      std::notify_all_at_thread_exit(channel->changed, std::move(lock));
    });
    std::unique_lock<std::mutex> lock(channel->mutex);
    channel->changed.wait(lock, [&] { return channel->done; });
    if (*counted != i + 1) std::printf("too early\n");
    lock.unlock();
    other.join();
  }
  std::printf("exits %d\n", *counted);
}

void results_of_threads() {
  auto promise = std::make_unique<std::promise<std::vector<int>>>();
  auto future = promise->get_future();
  std::thread other([&] { promise->set_value_at_thread_exit(std::vector<int>(100, 7)); });
  std::vector<int> got = future.get();
  other.join();
  auto flag = std::make_unique<std::once_flag>();
  int calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([&] { std::call_once(*flag, [&] { calls++; }); });
  for (auto& thread : threads) thread.join();
  auto sum = std::async(std::launch::async, [](std::unique_ptr<int> n) { return *n + 1; }, std::make_unique<int>(41));
  std::printf("results %zu %d %d %d\n", got.size(), got[99], calls, sum.get());
}

void stops() {
  auto channel = std::make_unique<Channel>();
  auto thread = std::make_unique<std::jthread>([&](std::stop_token stop) {
    std::unique_lock<std::mutex> lock(channel->mutex);
    channel->any.wait(lock, stop, [] { return false; });
    channel->rounds = stop.stop_requested();
  });
  thread->request_stop();
  thread->join();
  std::printf("stops %d\n", channel->rounds);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  take_turns();
  wait_with_a_limit();
  at_thread_exit();
  results_of_threads();
  stops();
  return 0;
}
