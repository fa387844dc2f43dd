// What the compiler knows of the C library. A function that is not here may wait, call back and keep what it is given.
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include "context.h"

using namespace llvm;

namespace freehold::compiler {

namespace {

// clang-format off: lists of words, filled.

// They take time only for the bytes they are given, and no lock: who holds one may wait until this thread is outside.
const StringMap<Leaf>& leaves() {
  static const StringMap<Leaf> map = [] {
    StringMap<Leaf> all;
    auto add = [&](Leaf::Result result, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = Leaf{result};
    };
    add(Leaf::kNone, {"strlen", "strnlen", "memcmp", "bcmp", "strcmp", "strncmp", "strcasecmp", "strncasecmp", "strcoll", "strspn", "strcspn",
                       "strxfrm", "bcopy", "bzero", "explicit_bzero", "atoi", "atol", "atoll", "atof", "swab", "ffs", "wcslen", "wcscmp", "wcsncmp",
                       "wmemcmp", "wcsnlen", "frexp", "frexpf", "frexpl", "modf", "modff", "modfl", "sincos", "sincosf", "sincosl", "remquo",
                       "strverscmp", "__isoc99_sscanf", "sscanf", "__isoc23_sscanf", "snprintf", "sprintf", "mblen", "mbtowc", "wctomb", "mbrtowc", "wcrtomb", "mbrlen",
                       "mbsinit", "isatty", "clock_gettime", "gettimeofday", "time",
                       "div", "nan", "nanf", "lgamma_r", "lgammaf_r", "pthread_equal", "sigemptyset", "sigfillset", "sigaddset", "sigdelset",
                       "sigismember", "__atomic_load", "__atomic_store", "__atomic_exchange", "__atomic_compare_exchange", "__atomic_is_lock_free",
                       "pthread_mutex_unlock", "pthread_mutex_trylock", "pthread_mutex_destroy", "pthread_spin_unlock",
                       "pthread_cond_init", "pthread_cond_signal", "pthread_cond_broadcast", "pthread_rwlock_unlock", "pthread_rwlock_init",
                       "pthread_attr_init", "pthread_attr_destroy", "pthread_mutexattr_init", "pthread_mutexattr_settype", "sem_post", "sem_init",
                       "inet_pton", "regfree", "erand48", "nrand48", "jrand48", "drand48_r", "random_r", "iswctype", "setjmp",
                       "_setjmp", "__sigsetjmp", "__freehold_longjmp", "__freehold_longjmp_chk",
                       // std::hash of a string.
                       "_ZSt11_Hash_bytesPKvmm", "_ZSt15_Fnv_hash_bytesPKvmm"});
    // Of these an address is no object's. A caught exception that is a pointer is what was thrown.
    add(Leaf::kOwn, {"__errno_location", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", "__cxa_allocate_exception",
                     "__cxa_free_exception", "__cxa_begin_catch", "__cxa_get_exception_ptr"});
    add(Leaf::kFirst, {"memcpy", "memmove", "memset", "strcpy", "strncpy", "strcat", "strncat", "wcscpy", "wcsncpy", "wcscat", "wmemcpy", "wmemmove",
                       "wmemset", "memfrob", "__memcpy_chk", "__memmove_chk", "__memset_chk", "__strcpy_chk", "__strcat_chk", "__strncpy_chk",
                       "__strncat_chk"});
    add(Leaf::kInFirst, {"strchr", "strrchr", "strstr", "strpbrk", "memchr", "memrchr", "rawmemchr", "strchrnul", "stpcpy", "stpncpy", "mempcpy",
                         "memmem", "strcasestr", "memccpy", "wcschr", "wcsrchr", "wcsstr", "wmemchr", "wcspbrk", "__stpcpy_chk"});
    return all;
  }();
  return map;
}

const StringMap<Known>& known() {
  static const StringMap<Known> map = [] {
    StringMap<Known> all;
    auto add = [&](Known how, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = how;
    };
    add({1u << 3, false}, {"pthread_create"});
    add({1u << 2, false}, {"thrd_create"});
    add({1u << 1, false}, {"pthread_setspecific", "tss_set", "dl_iterate_phdr", "__cxa_atexit", "__cxa_thread_atexit", "on_exit", "pthread_exit"});
    add({1u << 0, false}, {"tsearch", "tfind", "tdelete", "pthread_exit"});
    add({1u << 4, false}, {"qsort_r"});
    add({0, true}, {"putenv", "setvbuf", "setbuf", "setbuffer", "setlinebuf", "open_memstream", "fmemopen", "fopencookie",
                    "mlock", "mprotect", "madvise", "mlock2", "initstate", "setstate", "initstate_r", "setstate_r", "hsearch_r",
                    "pthread_attr_setstack", "getpwuid_r", "getpwnam_r", "getgrgid_r", "getgrnam_r", "mmap", "mmap64", "getcontext", "makecontext",
                    "swapcontext", "io_submit", "mremap", "shmat", "openlog"});
    add({0, false},
        {"asctime_r", "basename", "ctime_r", "gmtime_r", "inet_ntop", "localtime_r", "mktime", "strerror_r", "strftime", "timegm", "ungetc",
         "printf", "fprintf", "dprintf", "vprintf", "vfprintf", "vsprintf", "vsnprintf", "asprintf", "vasprintf", "puts", "fputs", "fputc", "putc",
         "putchar", "fputs_unlocked", "fwrite_unlocked", "fgetc", "getc", "getchar", "fgets", "gets", "fread", "fwrite", "fopen", "fopen64", "freopen",
         "fdopen", "fclose", "fflush", "fseek", "fseeko", "fseeko64", "ftell", "ftello", "rewind", "fgetpos", "fsetpos", "feof", "ferror", "clearerr", "fileno",
         "perror", "remove", "rename", "tmpfile", "tmpnam", "scanf", "fscanf", "vscanf", "vfscanf", "vsscanf", "__isoc99_fscanf", "__isoc99_scanf",
         "popen", "pclose", "open", "open64", "openat", "creat", "close", "read", "write", "pread", "pwrite", "pread64", "pwrite64", "lseek", "lseek64", "stat", "lstat",
         "fstat", "stat64", "lstat64", "fstat64", "fstatat", "fstatat64", "access", "faccessat", "unlink", "unlinkat", "link", "symlink", "readlink", "readlinkat", "mkdir", "mkdirat",
         "rmdir", "chdir", "fchdir", "getcwd", "chmod", "fchmod", "chown", "lchown", "fchown", "utime", "utimes", "futimens", "utimensat", "truncate",
         "ftruncate", "ftruncate64", "fsync", "fdatasync", "dup", "dup2", "dup3", "pipe", "pipe2", "fcntl", "fcntl64", "ioctl", "flock", "lockf", "munmap", "msync",
         "opendir", "fdopendir", "readdir", "readdir64", "closedir", "rewinddir", "telldir", "seekdir", "dirfd", "socket", "bind", "listen", "accept",
         "accept4", "connect", "send", "sendto", "recv", "recvfrom", "shutdown", "getsockopt", "setsockopt", "getsockname", "getpeername", "socketpair",
         "select", "pselect", "poll", "ppoll", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd", "getaddrinfo",
         "freeaddrinfo", "getnameinfo", "gethostbyname", "gethostname", "inet_addr", "inet_aton", "inet_ntoa", "getenv", "setenv", "unsetenv", "clearenv",
         "secure_getenv", "system", "exit", "_exit", "_Exit", "abort", "atexit", "at_quick_exit", "qsort", "bsearch", "lfind", "lsearch", "srand", "rand", "random",
         "srandom", "drand48", "srand48", "lrand48", "mrand48", "posix_spawn_file_actions_init", "posix_spawn_file_actions_destroy", "posix_spawn_file_actions_addopen", "posix_spawn_file_actions_addclose",
         "posix_spawn_file_actions_adddup2", "posix_spawnattr_init", "posix_spawnattr_destroy", "posix_spawnattr_setflags", "posix_spawnattr_setsigmask",
         "posix_spawnattr_setsigdefault", "posix_spawnattr_setpgroup", "signal", "sigaction", "sigprocmask", "pthread_sigmask", "sigsuspend", "sigwait", "sigpending", "raise", "kill",
         "alarm", "setitimer", "getitimer", "nanosleep", "usleep", "sleep", "clock", "clock_getres", "clock_nanosleep", "times", "getrusage", "getrlimit", "setrlimit",
         "localtime", "gmtime", "ctime", "asctime", "tzset", "strptime", "setlocale", "localeconv", "nl_langinfo", "newlocale", "uselocale", "freelocale", "strerror",
         "strsignal", "dlopen", "dlsym", "dlclose", "dlerror", "dladdr", "pthread_join", "pthread_detach", "pthread_self", "pthread_mutex_lock",
         "pthread_mutex_timedlock", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_destroy", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_destroy",
         "pthread_key_create", "pthread_key_delete", "pthread_getspecific", "pthread_once", "pthread_barrier_init", "pthread_barrier_wait", "pthread_barrier_destroy",
         "pthread_spin_lock", "pthread_spin_init", "pthread_spin_destroy", "sem_wait", "sem_timedwait", "sem_trywait", "sem_destroy", "sem_getvalue", "sched_yield",
         "pthread_setname_np", "pthread_getname_np", "pthread_attr_setstacksize", "pthread_attr_getstacksize", "pthread_attr_setdetachstate", "pthread_kill",
         "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "setuid", "setgid", "setsid", "getpwnam", "getpwuid", "getgrnam", "getgrgid",
         "getgroups", "fork", "wait", "waitpid", "wait3", "wait4", "umask", "nice", "sysconf", "pathconf", "getpagesize",
         "uname", "sysinfo", "ttyname", "tcgetattr", "tcsetattr", "cfsetispeed", "getopt", "getopt_long", "getopt_long_only", "glob", "globfree", "fnmatch", "regcomp",
         "regexec", "regerror", "wordexp", "wordfree", "ftw", "nftw", "scandir", "alphasort", "mkstemp", "mkstemp64", "mkostemp", "mkdtemp", "realpath",
         "dirname", "syslog", "vsyslog", "closelog", "mbstowcs", "wcstombs", "btowc", "wctob", "fgetwc", "fputwc", "fgetws", "fputws", "fwprintf", "swprintf",
         "wprintf", "vswprintf", "iconv_open", "iconv_close", "crypt", "getrandom", "getentropy", "syscall", "sendfile", "sendfile64", "inotify_init",
         "inotify_add_watch", "timerfd_create", "timerfd_settime", "signalfd", "prctl", "sched_getaffinity", "sched_setaffinity", "pthread_setaffinity_np",
         "getline", "getdelim", "__getdelim", "__assert_fail", "__printf_chk", "__fprintf_chk", "__sprintf_chk", "__snprintf_chk", "__vfprintf_chk", "__vsnprintf_chk",
         "__vsprintf_chk", "__fread_chk", "__fgets_chk", "__read_chk", "__open_2", "__stack_chk_fail", "backtrace", "backtrace_symbols", "backtrace_symbols_fd",
         "__xpg_basename", "__xpg_strerror_r", "posix_fadvise", "posix_fallocate", "fallocate", "fputc_unlocked", "getc_unlocked", "putc_unlocked", "getchar_unlocked",
         "putchar_unlocked", "__overflow", "__uflow", "flockfile", "funlockfile", "ftrylockfile", "mallopt", "malloc_trim", "mallinfo", "mallinfo2", "__cxa_throw",
         "__cxa_rethrow", "__cxa_end_catch", "__cxa_guard_acquire", "__cxa_guard_release",
         "__cxa_guard_abort", "__cxa_call_unexpected", "__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_pure_virtual", "__dynamic_cast", "_Unwind_Resume", "__clang_call_terminate"});
    return all;
  }();
  return map;
}

const StringMap<StringRef>& replacements() {
  static const StringMap<StringRef> map = {
      {"malloc", "__freehold_malloc"},
      {"calloc", "__freehold_calloc"},
      {"realloc", "__freehold_realloc"},
      {"reallocarray", "__freehold_reallocarray"},
      {"free", "__freehold_free"},
      {"cfree", "__freehold_free"},
      {"aligned_alloc", "__freehold_aligned_alloc"},
      {"memalign", "__freehold_aligned_alloc"},
      {"posix_memalign", "__freehold_posix_memalign"},
      {"malloc_usable_size", "__freehold_malloc_usable_size"},
      {"strdup", "__freehold_strdup"},
      {"__strdup", "__freehold_strdup"},
      {"strndup", "__freehold_strndup"},
      {"__strndup", "__freehold_strndup"},
      {"strtol", "__freehold_strtol"},
      {"strtoul", "__freehold_strtoul"},
      {"strtoll", "__freehold_strtol"},
      {"strtoull", "__freehold_strtoul"},
      {"__isoc23_strtol", "__freehold_strtol"},
      {"__isoc23_strtoul", "__freehold_strtoul"},
      {"strtoimax", "__freehold_strtol"},
      {"strtoumax", "__freehold_strtoul"},
      {"strtod", "__freehold_strtod"},
      {"strtof", "__freehold_strtof"},
      {"strtold", "__freehold_strtold"},
      {"strtoll_l", "__freehold_strtol_l"},
      {"strtoull_l", "__freehold_strtoul_l"},
      {"strtol_l", "__freehold_strtol_l"},
      {"strtoul_l", "__freehold_strtoul_l"},
      {"strtoq", "__freehold_strtol"},
      {"strtouq", "__freehold_strtoul"},
      {"__isoc23_strtoll", "__freehold_strtol"},
      {"__isoc23_strtoull", "__freehold_strtoul"},
      {"__isoc23_strtoimax", "__freehold_strtol"},
      {"__isoc23_strtoumax", "__freehold_strtoul"},
      {"__isoc23_strtol_l", "__freehold_strtol_l"},
      {"__isoc23_strtoul_l", "__freehold_strtoul_l"},
      {"__isoc23_strtoll_l", "__freehold_strtol_l"},
      {"__isoc23_strtoull_l", "__freehold_strtoul_l"},
      {"strtod_l", "__freehold_strtod_l"},
      {"strtof_l", "__freehold_strtof_l"},
      {"strtold_l", "__freehold_strtold_l"},
      {"strtof32", "__freehold_strtof"},
      {"strtof64", "__freehold_strtod"},
      {"strtof32x", "__freehold_strtod"},
      {"strtof64x", "__freehold_strtold"},
      {"wcstol", "__freehold_wcstol"},
      {"wcstoul", "__freehold_wcstoul"},
      {"wcstoll", "__freehold_wcstol"},
      {"wcstoull", "__freehold_wcstoul"},
      {"wcstoq", "__freehold_wcstol"},
      {"wcstouq", "__freehold_wcstoul"},
      {"wcstoimax", "__freehold_wcstol"},
      {"wcstoumax", "__freehold_wcstoul"},
      {"__isoc23_wcstol", "__freehold_wcstol"},
      {"__isoc23_wcstoul", "__freehold_wcstoul"},
      {"__isoc23_wcstoll", "__freehold_wcstol"},
      {"__isoc23_wcstoull", "__freehold_wcstoul"},
      {"__isoc23_wcstoimax", "__freehold_wcstol"},
      {"__isoc23_wcstoumax", "__freehold_wcstoul"},
      {"wcstol_l", "__freehold_wcstol_l"},
      {"wcstoul_l", "__freehold_wcstoul_l"},
      {"wcstoll_l", "__freehold_wcstol_l"},
      {"wcstoull_l", "__freehold_wcstoul_l"},
      {"wcstod", "__freehold_wcstod"},
      {"wcstof", "__freehold_wcstof"},
      {"wcstold", "__freehold_wcstold"},
      {"wcstod_l", "__freehold_wcstod_l"},
      {"wcstof_l", "__freehold_wcstof_l"},
      {"wcstold_l", "__freehold_wcstold_l"},
      {"strtok", "__freehold_strtok"},
      {"strtok_r", "__freehold_strtok_r"},
      {"__strtok_r", "__freehold_strtok_r"},
      {"strsep", "__freehold_strsep"},
      {"writev", "__freehold_writev"},
      {"readv", "__freehold_readv"},
      {"pwritev", "__freehold_pwritev"},
      {"preadv", "__freehold_preadv"},
      {"pwritev64", "__freehold_pwritev"},
      {"preadv64", "__freehold_preadv"},
      {"sendmsg", "__freehold_sendmsg"},
      {"recvmsg", "__freehold_recvmsg"},
      {"preadv2", "__freehold_preadv2"},
      {"pwritev2", "__freehold_pwritev2"},
      {"preadv64v2", "__freehold_preadv2"},
      {"pwritev64v2", "__freehold_pwritev2"},
      {"sendmmsg", "__freehold_sendmmsg"},
      {"recvmmsg", "__freehold_recvmmsg"},
      {"vmsplice", "__freehold_vmsplice"},
      {"process_vm_readv", "__freehold_process_vm_readv"},
      {"process_vm_writev", "__freehold_process_vm_writev"},
      {"aio_read", "__freehold_aio_read"},
      {"aio_write", "__freehold_aio_write"},
      {"aio_read64", "__freehold_aio_read"},
      {"aio_write64", "__freehold_aio_write"},
      {"lio_listio", "__freehold_lio_listio"},
      {"lio_listio64", "__freehold_lio_listio"},
      {"aio_suspend", "__freehold_aio_suspend"},
      {"aio_suspend64", "__freehold_aio_suspend"},
      {"execveat", "__freehold_execveat"},
      {"execv", "__freehold_execv"},
      {"execve", "__freehold_execve"},
      {"execvp", "__freehold_execvp"},
      {"execvpe", "__freehold_execvpe"},
      {"fexecve", "__freehold_fexecve"},
      {"posix_spawn", "__freehold_posix_spawn"},
      {"posix_spawnp", "__freehold_posix_spawnp"},
      {"iconv", "__freehold_iconv"},
      {"pthread_mutex_init", "__freehold_pthread_mutex_init"},
      {"sigaction", "__freehold_sigaction"},
      {"signal", "__freehold_signal"},
      {"pthread_sigmask", "__freehold_pthread_sigmask"},
      {"sigprocmask", "__freehold_sigprocmask"},
      {"vprintf", "__freehold_vprintf"},
      {"vfprintf", "__freehold_vfprintf"},
      {"vdprintf", "__freehold_vdprintf"},
      {"__vprintf_chk", "__freehold_vprintf_chk"},
      {"__vfprintf_chk", "__freehold_vfprintf_chk"},
      {"__vdprintf_chk", "__freehold_vdprintf_chk"},
      {"vwarn", "__freehold_vwarn"},
      {"vwarnx", "__freehold_vwarnx"},
      {"verr", "__freehold_verr"},
      {"verrx", "__freehold_verrx"},
      {"sigaltstack", "__freehold_sigaltstack"},
      {"longjmp", "__freehold_longjmp"},
      {"_longjmp", "__freehold_longjmp"},
      {"siglongjmp", "__freehold_longjmp"},
      {"__longjmp_chk", "__freehold_longjmp_chk"},
      {"bsd_signal", "__freehold_signal"},
      {"ssignal", "__freehold_signal"},
      {"sigset", "__freehold_sigset"},
      {"sysv_signal", "__freehold_sysv_signal"},
      {"__sysv_signal", "__freehold_sysv_signal"},
      {"_Znwm", "__freehold_new"},
      {"_Znam", "__freehold_new"},
      {"_ZnwmRKSt9nothrow_t", "__freehold_new_nothrow"},
      {"_ZnamRKSt9nothrow_t", "__freehold_new_nothrow"},
      {"_ZnwmSt11align_val_t", "__freehold_new_aligned"},
      {"_ZnamSt11align_val_t", "__freehold_new_aligned"},
      {"_ZnwmSt11align_val_tRKSt9nothrow_t", "__freehold_new_aligned_nothrow"},
      {"_ZnamSt11align_val_tRKSt9nothrow_t", "__freehold_new_aligned_nothrow"},
      {"_ZdlPv", "__freehold_delete"},
      {"_ZdaPv", "__freehold_delete"},
      {"_ZdlPvm", "__freehold_delete_sized"},
      {"_ZdaPvm", "__freehold_delete_sized"},
      {"_ZdlPvRKSt9nothrow_t", "__freehold_delete_nothrow"},
      {"_ZdaPvRKSt9nothrow_t", "__freehold_delete_nothrow"},
      {"_ZdlPvSt11align_val_t", "__freehold_delete_sized"},
      {"_ZdaPvSt11align_val_t", "__freehold_delete_sized"},
      {"_ZdlPvmSt11align_val_t", "__freehold_delete_sized_aligned"},
      {"_ZdaPvmSt11align_val_t", "__freehold_delete_sized_aligned"},
      // Cxx/paths.cpp.
      {"_ZNSt10filesystem7__cxx114path14_M_split_cmptsEv", "freehold_path_split"},
      {"_ZNSt10filesystem7__cxx114path15remove_filenameEv", "freehold_path_remove_filename"},
      {"_ZNSt10filesystem7__cxx114path16replace_filenameERKS1_", "freehold_path_replace_filename"},
      {"_ZNSt10filesystem7__cxx114path17replace_extensionERKS1_", "freehold_path_replace_extension"},
      {"_ZNSt10filesystem7__cxx114path9_M_appendESt17basic_string_viewIcSt11char_traitsIcEE", "freehold_path_append_text"},
      {"_ZNSt10filesystem7__cxx114path9_M_concatESt17basic_string_viewIcSt11char_traitsIcEE", "freehold_path_add_text"},
      {"_ZNSt10filesystem7__cxx114pathaSERKS1_", "freehold_path_assign"},
      {"_ZNSt10filesystem7__cxx114pathdVERKS1_", "freehold_path_append"},
      {"_ZNSt10filesystem7__cxx114pathpLERKS1_", "freehold_path_add"},
  };
  return map;
}

// Classes of libstdc++, by how their mangled names begin behind _ZN or _ZNK, of which no function keeps the address of what it is given: neither of `this` nor of an argument. An object that has
// such a member can move. Not std::ios_base and what is derived of it, which points into itself.
bool is_of_library_that_keeps_nothing(StringRef name) {
  if (!name.consume_front("_ZN")) return false;
  name.consume_front("K");
  static const StringRef all[] = {
      "St10filesystem", "St12__shared_ptrINSt10filesystem", "St8__detail20_Prime_rehash_policy", "St15__exception_ptr", "St13random_device", "St6thread4join", "St6thread6detach",
      // Not what makes facets part of a locale.
      "St6localeC", "St6localeD", "St6localeaS", "St6localeeq", "St6locale4name",
      "St9exceptionC", "St9exceptionD", "St11logic_error", "St12domain_error", "St16invalid_argument", "St12length_error", "St12out_of_range", "St13runtime_error", "St11range_error",
      "St14overflow_error", "St15underflow_error", "St12system_error", "St8bad_castD", "St9bad_allocD", "St10bad_typeidD",
  };
  return any_of(all, [&](StringRef one) { return name.starts_with(one); });
}

// clang-format on

}  // namespace

const Leaf* leaf_of(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  // A function of that name that the program itself defines is compiled with handles.
  if (callee == nullptr || !callee->isDeclaration() || callee->isIntrinsic()) return nullptr;
  auto found = leaves().find(callee->getName());
  return found == leaves().end() ? nullptr : &found->second;
}

const Known* known_of(StringRef name) {
  static const Known keeps_nothing = {0, false};
  if (is_of_library_that_keeps_nothing(name)) return &keeps_nothing;
  auto found = known().find(name);
  return found == known().end() ? nullptr : &found->second;
}

StringRef replacement_of(StringRef name) {
  auto found = replacements().find(name);
  return found == replacements().end() ? StringRef() : found->second;
}

}  // namespace freehold::compiler
