// Handlers of signals that all code of the process installs (signals.cpp).
#pragma once

namespace freehold::bridge {

// Once, before a handler needs it: later it might allocate.
void resolve_signals() noexcept;

}  // namespace freehold::bridge
