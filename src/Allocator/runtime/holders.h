// Who holds an object outside of the heap, frame by frame: for looks at deaths (heap/holder_support.h).
#pragma once

#include "heap/holder_support.h"

namespace freehold::runtime {

extern const heap::HolderSupport holder_support;

}  // namespace freehold::runtime
