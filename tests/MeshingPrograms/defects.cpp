// Programs of one verb each, with libfreehold-mesh.so preloaded: what others do to a process that spans in a shared file have to bear.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

extern "C" pid_t _Fork();

namespace {

using Compact = uint64_t (*)();
Compact compact;
std::atomic<bool> stop{false};

bool fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return false;
}

// One of sixteen stays, with a number of its own: spans that mesh.
std::vector<uint64_t*> sparse(size_t size, size_t count, uint64_t first) {
  std::vector<uint64_t*> all, kept;
  for (size_t i = 0; i < count; i++) all.push_back(static_cast<uint64_t*>(malloc(size)));
  for (size_t i = 0; i < count; i++) {
    if (i % 16 != 0) {
      free(all[i]);
      continue;
    }
    all[i][0] = first + kept.size();
    kept.push_back(all[i]);
  }
  return kept;
}

bool is_intact(const std::vector<uint64_t*>& kept, uint64_t first) {
  for (size_t i = 0; i < kept.size(); i++) {
    if (kept[i][0] != first + i) return fprintf(stderr, "object %zu has %lu\n", i, kept[i][0]), false;
  }
  return true;
}

void mesh_all_the_time() {
  while (!stop) {
    std::vector<uint64_t*> kept = sparse(128, 6000, 1);
    compact();
    for (uint64_t* one : kept) free(one);
  }
}

// Stores to sparse objects while their spans are being meshed, with new ones each time: `with_objects` runs so that the stores are its thread's.
std::atomic<int> passes{0};
void compact_all_the_time() {
  while (!stop) {
    compact();
    passes++;
  }
}
void store_while_meshing(int rounds = 40) {
  for (int round = 0; round < rounds; round++) {
    std::vector<uint64_t*> objects = sparse(128, 8000, 1);
    for (int begin = passes; passes < begin + 3;) {
      for (uint64_t* one : objects) static_cast<volatile uint64_t*>(one)[1] = static_cast<uint64_t>(round);
    }
    for (uint64_t* one : objects) free(one);
  }
}

// Threads that have blocked SIGSEGV, by all means, store. The kernel ends a process for a fault that is blocked.
bool blocked() {
  std::thread mesher(compact_all_the_time);
  std::vector<std::thread> threads;
  sigset_t every;
  sigfillset(&every);
  struct sigaction action = {};
  // No other thread frees or allocates in the interrupted code: raise() is where it is.
  action.sa_handler = [](int) { store_while_meshing(); };
  action.sa_mask = every;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&every, i] {
      if (i == 0) pthread_sigmask(SIG_SETMASK, &every, nullptr);
      if (i == 1) sigprocmask(SIG_BLOCK, &every, nullptr);
      if (i == 2) raise(SIGUSR1);
      else store_while_meshing();
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  mesher.join();
  return true;
}

