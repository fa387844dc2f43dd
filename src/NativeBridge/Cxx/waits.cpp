// The functions of libstdc++ that find a mutex in a lock that the program has made: it may be a handle, and the kernel waits on it. So they are
// compiled with handles and linked into each program, in front of libstdc++'s own.
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

namespace std {

namespace {

// What a thread that ends unlocks and wakes, after its thread-local objects have gone: keys go then.
struct AtExit {
  condition_variable& variable;
  unique_lock<mutex> lock;
  AtExit* before;
};

void wake_all(void* newest) {
  for (auto* one = static_cast<AtExit*>(newest); one != nullptr;) {
    one->lock.unlock();
    one->variable.notify_all();
    AtExit* gone = one;
    one = one->before;
    delete gone;
  }
}

struct Key {
  Key() { pthread_key_create(&key, wake_all); }
  // The thread that ends the process.
  ~Key() {
    wake_all(pthread_getspecific(key));
    pthread_key_delete(key);
  }
  pthread_key_t key;
};

}  // namespace

void condition_variable::wait(unique_lock<mutex>& lock) { _M_cond.wait(*lock.mutex()); }

void notify_all_at_thread_exit(condition_variable& variable, unique_lock<mutex> lock) {
  static Key key;
  auto* newest = static_cast<AtExit*>(pthread_getspecific(key.key));
  pthread_setspecific(key.key, new AtExit{variable, std::move(lock), newest});
}

}  // namespace std
