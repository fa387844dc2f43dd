// Each part is linked with a copy of src/Platform. What is defined in one of its source files is weak and hidden, so that in one executable or library there is one
// definition, whoever comes first. Not in a declaration: a weak reference would take no member out of an archive.
#pragma once

#define FREEHOLD_ONE_FOR_ALL __attribute__((weak, visibility("hidden")))
