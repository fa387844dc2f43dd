// The functions of libstdc++ that change a std::filesystem::path. They tell a string whose characters lie in the string itself by the address of these: in an
// object of the heap that is a handle, and they get the object's address, so they would free such a string's characters. So each works on a copy on the
// stack, which has the bytes of the path while it runs. The compiler calls these functions in the place of libstdc++'s (Compiler/library.cpp).
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

using std::filesystem::path;

// libstdc++'s own: by their symbols alone they would be the functions below (Compiler/prepare.cpp).
namespace freehold::paths {
using Text = std::string_view;
void split(path*) __asm__("freehold_own._ZNSt10filesystem7__cxx114path14_M_split_cmptsEv");
path& remove_filename(path*) __asm__("freehold_own._ZNSt10filesystem7__cxx114path15remove_filenameEv");
path& replace_filename(path*, const path&) __asm__("freehold_own._ZNSt10filesystem7__cxx114path16replace_filenameERKS1_");
path& replace_extension(path*, const path&) __asm__("freehold_own._ZNSt10filesystem7__cxx114path17replace_extensionERKS1_");
void append_text(path*, Text) __asm__("freehold_own._ZNSt10filesystem7__cxx114path9_M_appendESt17basic_string_viewIcSt11char_traitsIcEE");
void add_text(path*, Text) __asm__("freehold_own._ZNSt10filesystem7__cxx114path9_M_concatESt17basic_string_viewIcSt11char_traitsIcEE");
path& assign(path*, const path&) __asm__("freehold_own._ZNSt10filesystem7__cxx114pathaSERKS1_");
path& append(path*, const path&) __asm__("freehold_own._ZNSt10filesystem7__cxx114pathdVERKS1_");
path& add(path*, const path&) __asm__("freehold_own._ZNSt10filesystem7__cxx114pathpLERKS1_");
}  // namespace freehold::paths

using freehold::paths::Text;

namespace {

// libstdc++'s std::string, which a path begins with.
struct [[gnu::may_alias]] String {
  char* characters;
  size_t length;
  char own[16];
};
static_assert(sizeof(String) == sizeof(std::string) && sizeof(path) == sizeof(String) + sizeof(void*));

// The path has another place then, and there is none at the old one.
void relocate(void* from, void* to) {
  std::memcpy(to, from, sizeof(path));
  auto* old = static_cast<String*>(from);
  auto* made = static_cast<String*>(to);
  if (old->characters == old->own) made->characters = made->own;
}

// The path on the stack. It goes back at the end, also when there is an exception.
class Lent {
 public:
  explicit Lent(path& owner) : owner_(owner) { relocate(&owner, bytes_); }
  ~Lent() { relocate(bytes_, &owner_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  path* get() { return reinterpret_cast<path*>(bytes_); }
  // An argument may be the path itself.
  const path& or_this(const path& other) { return &other == &owner_ ? *get() : other; }

 private:
  path& owner_;
  alignas(path) unsigned char bytes_[sizeof(path)];
};

// The functions are known where they are called: through a pointer, libstdc++ would be taken to keep what it is given.
template <path& (*function)(path*, const path&)>
path* change(path& which, const path& other) {
  Lent lent(which);
  function(lent.get(), lent.or_this(other));
  return &which;
}

template <void (*function)(path*, Text)>
void change(path& which, Text text) {
  const std::string& all = which.native();
  bool is_part = !std::less<>()(text.data(), all.data()) && !std::less<>()(all.data() + all.size(), text.data());
  std::string copy(is_part ? text : Text());
  Lent lent(which);
  function(lent.get(), is_part ? copy : text);
}

}  // namespace

// What returns a path returns a reference, which C has not.
extern "C" {

void freehold_path_split(path& which) {
  Lent lent(which);
  freehold::paths::split(lent.get());
}

path* freehold_path_remove_filename(path& which) {
  Lent lent(which);
  freehold::paths::remove_filename(lent.get());
  return &which;
}

path* freehold_path_replace_filename(path& which, const path& other) { return change<freehold::paths::replace_filename>(which, other); }
path* freehold_path_replace_extension(path& which, const path& other) { return change<freehold::paths::replace_extension>(which, other); }
path* freehold_path_assign(path& which, const path& other) { return change<freehold::paths::assign>(which, other); }
path* freehold_path_append(path& which, const path& other) { return change<freehold::paths::append>(which, other); }
path* freehold_path_add(path& which, const path& other) { return change<freehold::paths::add>(which, other); }
void freehold_path_append_text(path& which, Text text) { change<freehold::paths::append_text>(which, text); }
void freehold_path_add_text(path& which, Text text) { change<freehold::paths::add_text>(which, text); }

}  // extern "C"
