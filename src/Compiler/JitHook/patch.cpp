#include "patch.h"

#include "pattern.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace freehold::jit {

namespace {

// The JIT of a linux-x64 compiler for linux-x64 targets, as the official package names it.
constexpr const char* kJitName = "libclrjit_unix_x64_x64.so";

struct Segment {
  std::uint8_t* start;
  std::size_t size;
  int protection;
};

struct SegmentQuery {
  const void* base;
  std::vector<Segment> executable;
};

int collect_executable_segments(dl_phdr_info* info, std::size_t, void* argument) {
  auto* query = static_cast<SegmentQuery*>(argument);
  if (reinterpret_cast<const void*>(info->dlpi_addr) != query->base) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) {
      continue;
    }
    const int protection = PROT_EXEC | ((header.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((header.p_flags & PF_W) != 0 ? PROT_WRITE : 0);
    query->executable.push_back({reinterpret_cast<std::uint8_t*>(info->dlpi_addr + header.p_vaddr), header.p_memsz, protection});
  }
  return 1;
}

LoadedJit fail(LoadedJit jit, LoadStatus status, std::string detail) {
  if (jit.library != nullptr) {
    dlclose(jit.library);
  }
  LoadedJit failed;
  failed.status = status;
  failed.detail = std::move(detail);
  return failed;
}

// Replaces two bytes. They may lie on two pages. The text is never writable and executable at once.
bool replace(std::uint8_t* at, const std::array<std::uint8_t, 2>& bytes, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(at) & ~(page - 1);
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(at) + bytes.size() + page - 1) & ~(page - 1);
  void* const start = reinterpret_cast<void*>(first);
  if (mprotect(start, end - first, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  std::memcpy(at, bytes.data(), bytes.size());
  __builtin___clear_cache(reinterpret_cast<char*>(at), reinterpret_cast<char*>(at) + bytes.size());
  return mprotect(start, end - first, protection) == 0;
}

struct Place {
  std::uint8_t* start = nullptr;
  int protection = 0;
  std::size_t count = 0;
};

Place find(const SegmentQuery& query, const Patch& patch) {
  Place place;
  for (const Segment& segment : query.executable) {
    const PatternMatch match = find_pattern({segment.start, segment.size}, patch);
    if (match.count != 0 && place.count == 0) {
      place.start = segment.start + match.offset;
      place.protection = segment.protection;
    }
    place.count += match.count;
  }
  return place;
}

// The version with all of whose patterns the JIT was met, each once; or why there is none. A JIT that has lost one is none.
const KnownJit* identify(const SegmentQuery& query, std::vector<Place>& places, std::size_t& most) {
  most = 0;
  for (const KnownJit& known : known_jits()) {
    places.clear();
    std::size_t least_here = SIZE_MAX, most_here = 0;
    for (const Patch& patch : known.patches) {
      places.push_back(find(query, patch));
      least_here = std::min(least_here, places.back().count);
      most_here = std::max(most_here, places.back().count);
    }
    if (least_here == 1 && most_here == 1) {
      return &known;
    }
    if (least_here >= 1) {
      most = std::max(most, most_here);
    }
  }
  return nullptr;
}

std::string versions() {
  std::string text;
  for (const KnownJit& known : known_jits()) {
    text += (text.empty() ? "" : " or ") + std::string(known.version);
  }
  return text;
}

}  // namespace

LoadedJit load_and_patch(const char* path) {
  LoadedJit jit;
  jit.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (jit.library == nullptr) {
    const char* error = dlerror();
    return fail(jit, LoadStatus::not_loaded, error != nullptr ? error : "unknown error");
  }
  link_map* map = nullptr;
  if (dlinfo(jit.library, RTLD_DI_LINKMAP, &map) != 0) {
    return fail(jit, LoadStatus::no_code, "no link map");
  }
  SegmentQuery query{reinterpret_cast<const void*>(map->l_addr), {}};
  dl_iterate_phdr(collect_executable_segments, &query);
  if (query.executable.empty()) {
    return fail(jit, LoadStatus::no_code, "no executable segment");
  }

  std::vector<Place> places;
  std::size_t most = 0;
  const KnownJit* const known = identify(query, places, most);
  if (known == nullptr) {
    return fail(jit, most == 0 ? LoadStatus::pattern_absent : LoadStatus::pattern_twice, std::to_string(most));
  }
  jit.startup = reinterpret_cast<void (*)(void*)>(dlsym(jit.library, "jitStartup"));
  jit.get_jit = reinterpret_cast<void* (*)()>(dlsym(jit.library, "getJit"));
  if (jit.startup == nullptr || jit.get_jit == nullptr) {
    return fail(jit, LoadStatus::export_missing, jit.startup == nullptr ? "jitStartup" : "getJit");
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Patch& patch = known->patches[i];
    if (!replace(places[i].start + patch.offset, patch.replacement, places[i].protection)) {
      return fail(jit, LoadStatus::protect_failed, std::strerror(errno));
    }
    jit.places.push_back(places[i].start);
  }
  jit.known = known;
  jit.status = LoadStatus::ok;
  return jit;
}

std::string jit_path() {
  const char* override_path = std::getenv("FREEHOLD_JIT");
  if (override_path != nullptr && *override_path != '\0') {
    return override_path;
  }
  char executable[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable);
  std::string folder(executable, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t slash = folder.rfind('/');
  // Without a folder the bare name is looked up by the loader, which reports the file it did not find.
  return slash == std::string::npos ? kJitName : folder.substr(0, slash + 1) + kJitName;
}

std::string describe_failure(const LoadedJit& jit, const std::string& path) {
  const std::string supported = "Use the official runtime.linux-x64.Microsoft.DotNet.ILCompiler package, version " + versions() + ", whose JIT Freehold knows";
  std::string text = "error FH0007: ";
  switch (jit.status) {
    case LoadStatus::ok: return "";
    case LoadStatus::not_loaded:
      text += "the JIT '" + path + "' cannot be loaded: " + jit.detail + ". " + supported + ", or name the file in the environment variable FREEHOLD_JIT.";
      break;
    case LoadStatus::no_code: text += "the JIT '" + path + "' cannot be examined: " + jit.detail + ". " + supported + "."; break;
    case LoadStatus::pattern_absent:
      text += "the JIT '" + path + "' does not contain the instructions Freehold changes, to make every method " +
              "fully interruptible for one; it is another version, or patched already. " + supported + ".";
      break;
    case LoadStatus::pattern_twice:
      text += "the JIT '" + path + "' contains the instructions Freehold changes " + jit.detail + " times instead of once. " + supported + ".";
      break;
    case LoadStatus::protect_failed:
      text += "the code of the JIT '" + path + "' cannot be changed in memory: " + jit.detail +
              ". Allow mprotect on file mappings for ilc (SELinux: execmod; containers: the seccomp profile).";
      break;
    case LoadStatus::export_missing: text += "the library '" + path + "' is no JIT: it does not export '" + jit.detail + "'. " + supported + "."; break;
  }
  return text;
}

}  // namespace freehold::jit
