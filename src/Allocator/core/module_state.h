// State at file scope: one struct for each module, so that a test begins anew with all of it.
#pragma once

#include <new>

namespace freehold::core {

// A struct whose members say what they are at first, and what it has to give back, if anything, in release(). No thread may use it meanwhile.
struct ModuleState {
  void* state;
  void (*renew)(void* state) noexcept;
};

template <typename State>
void renew_state(void* memory) noexcept {
  auto* state = static_cast<State*>(memory);
  if constexpr (requires { state->release(); }) state->release();
  new (memory) State();
}

// Behind the definition of a variable. A program in which nobody calls renew_states() has no trace of it: the linker drops the section.
#define FREEHOLD_MODULE_STATE(name) \
  [[gnu::section("freehold_states"), gnu::used]] const ::freehold::core::ModuleState name##_entry = {&name, ::freehold::core::renew_state<decltype(name)>}

// What it was when the process began, in all modules. For tests, and with one thread.
void renew_states() noexcept;

}  // namespace freehold::core
