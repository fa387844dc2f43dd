// The functions of libstdc++ that find a mutex in a lock, or a word in a shared state, that the program has made: it may be a handle, and the kernel
// waits on it. So they are compiled with handles and linked into each program, in front of libstdc++'s own.
#include <pthread.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

namespace std {

namespace {

// What a thread does at its end, after its thread-local objects have gone: keys go then.
struct AtExit {
  void (*run)(void*);
  void* with;
  AtExit* before;
};

void run_all(void* newest) {
  for (auto* one = static_cast<AtExit*>(newest); one != nullptr;) {
    one->run(one->with);
    AtExit* gone = one;
    one = one->before;
    delete gone;
  }
}

struct Key {
  Key() { pthread_key_create(&key, run_all); }
  // The thread that ends the process.
  ~Key() {
    run_all(pthread_getspecific(key));
    pthread_key_delete(key);
  }
  pthread_key_t key;
};

void at_exit(void (*run)(void*), void* with) {
  static Key key;
  auto* newest = static_cast<AtExit*>(pthread_getspecific(key.key));
  pthread_setspecific(key.key, new AtExit{run, with, newest});
}

struct Notice {
  condition_variable& variable;
  unique_lock<mutex> lock;
  static void give(void* pointer) {
    auto* notice = static_cast<Notice*>(pointer);
    notice->lock.unlock();
    notice->variable.notify_all();
    delete notice;
  }
};

}  // namespace

void condition_variable::wait(unique_lock<mutex>& lock) { _M_cond.wait(*lock.mutex()); }

void notify_all_at_thread_exit(condition_variable& variable, unique_lock<mutex> lock) { at_exit(Notice::give, new Notice{variable, std::move(lock)}); }

// promise::set_value_at_thread_exit and its like: the state's word is what the kernel wakes.
void __future_base::_State_baseV2::_Make_ready::_M_set() { at_exit(_S_run, this); }
void __future_base::_State_baseV2::_Make_ready::_S_run(void* pointer) {
  unique_ptr<_Make_ready> ready(static_cast<_Make_ready*>(pointer));
  if (auto state = ready->_M_shared_state.lock()) state->_M_status._M_store_notify_all(_Status::__ready, memory_order_release);
}

}  // namespace std