// Functions that the headers warn of, or do not declare.
template <typename Function>
Function* old_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// The same, by the mask of a wait: a handler that comes in it has that mask.
bool waits() {
  std::thread mesher(compact_all_the_time);
  struct sigaction action = {};
  static std::atomic<int> handled{0};
  action.sa_handler = [](int) {
    store_while_meshing(6);
    handled++;
  };
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t only, all_others;
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  sigfillset(&all_others);
  sigdelset(&all_others, SIGUSR1);
  int queue = epoll_create1(0);
  bool good = true;
  for (int kind = 0; kind < 9 && good; kind++) {
    pthread_sigmask(SIG_BLOCK, &only, nullptr);
    int before = handled;
    raise(SIGUSR1);
    timespec most = {60, 0};
    epoll_event event;
    int result = 0, old_mask = ~(1 << (SIGUSR1 - 1));
    switch (kind) {
      case 0: result = sigsuspend(&all_others); break;
      case 1: result = ppoll(nullptr, 0, &most, &all_others); break;
      case 2: result = pselect(0, nullptr, nullptr, nullptr, &most, &all_others); break;
      case 3: result = epoll_pwait(queue, &event, 1, 60'000, &all_others); break;
      case 4: result = epoll_pwait2(queue, &event, 1, &most, &all_others); break;
      case 5: result = old_function<int(int, int)>("__sigpause")(old_mask, 0); break;
      case 6: result = (old_function<int(int)>("sigsetmask")(old_mask), -1); break;
      case 7:
        old_function<void*(int, void*)>("sigset")(SIGSEGV, reinterpret_cast<void*>(SIG_HOLD));
        old_function<int(int)>("sighold")(SIGSEGV);
        result = (pthread_sigmask(SIG_UNBLOCK, &only, nullptr), -1);
        break;
      default: {
        // A thread that begins so.
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setsigmask_np(&attributes, &all_others);
        pthread_t thread;
        pthread_create(&thread, &attributes, [](void*) -> void* { return raise(SIGUSR1), nullptr; }, nullptr);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
        result = (pthread_sigmask(SIG_UNBLOCK, &only, nullptr), -1);
      }
    }
    good = result == -1 && handled > before;
    if (!good) fprintf(stderr, "wait %d: %d, %d handlers\n", kind, result, handled - before);
  }
  close(queue);
  stop = true;
  mesher.join();
  return good || fail("a wait");
}

// The same, by the mask that the program is started with.
bool masked(char** arguments) {
  uint64_t mask = ~uint64_t{0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
  char verb[] = "started-masked";
  arguments[1] = verb;
  execv("/proc/self/exe", arguments);
  return fail("exec");
}
bool started_masked() {
  std::thread mesher(compact_all_the_time);
  store_while_meshing();
  stop = true;
  mesher.join();
  return true;
}

// Parent and child see their own stores only.
bool separate(const char* how, const std::function<pid_t(const std::function<int()>&)>& copy) {
  constexpr size_t kCount = 8000;
  std::vector<uint64_t*> kept = sparse(64, kCount, 1000);
  compact();
  int pipes[2];
  if (pipe(pipes) != 0) return fail("pipe");
  pid_t child = copy([&] {
    for (uint64_t* one : kept) one[0] += 1'000'000;
    char byte;
    if (read(pipes[0], &byte, 1) != 1) return 1;  // the parent has stored
    return is_intact(kept, 1'001'000) ? 7 : 2;
  });
  if (child < 0) return fail(how);
  usleep(200'000);  // whatever the child does meanwhile
  bool good = is_intact(kept, 1000);
  for (uint64_t* one : kept) one[0] += 5'000'000;
  if (write(pipes[1], "x", 1) != 1) return fail("write");
  int status = 0;
  if (waitpid(child, &status, 0) != child) return fail("waitpid");
  good = good && WEXITSTATUS(status) == 7 && is_intact(kept, 5'001'000);
  if (!good) fprintf(stderr, "%s: the child ended with %x\n", how, status);
  close(pipes[0]);
  close(pipes[1]);
  for (uint64_t* one : kept) free(one);
  return good;
}

bool bare_forks() {
  auto by = [](pid_t (*fork)()) {
    return [fork](const std::function<int()>& work) {
      pid_t child = fork();
      if (child == 0) _exit(work());
      return child;
    };
  };
  bool good = separate("_Fork", by(_Fork));
  good = separate("SYS_fork", by([] { return static_cast<pid_t>(syscall(SYS_fork)); })) && good;
  good = separate("SYS_clone", by([] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); })) && good;
  good = separate("clone",
                  [](const std::function<int()>& work) {
                    static char stack[1 << 18];
                    return clone([](void* work) { return (*static_cast<const std::function<int()>*>(work))(); }, stack + sizeof stack, SIGCHLD,
                                 const_cast<std::function<int()>*>(&work));
                  }) &&
         good;
  return good;
}

// A futex without FUTEX_PRIVATE_FLAG, as libstdc++'s futures have: its page changes while threads wait on it.
bool futexes() {
  std::vector<uint64_t*> kept = sparse(128, 6000, 1);
  std::vector<std::thread> waiters;
  std::atomic<int> waiting{0}, late{0};
  for (size_t i = 0; i < 60; i++) {
    auto* word = reinterpret_cast<uint32_t*>(kept[i * 6] + 2);
    *word = 5;
    waiters.emplace_back([&, word] {
      timespec most = {60, 0};
      waiting++;
      while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 5) {
        if (syscall(SYS_futex, word, FUTEX_WAIT, 5, &most, nullptr, 0) != 0 && errno == ETIMEDOUT) {
          late++;
          return;
        }
      }
    });
  }
  while (waiting != 60) usleep(1000);
  usleep(300'000);  // they wait; one that does not yet sees the store below
  compact();
  for (size_t i = 0; i < 60; i++) {
    auto* word = reinterpret_cast<uint32_t*>(kept[i * 6] + 2);
    __atomic_store_n(word, 6, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  for (std::thread& waiter : waiters) waiter.join();
  if (late != 0) fprintf(stderr, "%d of 60 were not woken\n", late.load());
  return late == 0;
}

[[gnu::noinline]] void jump(uint64_t* object) {
  auto* buffer = reinterpret_cast<sigjmp_buf*>(object);
  if (sigsetjmp(*buffer, 1) == 0) siglongjmp(*buffer, 1);
}

[[gnu::noinline]] bool get_context(uint64_t* object) {
  uint64_t number = object[0];
  bool good = getcontext(reinterpret_cast<ucontext_t*>(object)) == 0;
  object[0] = number;
  return good;
}

// Calls whose answers the kernel writes into objects, while their spans are meshed.
bool calls() {
  std::thread mesher(mesh_all_the_time);
  std::vector<uint64_t*> kept = sparse(1024, 3000, 1);
  bool good = true;
  for (size_t i = 0; i < 60'000 && good; i++) {
    uint64_t* object = kept[i % kept.size()];
    switch (i % 8) {
      case 0: good = clock_gettime(CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<timespec*>(object + 1)) == 0; break;
      case 1: good = clock_getres(CLOCK_MONOTONIC, reinterpret_cast<timespec*>(object + 1)) == 0; break;
      case 2: good = pthread_getaffinity_np(pthread_self(), 64, reinterpret_cast<cpu_set_t*>(object + 1)) == 0; break;
      case 3: jump(object + 1); break;
      case 4: good = get_context(object); break;
      case 5: good = pthread_getname_np(pthread_self(), reinterpret_cast<char*>(object + 1), 100) == 0; break;
      case 6: good = sigprocmask(SIG_BLOCK, nullptr, reinterpret_cast<sigset_t*>(object + 1)) == 0; break;
      default: {
        pthread_attr_t attributes;
        good = pthread_getattr_np(pthread_self(), &attributes) == 0;
        pthread_attr_destroy(&attributes);
      }
    }
    if (!good) fprintf(stderr, "call %zu\n", i % 8);
  }
  stop = true;
  mesher.join();
  return good || fail("a call");
}

// Threads of this process that wait for something.
size_t count_of_waiting_threads() {
  size_t count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "stat");
    std::string text;
    std::getline(file, text);
    size_t name = text.rfind(") ");
    if (name != std::string::npos && text[name + 2] == 'S') count++;
  }
  return count;
}

// Which page of the malloc's file an address names; 0: none.
uint64_t page_of(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  uint64_t found = 0;
  for (char line[512]; maps != nullptr && fgets(line, sizeof line, maps) != nullptr;) {
    uint64_t start, end, offset;
    auto at = reinterpret_cast<uint64_t>(address);
    if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start && at < end && strstr(line, "freehold-mesh") != nullptr)
      found = offset + (at - start);
  }
  fclose(maps);
  return found & ~uint64_t{4095};
}

