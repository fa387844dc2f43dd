// Checks that the runtime in this program is the one whose layouts runtime_imports.h declares. The toolchain compares hashes of the archives when
// it prepares them; this catches a program linked with another archive by hand, before the first wrong offset is used.
#include <cstring>

#include "runtime/runtime_imports.h"

extern "C" {
#define FREEHOLD_PROBE(name, symbol, offset, ...) void freehold_probe_##name() asm(symbol);
#include <probes.h>
#undef FREEHOLD_PROBE
}

namespace freehold::runtime {

namespace {

struct Probe {
  void (*function)();
  int16_t offset;
  uint8_t length;
  uint8_t code[24];
};

template <typename... Bytes>
constexpr Probe probe(void (*function)(), int16_t offset, Bytes... bytes) {
  return {function, offset, sizeof...(bytes), {static_cast<uint8_t>(bytes)...}};
}

const Probe kProbes[] = {
#define FREEHOLD_PROBE(name, symbol, offset, ...) probe(freehold_probe_##name, offset, __VA_ARGS__),
#include <probes.h>
#undef FREEHOLD_PROBE
};

}  // namespace

bool is_known_runtime() noexcept {
  for (const Probe& probe : kProbes) {
    if (memcmp(reinterpret_cast<const uint8_t*>(probe.function) + probe.offset, probe.code, probe.length) != 0) return false;
  }
  return true;
}

}  // namespace freehold::runtime
