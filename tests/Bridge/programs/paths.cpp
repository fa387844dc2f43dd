// options: -std=c++17
// std::filesystem::path where it is: on the stack, in the heap, in containers; names whose characters lie in the string itself, and long ones. libstdc++ changes them.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;

static unsigned long sum_of(const fs::path& path) {
  unsigned long sum = 7;
  for (const fs::path& part : path) {
    for (char one : part.native()) sum = sum * 31 + static_cast<unsigned char>(one);
    sum = sum * 13 + 1;
  }
  return sum * 3 + path.native().size();
}

// Each function that changes a path, over and over, so that its characters lie in it, outside, and in it again.
static unsigned long change(fs::path& path, const std::string& name) {
  unsigned long sum = 0;
  auto note = [&] {
    delete[] new char[100];
    sum = sum * 5 + sum_of(path);
  };
  path = name;
  note();
  path /= "b";
  note();
  path += ".txt";
  note();
  path.replace_extension(name.size() % 2 == 0 ? ".cc" : "");
  note();
  path.replace_filename(name);
  note();
  path /= path;
  note();
  path += path;
  note();
  path.concat(path.native().substr(0, 3));
  note();
  path /= std::string_view(path.native()).substr(path.native().size() / 2);
  note();
  path += std::string_view(path.native()).substr(1, 4);
  note();
  path = path.parent_path();
  note();
  path = *path.begin();
  note();
  path.replace_filename(path);
  note();
  path.remove_filename();
  note();
  path = fs::path("/") / name / ".." / "x";
  note();
  path = path.lexically_normal();
  note();
  path = static_cast<const fs::path&>(path);
  note();
  fs::path other = std::move(path);
  note();
  path = "y";
  path.swap(other);
  note();
  path.make_preferred();
  path.clear();
  note();
  return sum;
}

struct Record {
  int before = 1;
  fs::path path;
  int after = 2;
};

int main() {
  for (size_t length : {1, 5, 14, 15, 16, 17, 40, 300}) {
    std::string name(length, 'n');
    for (size_t i = 4; i < length; i += 7) name[i] = '/';
    fs::path on_stack;
    auto in_heap = std::make_unique<Record>();
    std::vector<fs::path> many(3);
    std::printf("%zu: %lu %lu", length, change(on_stack, name), change(in_heap->path, name));
    for (fs::path& one : many) std::printf(" %lu", change(one, name));
    std::printf(" %d\n", in_heap->before + in_heap->after);
  }
  // Many of them, kept, ordered, and given up.
  std::map<fs::path, std::unique_ptr<fs::path>> tree;
  for (int i = 0; i < 300; i++) {
    auto made = std::make_unique<fs::path>("root");
    for (int n = i; n != 0; n /= 5) *made /= std::string(static_cast<size_t>(n % 5) * 4 + 1, static_cast<char>('a' + n % 5));
    fs::path key = *made;
    key.replace_filename("k" + std::to_string(i));
    tree[key] = std::move(made);
    if (i % 3 == 0) tree.erase(tree.begin());
  }
  unsigned long sum = 0;
  for (auto& [key, value] : tree)
    sum = sum * 3 + sum_of(key) + sum_of(value->lexically_relative("root")) + sum_of(*std::make_unique<fs::path>(value->parent_path()));
  std::printf("%zu %lu\n", tree.size(), sum);
  // Paths that the system is asked about, and an exception out of libstdc++.
  auto place = std::make_unique<fs::path>(fs::temp_directory_path());
  *place /= "freehold-paths-" + std::to_string(reinterpret_cast<unsigned long>(&sum) % 1000003) + "-" + fs::current_path().filename().string();
  std::error_code error;
  fs::remove_all(*place, error);
  std::printf("%d", fs::create_directory(*place));
  for (const char* name : {"a", "a name of more than fifteen characters"}) std::printf(" %d", fs::create_directory(*place / name));
  std::vector<std::unique_ptr<fs::path>> found;
  for (auto& entry : fs::directory_iterator(*place)) found.push_back(std::make_unique<fs::path>(entry.path().filename()));
  size_t characters = 0;
  for (auto& one : found) characters += (*one += "+").native().size();
  auto file = std::make_unique<fs::path>(*place / "a name of more than fifteen characters" / "another name of that kind");
  std::fclose(std::fopen(file->c_str(), "w"));
  auto other = std::make_unique<fs::path>(*file);
  other->replace_filename("a third name that is as long");
  fs::create_symlink(*file, *other);
  std::printf(" %d %d", fs::read_symlink(*other) == *file, fs::canonical(*other).filename() == file->filename());
  std::printf(" %d %d", fs::copy_file(*file, fs::path(*other) += "+"), static_cast<int>(fs::file_size(fs::path(*other) += "+")));
  fs::remove(*other);
  fs::rename(*file, *other);
  fs::resize_file(*other, 77);
  fs::permissions(*other, fs::perms::owner_read);
  std::printf(" %d %d %d", fs::exists(*file), fs::exists(*other), static_cast<int>(fs::file_size(*other)));
  std::printf(" %zu %zu %d\n", found.size(), characters, static_cast<int>(fs::remove_all(*place)));
  try {
    auto missing = std::make_unique<fs::path>("/nowhere");
    *missing /= "x";
    std::printf("%ju\n", fs::file_size(*missing));
  } catch (const fs::filesystem_error& thrown) {
    auto kept = std::make_unique<fs::path>(thrown.path1());
    kept->replace_extension("no");
    std::printf("%s\n", kept->c_str());
  }
}