// How many of some objects got other pages while calls were going to write to them.
int moved_under_reads() {
  std::vector<uint64_t*> kept = sparse(1024, 640, 1);
  std::vector<uint64_t> pages;
  for (uint64_t* one : kept) pages.push_back(page_of(one));
  int pipes[2];
  if (pipe(pipes) != 0) return fail("pipe"), -1;
  std::vector<std::thread> readers;
  std::atomic<size_t> reading{0};
  for (uint64_t* one : kept) {
    readers.emplace_back([&, one] {
      reading++;
      if (read(pipes[0], one + 1, 8) != 8) perror("read");
    });
  }
  while (reading != kept.size()) usleep(1000);
  // Each is in the call, or right before it.
  for (size_t waiting = 0; waiting != kept.size();) {
    usleep(10'000);
    waiting = count_of_waiting_threads();
  }
  compact();
  int moved = 0;
  for (size_t i = 0; i < kept.size(); i++) moved += page_of(kept[i]) != pages[i];
  for (size_t i = 0; i < kept.size(); i++) {
    if (write(pipes[1], "12345678", 8) != 8) return fail("write"), -1;
  }
  for (std::thread& reader : readers) reader.join();
  for (int end : pipes) close(end);
  for (uint64_t* one : kept) free(one);
  return moved;
}

// Direct I/O passes all barriers, so once a file is opened for it, nothing is meshed that a call is going to write to: however it is opened.
bool direct(const char* how) {
  if (moved_under_reads() <= 0) return puts("this barrier announces calls anyway") >= 0;
  std::string function = how != nullptr ? how : "open";
  auto* found = dlsym(RTLD_DEFAULT, function.c_str());
  if (found == nullptr) return fail(how);
  // What the file system says to it is of no importance.
  int file = function.find("at") == std::string::npos
                 ? reinterpret_cast<int (*)(const char*, int, ...)>(found)("/proc/self/exe", O_RDONLY | O_DIRECT)
                 : reinterpret_cast<int (*)(int, const char*, int, ...)>(found)(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_DIRECT);
  if (file >= 0) close(file);
  int moved = moved_under_reads();
  if (moved != 0) fprintf(stderr, "%d objects moved under reads after %s(O_DIRECT)\n", moved, function.c_str());
  return moved == 0;
}

// What cannot be made present is locked all the same.
bool locked_beyond_files() {
  int file = memfd_create("short", 0);
  if (file < 0 || ftruncate(file, 4096) != 0) return fail("memfd_create");
  void* mapped = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return fail("mmap");
  bool good = mlockall(MCL_CURRENT) == 0;
  if (!good) {
    rlimit limit;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur < 32 << 20) return printf("only %lu bytes may be locked\n", limit.rlim_cur) > 0;
    return fail("mlockall beside a mapping that is longer than its file");
  }
  return munlockall() == 0;
}

