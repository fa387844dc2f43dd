#include "heap/holder_support.h"

namespace freehold::heap {

namespace {
constinit const HolderSupport* support = nullptr;
}  // namespace

void set_holder_support(const HolderSupport* given) noexcept { support = given; }
const HolderSupport* holder_support() noexcept { return support; }

}  // namespace freehold::heap
