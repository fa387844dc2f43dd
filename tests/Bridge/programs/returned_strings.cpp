// Strings that functions of libstdc++ return, straight into objects of the heap: short ones, whose characters lie in the string, and long ones.
#include <cstdio>
#include <locale>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

struct Record {
  int before = 1;
  std::string text;
  int after = 2;
};

int main() {
  for (int i = 0; i < 40; i++) {
    auto* message = new std::string(std::make_error_code(static_cast<std::errc>(i + 1)).message());
    auto* name = new std::string(std::locale().name());
    auto record = std::make_unique<Record>();
    record->text = std::locale::classic().name();
    std::vector<std::string> many;
    for (int k = 0; k < 5; k++) many.push_back(std::generic_category().message(k));
    many.emplace_back(std::locale().name());
    delete[] new char[200];
    std::printf("%s %s %s %s %d\n", message->c_str(), name->c_str(), record->text.c_str(), many[3].c_str(), record->before + record->after);
    *message = *name;
    *name += *message + many[static_cast<size_t>(i) % many.size()];
    std::printf("%s\n", name->c_str());
    delete message;
    delete name;
  }
}
