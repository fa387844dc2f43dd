// A library with a copy of src/Platform of its own, as Freehold's libraries have.
#include "Platform/process_page.h"

extern "C" __attribute__((visibility("default"))) void* page_of_copy() { return &freehold::os::process_page(); }
