// libFuzzer: settings (core/knobs.h) of any text are taken or refused with a text that ends; what is refused changes nothing that a next reading sees.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/knobs.h"

using namespace freehold;

// The input is an environment: variables that end with a zero byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> variables(1);
  for (size_t i = 0; i < size; i++) {
    if (data[i] == 0) variables.emplace_back();
    else variables.back() += static_cast<char>(data[i]);
  }
  std::vector<const char*> environment;
  for (const std::string& variable : variables) environment.push_back(variable.c_str());
  environment.push_back(nullptr);

  char error[256];
  memset(error, 'x', sizeof error);
  core::knobs = {};
  bool good = core::read_knobs(environment.data(), nullptr, error, sizeof error);
  if (!good && (memchr(error, 0, sizeof error) == nullptr || error[0] == 0)) abort();

  // The same again is the same.
  core::Knobs first = core::knobs;
  core::knobs = {};
  char again[256] = {};
  if (core::read_knobs(environment.data(), nullptr, again, sizeof again) != good || (good && !(core::knobs == first)) || (!good && strcmp(error, again) != 0))
    abort();
  return 0;
}