// mlockall says so where it cannot know what there is, or the kernel refuses: FREEHOLD_MESH_FAIL has the call.
bool unlockable(const char* expected) {
  errno = 0;
  int result = mlockall(MCL_CURRENT), error = errno;
  return (result == -1 && error == (strcmp(expected, "EAGAIN") == 0 ? EAGAIN : ENOMEM)) || fail("mlockall");
}

// mlockall locks what there is, and does not make all of the arena present.
bool locked() {
  std::vector<uint64_t*> kept = sparse(128, 6000, 1);
  if (mlockall(MCL_CURRENT) != 0) {
    rlimit limit;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    constexpr rlim_t kEnough = 32 << 20;
    if ((errno == ENOMEM || errno == EPERM || errno == EAGAIN) && limit.rlim_cur < kEnough) return printf("only %lu bytes may be locked\n", limit.rlim_cur) > 0;
    return fail("mlockall");
  }
  std::vector<uint64_t*> more = sparse(128, 6000, 1);
  FILE* status = fopen("/proc/self/status", "r");
  unsigned long locked = 0, resident = 0;
  for (char line[256]; status != nullptr && fgets(line, sizeof line, status) != nullptr;) {
    sscanf(line, "VmLck: %lu", &locked);
    sscanf(line, "VmRSS: %lu", &resident);
  }
  fclose(status);
  if (munlockall() != 0) return fail("munlockall");
  if (resident > 200 << 10 || locked < 1024) return printf("%lu kB locked, %lu kB present\n", locked, resident) < 0;
  return is_intact(kept, 1) && is_intact(more, 1);
}

bool family() {
  errno = 0;
  volatile size_t huge = (size_t{1} << 63) + 1;
  if (memalign(huge, 8) != nullptr || errno != EINVAL) return fail("memalign of more than half of all addresses");
  return true;
}

}  // namespace

int main(int, char** arguments) {
  compact = reinterpret_cast<Compact>(dlsym(RTLD_DEFAULT, "freehold_mesh_compact"));
  if (compact == nullptr) {
    fprintf(stderr, "libfreehold-mesh.so is not loaded\n");
    return 3;
  }
  std::string verb = arguments[1] != nullptr ? arguments[1] : "";
  bool good = verb == "blocked"          ? blocked()
              : verb == "masked"         ? masked(arguments)
              : verb == "started-masked" ? started_masked()
              : verb == "bare-forks"     ? bare_forks()
              : verb == "futexes"        ? futexes()
              : verb == "calls"          ? calls()
              : verb == "locked"         ? locked()
              : verb == "locked-beyond"  ? locked_beyond_files()
              : verb == "unlockable"     ? unlockable(arguments[2])
              : verb == "waits"          ? waits()
              : verb == "direct"         ? direct(arguments[2])
              : verb == "family"         ? family()
                                         : fail("no such verb");
  return good ? 0 : 1;
}
