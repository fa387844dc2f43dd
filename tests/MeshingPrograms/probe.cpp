// Programs of one verb each that run with libfreehold-mesh.so preloaded: what the unit tests can not see, as they are not the process's malloc.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> stop{false};

uint64_t control(const char* name) {
  auto* get = reinterpret_cast<int (*)(const char*, uint64_t*, const uint64_t*)>(dlsym(RTLD_DEFAULT, "freehold_mesh_ctl"));
  uint64_t value = 0;
  if (get == nullptr || get(name, &value, nullptr) != 0) {
    fprintf(stderr, "libfreehold-mesh.so is not loaded, or has no %s\n", name);
    exit(3);
  }
  return value;
}

// Keeps few of many objects, so that spans mesh, and lets them go again.
void churn(unsigned seed) {
  std::mt19937 random(seed);
  while (!stop) {
    std::vector<char*> all, kept;
    for (int i = 0; i < 4000; i++) all.push_back(static_cast<char*>(malloc(64 + random() % 200)));
    for (char* object : all) {
      if (random() % 16 == 0) kept.push_back(object);
      else free(object);
    }
    std::this_thread::yield();
    for (char* object : kept) free(object);
  }
}

bool fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return false;
}

// The probe for MESH's fault: system calls that write to small objects while another thread's work makes spans mesh.
bool efault(long calls) {
  std::thread worker(churn, 1);
  int zero = open("/dev/zero", O_RDONLY), pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return fail("socketpair");
  std::mt19937 random(2);
  std::vector<char*> buffers;
  for (int i = 0; i < 6000; i++) {
    char* buffer = static_cast<char*>(malloc(256));
    if (random() % 8 == 0) buffers.push_back(buffer);
    else free(buffer);
  }
  // On a busy machine the worker gets few turns: more calls, until enough was meshed beside them.
  constexpr uint64_t kEnoughMeshes = 100;
  constexpr long kBetweenLooks = 10'000;
  const time_t latest = time(nullptr) + 120;
  auto has_enough = [] { return control("statistics.meshes") > kEnoughMeshes; };
  long failed = 0, made = 0;
  for (long i = 0; i < calls || i % kBetweenLooks != 0 || (time(nullptr) < latest && !has_enough()); i++) {
    made = i + 1;
    char* buffer = buffers[static_cast<size_t>(i) % buffers.size()];
    memset(buffer, 1, 64);
    ssize_t count;
    if (i % 16 == 15) {
      if (send(pair[0], "datagram", 8, 0) != 8) return fail("send");
      count = recv(pair[1], buffer, 64, 0) == 8 && memcmp(buffer, "datagram", 8) == 0 ? 64 : -1;
    } else if (i % 16 == 14) {
      iovec parts[2] = {{buffer, 32}, {buffer + 32, 32}};
      count = readv(zero, parts, 2);
    } else if (i % 16 == 13) {
      count = fstat(zero, reinterpret_cast<struct stat*>(buffer)) == 0 ? 64 : -1;
    } else {
      count = read(zero, buffer, 64);
      if (count == 64 && (buffer[0] != 0 || buffer[63] != 0)) failed++;
    }
    failed += count != 64;
  }
  stop = true;
  worker.join();
  uint64_t meshes = control("statistics.meshes");
  printf("%ld calls, %ld failed, %lu meshes\n", made, failed, static_cast<unsigned long>(meshes));
  return failed == 0 && meshes > kEnoughMeshes;
}

// By vfork, which shares the memory with the child, and by posix_spawn.
bool started() {
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  int status = -1;
  pid_t child = vfork();
  if (child == 0) {
    execv("/bin/true", arguments);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return fail("vfork and exec");
  if (posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) != 0) return fail("posix_spawn");
  return (waitpid(child, &status, 0) == child && status == 0) || fail("what posix_spawn has started");
}

