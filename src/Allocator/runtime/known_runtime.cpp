// Checks that the runtime in this program is the one whose layouts runtime_imports.h declares. The toolchain compares hashes of the archives when
// it prepares them; this catches a program linked with another archive by hand, before the first wrong offset is used.
#include <cstring>

#include "runtime/runtime_imports.h"

extern "C" {
void RhpInterfaceDispatchAVLocation1();
void RhpInitialInterfaceDispatch();
void RhpThrowHwEx2();  // the return address of its only call
void freehold_probe_enable_preemptive() asm("_ZN6Thread20EnablePreemptiveModeEv");
void freehold_probe_is_initialized() asm("_ZN6Thread13IsInitializedEv");
void freehold_probe_next_thread() asm("_ZN11ThreadStore8Iterator7GetNextEv");
void freehold_probe_code_manager() asm("_ZN15RuntimeInstance24GetCodeManagerForAddressEPv");
void freehold_probe_method_info() asm("_ZN21UnixNativeCodeManager14FindMethodInfoEPvP10MethodInfo");
void freehold_probe_references() asm("_ZN21UnixNativeCodeManager10EnumGcRefsEP10MethodInfoPvP10REGDISPLAYP13GCEnumContextb");
void freehold_probe_register_slot() asm("_ZN13GcInfoDecoder15GetRegisterSlotEiP10REGDISPLAY");
void freehold_probe_stack_slot() asm("_ZN13GcInfoDecoder12GetStackSlotEi15GcStackSlotBaseP10REGDISPLAY");
void freehold_probe_unboxing_stub() asm("_ZN15RuntimeInstance14IsUnboxingStubEPh");
}

namespace freehold::runtime {

namespace {

struct Probe {
  void (*function)();
  int16_t offset;
  uint8_t length;
  uint8_t code[24];
};

// Instructions without relocations that spell out the offsets used here.
const Probe kProbes[] = {
    // Thread: transition frame at 0x40, deferred frame at 0x48.
    {freehold_probe_enable_preemptive, 0, 14, {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x47, 0x48, 0x48, 0x89, 0x47, 0x40, 0x5d, 0xc3}},
    // Thread: state at 0x38.
    {freehold_probe_is_initialized, 0, 8, {0x55, 0x48, 0x89, 0xe5, 0x83, 0x7f, 0x38, 0x00}},
    // Thread: next at 0x58.
    {freehold_probe_next_thread, 0, 19, {0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x74, 0x0c, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x48, 0x58, 0x48, 0x89, 0x0f}},
    // RuntimeInstance: managed code at 0x20 and 0x28.
    {freehold_probe_code_manager, 0, 11, {0x55, 0x48, 0x89, 0xe5, 0x48, 0x2b, 0x77, 0x20, 0x8b, 0x47, 0x28}},
    // RuntimeInstance: unboxing stubs at 0x40.
    {freehold_probe_unboxing_stub, 0, 4, {0x48, 0x8b, 0x47, 0x40}},
    // UnixNativeCodeManager::FindMethodInfo: the range of managed code at 0x10; start of the function at 0x18 of the MethodInfo, of the method at 0.
    {freehold_probe_method_info, 0x16, 15, {0x48, 0x8b, 0x47, 0x10, 0x48, 0x39, 0xf0, 0x77, 0x6c, 0x8b, 0x4f, 0x18, 0x48, 0x01, 0xc1}},
    {freehold_probe_method_info, 0x47, 11, {0x48, 0x8b, 0x55, 0xa8, 0x48, 0x89, 0xd9, 0x48, 0x89, 0x53, 0x18}},
    {freehold_probe_method_info, 0x7e, 11, {0x48, 0x89, 0x71, 0x08, 0x48, 0x89, 0x11, 0xc6, 0x41, 0x2c, 0x00}},
    // EnumGcRefs: maps at 0x08 of the MethodInfo, "active" in r9; its callback is the first word of the context.
    {freehold_probe_references, 0x35, 4, {0x48, 0x8b, 0x46, 0x08}},
    {freehold_probe_references, 0x15f, 10, {0x4c, 0x8b, 0x8d, 0xd8, 0xfe, 0xff, 0xff, 0x4d, 0x8b, 0x01}},
    // REGDISPLAY: pointers to registers without rsp, the stack pointer at 0x78.
    {freehold_probe_register_slot, 0, 23, {0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x83, 0xfe, 0x05, 0x0f, 0x9d, 0xc0, 0x29, 0xc6, 0x48, 0x63, 0xc6, 0x48, 0x8b, 0x04, 0xc2, 0x5d, 0xc3}},
    {freehold_probe_stack_slot, 9, 8, {0x48, 0x63, 0xc6, 0x48, 0x03, 0x41, 0x78, 0xc3}},
    // The dispatch stubs touch the object through rdi, before anything is on the stack.
    {RhpInterfaceDispatchAVLocation1, 0, 3, {0x48, 0x8b, 0x07}},
    {RhpInitialInterfaceDispatch, 0, 3, {0x80, 0x3f, 0x00}},
    // RhpThrowHwEx is as long as it was, and begins with the pushes that make up the register context.
    {RhpThrowHwEx2, -0x71, 18, {0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x31, 0xd2, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54}},
};

}  // namespace

bool is_known_runtime() noexcept {
  for (const Probe& probe : kProbes) {
    if (memcmp(reinterpret_cast<const uint8_t*>(probe.function) + probe.offset, probe.code, probe.length) != 0) return false;
  }
  return true;
}

}  // namespace freehold::runtime
