// A library of C++ that is compiled with handles, which a program of C that is not opens: libstdc++, which comes with it, frees the library's characters, and passes names of files that it finds in
// memory to the kernel.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace fs = std::filesystem;

extern "C" int grow(const char* base) {
  fs::path path = base;
  for (int i = 0; i < 9; i++) path /= "a name of more than fifteen characters";
  return static_cast<int>(path.native().size());
}

extern "C" int make_folder(const char* base) {
  fs::path path = std::string(base) + "/a name of more than fifteen characters";
  std::error_code made, removed;
  fs::create_directory(path, made);
  fs::remove(path, removed);
  return made.value() * 1000 + removed.value();
}

extern "C" char* give() {
  auto* made = static_cast<char*>(std::malloc(40));
  std::strcpy(made, "what the program frees");
  return made;
}