// A child sees what was there when it was made, while other threads go on.
bool forks() {
  std::thread first(churn, 1), second(churn, 2);
  std::vector<std::string*> strings;
  for (int i = 0; i < 20'000; i++) strings.push_back(new std::string(100 + static_cast<size_t>(i) % 100, static_cast<char>('a' + i % 26)));
  bool good = true;
  for (int round = 0; round < 30 && good; round++) {
    pid_t child = fork();
    if (child == 0) {
      for (size_t i = 0; i < strings.size(); i++) {
        if (strings[i]->size() != 100 + i % 100 ||
            strings[i]->find_first_not_of(static_cast<char>('a' + (i + static_cast<size_t>(round)) % 26)) != std::string::npos)
          _exit(1);
        if (i % 3 == 0) *strings[i] += "grown";
        if (i % 7 == 0) delete strings[i];
      }
      if (round % 5 == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(2);
      }
      _exit(0);
    }
    for (size_t i = 0; i < strings.size(); i++) strings[i]->assign(100 + i % 100, static_cast<char>('a' + (i + static_cast<size_t>(round) + 1) % 26));
    int status = -1;
    good = waitpid(child, &status, 0) == child && status == 0;
    if (!good) fprintf(stderr, "round %d: status %d\n", round, status);
  }
  for (int round = 0; round < 30 && good; round++) good = system("exit 7") == 7 << 8;  // posix_spawn: vfork and exec
  for (int round = 0; round < 30 && good; round++) good = started();
  stop = true;
  first.join();
  second.join();
  for (std::string* string : strings) delete string;
  return good;
}

// Every name of the family, and what errors look like.
bool family() {
  errno = 0;
  volatile size_t most = SIZE_MAX;
  if (malloc(most - 100) != nullptr || errno != ENOMEM) return fail("malloc of too much");
  if (reallocarray(nullptr, most / 2, 3) != nullptr) return fail("reallocarray that overflows");
  void* object = nullptr;
  if (posix_memalign(&object, 24, 10) != EINVAL || posix_memalign(&object, 4, 10) != EINVAL) return fail("posix_memalign at 24");
  if (posix_memalign(&object, 256, 10) != 0 || reinterpret_cast<uintptr_t>(object) % 256 != 0) return fail("posix_memalign");
  free(object);
  for (void* p : {aligned_alloc(64, 100), reinterpret_cast<void* (*)(size_t, size_t)>(dlsym(RTLD_DEFAULT, "memalign"))(48, 100), valloc(10)}) {
    if (p == nullptr || reinterpret_cast<uintptr_t>(p) % 64 != 0) return fail("alignment");
    free(p);
  }
  if (realloc(malloc(10), 0) != nullptr) return fail("realloc to nothing");
  struct alignas(128) Wide {
    char bytes[300];
  };
  auto* wide = new Wide;
  if (reinterpret_cast<uintptr_t>(wide) % 128 != 0) return fail("new with alignment");
  delete wide;
  delete[] new Wide[5];
  volatile size_t too_much = SIZE_MAX / 4;
  bool thrown = false;
  try {
    static_cast<void>(operator new(too_much));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  if (!thrown) return fail("new does not throw");
  if (operator new(too_much, std::nothrow) != nullptr) return fail("nothrow new");
  static int handled;
  std::set_new_handler([] {
    if (++handled == 3) std::set_new_handler(nullptr);
  });
  if (operator new(too_much, std::nothrow) != nullptr || handled != 3) return fail("new handler");
  errno = 77;
  free(malloc(100));
  free(malloc(10'000'000));
  if (errno != 77) return fail("free changes errno");
  return true;
}

// Thread-local destructors, keys and threads that end with objects of others.
bool threads() {
  pthread_key_t key;
  pthread_key_create(&key, [](void* value) {
    free(value);
    free(malloc(50));
  });
  for (int round = 0; round < 50; round++) {
    std::vector<std::thread> all;
    for (int i = 0; i < 8; i++) {
      all.emplace_back([&] {
        thread_local std::string local(1000, 'x');
        pthread_setspecific(key, malloc(100));
        std::vector<void*> objects;
        for (size_t size = 1; size < 3000; size += 7) objects.push_back(malloc(size));
        for (void* object : objects) free(object);
      });
    }
    for (std::thread& thread : all) thread.join();
  }
  return control("statistics.live_bytes") < 1'000'000;
}

// A program that closes descriptors it did not open, as daemons do, goes on; and so do its children.
bool descriptors() {
  std::thread worker(churn, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 3; i < 4096; i++) close(i);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  pid_t child = fork();
  if (child == 0) _exit(malloc(10) != nullptr ? 0 : 1);
  int status = -1;
  bool good = waitpid(child, &status, 0) == child && status == 0;
  stop = true;
  worker.join();
  return good;
}

// The program's own handler, installed after the malloc's, on its own stack.
char signal_stack[1 << 16];
bool volatile was_on_stack;
bool handlers() {
  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t* information, void*) {
    char here;
    was_on_stack = &here >= signal_stack && &here < signal_stack + sizeof signal_stack;
    mprotect(information->si_addr, 4096, PROT_READ | PROT_WRITE);
  };
  sigaction(SIGSEGV, &action, nullptr);
  auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *page = 1;
  std::thread worker(churn, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  stop = true;
  worker.join();
  return was_on_stack;
}

}  // namespace

int main(int count, char** arguments) {
  std::string verb = count > 1 ? arguments[1] : "";
  bool good = verb == "efault"        ? efault(count > 2 ? atol(arguments[2]) : 1'000'000)
              : verb == "forks"       ? forks()
              : verb == "family"      ? family()
              : verb == "threads"     ? threads()
              : verb == "descriptors" ? descriptors()
              : verb == "handlers"    ? handlers()
                                      : fail("no such verb");
  return good ? 0 : 1;
}
