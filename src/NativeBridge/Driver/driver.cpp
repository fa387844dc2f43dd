// freehold-cc and freehold-c++: clang with handles. One program; its name says which language it links for. It adds the pass and the runtime
// to the command line and becomes clang. Paths are found beside the program itself: bin/ and lib/ stay together.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using std::string_view;

[[noreturn]] void fail(const std::string& message) {
  fprintf(stderr, "freehold-cc: error: %s\n", message.c_str());
  exit(1);
}

std::string own_folder() {
  char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size < 0) fail("cannot find out where it is");
  std::string text(path, static_cast<size_t>(size));
  return text.substr(0, text.rfind('/'));
}

bool is_one_of(string_view argument, std::initializer_list<string_view> all) {
  for (string_view one : all) {
    if (argument == one) return true;
  }
  return false;
}

// Options that clang takes and handles do not survive.
void refuse(string_view argument) {
  if (argument.starts_with("-fsanitize=")) {
    for (string_view kind : {"address", "thread", "memory", "leak", "hwaddress", "dataflow", "safe-stack", "cfi", "kcfi", "memtag"}) {
      if (argument.find(kind) != string_view::npos)
        fail("'" + std::string(argument) + "' cannot be combined with handles: the sanitizer replaces the same functions");
    }
  }
  if (argument == "-m32" || argument == "-mx32") fail("handles need 64-bit pointers: '" + std::string(argument) + "'");
  if (argument == "-static" || argument == "-static-pie") fail("the runtime of handles is a shared library: '" + std::string(argument) + "'");
}

}  // namespace

int main(int count, char** arguments) {
  string_view name(arguments[0]);
  if (size_t slash = name.rfind('/'); slash != string_view::npos) name.remove_prefix(slash + 1);
  bool cxx = name.ends_with("++");
  const char* compiler = getenv(cxx ? "FREEHOLD_CLANGXX" : "FREEHOLD_CLANG");
  if (compiler == nullptr || *compiler == '\0') compiler = cxx ? "clang++-19" : "clang-19";
  std::string folder = own_folder(), library = folder + "/../lib", runtime_path = library;

  bool links = true, has_input = false, profiles = false;
  std::string groups;
  std::vector<std::string> line = {compiler};
  for (int i = 1; i < count; i++) {
    string_view argument(arguments[i]);
    if (argument == "--verify") {
      setenv("FREEHOLD_COMPILER_VERIFY", "1", 1);
      continue;
    }
    if (argument == "--runtime-beside") {
      runtime_path = "$ORIGIN";
      continue;
    }
    if (argument == "-fheap-profile") {
      profiles = true;
      continue;
    }
    if (argument.starts_with("-fheap-groups")) {
      constexpr string_view kOption = "-fheap-groups=";
      if (!argument.starts_with(kOption) || argument.size() == kOption.size())
        fail("'" + std::string(argument) + "' should be -fheap-groups=FILE (freehold-groups make)");
      groups = argument.substr(kOption.size());
      continue;
    }
    // As clang has it: a package has no links, so the program has one name there.
    if (argument == "--driver-mode=g++") cxx = true;
    refuse(argument);
    if (is_one_of(argument, {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "-v", "-dumpversion", "-dumpmachine", "-r"}) ||
        argument.starts_with("-print-")) {
      // -v with an input links as well.
      if (argument != "-v") links = false;
    }
    if (is_one_of(argument, {"-o", "-x", "-I", "-L", "-l", "-include", "-isystem", "-MF", "-MT", "-MQ", "-D", "-U", "-Xlinker", "-Xclang", "-T", "-u", "-z"}) &&
        i + 1 < count) {
      if (argument == "-l") has_input = true;
      line.emplace_back(argument);
      line.emplace_back(arguments[++i]);
      continue;
    }
    if (argument[0] != '-' || argument == "-") has_input = true;
    line.emplace_back(argument);
  }
  if (profiles && !groups.empty()) fail("-fheap-profile and -fheap-groups cannot be combined: a profile is taken of the program without groups");
  // A profiled program has no handles: what it says is of call sites, which are the same, and is not paid for by what it costs to make objects move.
  if (!profiles) line.emplace_back("-fpass-plugin=" + library + "/libfreehold_handle_pass.so");
  if (profiles || !groups.empty()) {
    line.emplace_back("-fpass-plugin=" + library + "/libfreehold_call_sites_pass.so");
    if (profiles) {
      setenv("FREEHOLD_COMPILER_HEAP_PROFILE", "1", 1);
    } else {
      setenv("FREEHOLD_COMPILER_HEAP_GROUPS", groups.c_str(), 1);
    }
  }
  if (cxx) {
    // include/bits/c++config.h says why.
    line.emplace_back("-isystem");
    line.emplace_back(folder + "/../include/freehold");
  }
  line.emplace_back("-Wno-unused-command-line-argument");
  if (links && has_input) {
    if (cxx && !profiles) line.emplace_back(library + "/libfreehold_cxx.a");
    // Before every other library, also an allocator's: it stands in front of their free and realloc.
    line.insert(line.begin() + 1, library + (profiles ? "/libfreehold_heap_profile.so" : "/libfreehold_handles.so"));
    line.emplace_back("-Wl,-rpath," + runtime_path);
    // A library stays: objects that it has allocated, and threads that it has made known, name its code.
    line.emplace_back("-Wl,-z,nodelete");
    for (const std::string& argument : line) {
      if (argument.starts_with("-flto")) {
        line.emplace_back("-fuse-ld=lld");
        break;
      }
    }
  }
  std::vector<char*> raw;
  raw.reserve(line.size() + 1);
  for (std::string& argument : line) raw.push_back(argument.data());
  raw.push_back(nullptr);
  execvp(compiler, raw.data());
  fail(std::string("cannot run '") + compiler + "': " + strerror(errno) + " (Debian's package clang-19; FREEHOLD_CLANG names another one)");
}
