// Strings that functions of libstdc++ fill, where they are: on the stack and in the heap, short ones whose characters lie in the string, and long ones.
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

template <typename String>
struct Record {
  int before = 1;
  String text;
  int after = 2;
};

template <typename String>
static unsigned long sum_of(const String& text) {
  unsigned long sum = text.size();
  for (auto one : text) sum = sum * 31 + static_cast<unsigned long>(one);
  return sum;
}

// Reads all of it into one string again and again, so that it is short, long, and short again.
template <typename Char>
static unsigned long read_all(std::basic_istream<Char>& in, std::basic_string<Char>& text, bool words, Char end) {
  unsigned long sum = 0;
  while (words ? static_cast<bool>(in >> text) : static_cast<bool>(std::getline(in, text, end))) {
    sum = sum * 7 + sum_of(text);
    delete[] new char[200];
    sum += text.size() > 15 ? text.capacity() >= text.size() : text.data()[text.size()] == Char();
  }
  return sum * 8 + static_cast<unsigned long>(in.rdstate());
}

template <typename Char>
static void read_everywhere(const std::basic_string<Char>& content, Char end) {
  using String = std::basic_string<Char>;
  for (bool words : {false, true}) {
    String on_stack;
    std::basic_istringstream<Char> first(content);
    std::printf("%lu", read_all<Char>(first, on_stack, words, end));
    auto in_heap = std::make_unique<Record<String>>();
    auto second = std::make_unique<std::basic_istringstream<Char>>(content);
    std::printf(" %lu", read_all<Char>(*second, in_heap->text, words, end));
    std::vector<String> many(5);
    unsigned long sum = 0;
    for (String& one : many) {
      std::basic_istringstream<Char> third(content);
      sum += read_all<Char>(third, one, words, end);
    }
    String moved = std::move(in_heap->text);
    std::printf(" %lu %lu %d\n", sum, sum_of(moved), in_heap->before + in_heap->after);
  }
}

int main() {
  std::string narrow;
  std::wstring wide;
  for (int i = 0; i < 60; i++) {
    narrow += std::string(static_cast<size_t>(i), static_cast<char>('a' + i % 26)) + (i % 3 == 0 ? "\n" : i % 3 == 1 ? " \t" : ";");
    wide += std::wstring(static_cast<size_t>(i), static_cast<wchar_t>(L'a' + i)) + (i % 3 == 0 ? L"\n" : i % 3 == 1 ? L" " : L";");
  }
  for (char end : {'\n', ';'}) read_everywhere<char>(narrow, end);
  for (wchar_t end : {L'\n', L';'}) read_everywhere<wchar_t>(wide, end);

  // States, widths and exceptions.
  auto* text = new std::string("old");
  std::istringstream empty(""), blank("   "), three("abcdef gh");
  std::getline(empty, *text);
  std::printf("%d '%s'\n", static_cast<int>(empty.rdstate()), text->c_str());
  blank >> *text;
  std::printf("%d '%s'\n", static_cast<int>(blank.rdstate()), text->c_str());
  three >> std::setw(4) >> *text;
  std::printf("%d '%s' %d", static_cast<int>(three.rdstate()), text->c_str(), static_cast<int>(three.width()));
  three >> *text;
  std::printf(" '%s'", text->c_str());
  three >> *text;
  std::printf(" '%s' %d\n", text->c_str(), static_cast<int>(three.rdstate()));
  std::istringstream throwing("x");
  throwing.exceptions(std::ios_base::failbit);
  try {
    for (int i = 0; i < 3; i++) std::getline(throwing, *text);
  } catch (const std::ios_base::failure&) {
    std::printf("failure %d\n", static_cast<int>(throwing.rdstate()));
  }
  delete text;
  return 0;
}
