// Runs in the signal handler. What it uses of the runtime, FindMethodInfo and EnumGcRefs, allocates nothing: the one lock on the way, a read lock of
// libunwind's cache, is never written to, since the program has an index of its unwind information.
//
// All slots of a frame are patched together: a loop that compares a cursor with its end would run on if only one of them were made current.
#include "runtime/stale_references.h"

#include <cstddef>

#include "Platform/operand.h"
#include "core/arena.h"
#include "core/fault_counters.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/forwarding.h"
#include "heap/heap.h"
#include "heap/walk.h"
#include "runtime/code_sites.h"
#include "runtime/runtime_imports.h"

namespace freehold::runtime {

namespace {

using core::arena;
using heap::current_address;
using heap::Whereabouts;
using heap::whereabouts_of;
using os::decode_operands;
using os::Operand;
using os::Operands;

constexpr uint32_t kInterior = 1;       // flags of a reported slot
constexpr uintptr_t kHoleAtMost = 128;  // bytes of code without a map between two that have one; the largest seen is 51
constexpr size_t kSources = 96;         // objects whose fields are looked at
constexpr size_t kSlotsOfSource = 64;
constexpr size_t kSlotsOfAll = 512;

// In the order of the instruction set's numbers.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

uintptr_t value(const greg_t* registers, int8_t number) noexcept {
  return number == Operand::kNone ? 0 : static_cast<uintptr_t>(registers[kRegisters[number]]);
}

uintptr_t effective_address(const greg_t* registers, const Operand& operand) noexcept {
  return value(registers, operand.base) + value(registers, operand.index) * operand.scale + static_cast<uintptr_t>(operand.displacement);
}

void add(greg_t* registers, int8_t number, uintptr_t distance) noexcept { registers[kRegisters[number]] += static_cast<greg_t>(distance); }

// What EnumGcRefs is given: its callback first.
struct Frame {
  void (*callback)(void* frame, uintptr_t* slot, uint32_t flags);
  size_t reported;
  size_t patched;
  size_t source_count;
  uintptr_t sources[kSources];  // objects, once each

  void add_source(uintptr_t object) noexcept {
    if (source_count == kSources) return;
    for (size_t i = 0; i < source_count; i++) {
      if (sources[i] == object) return;
    }
    sources[source_count++] = object;
  }
};

void patch_slot(void* context, uintptr_t* slot, uint32_t flags) noexcept {
  auto& frame = *static_cast<Frame*>(context);
  frame.reported++;
  uintptr_t address = *slot;
  if (address == 0) return;
  uintptr_t current = current_address(address);
  if (current != address) {
    *slot = current;
    frame.patched++;
  }
  if ((flags & kInterior) == 0) frame.add_source(current);
}

RegisterDisplay display_of(greg_t* registers) noexcept {
  RegisterDisplay display;
  for (int number = 0, slot = 0; number < 16; number++) {
    if (number != 4) display.registers[slot++] = &registers[kRegisters[number]];
  }
  display.stack_pointer = static_cast<uintptr_t>(registers[REG_RSP]);
  display.ip = static_cast<uintptr_t>(registers[REG_RIP]);
  return display;
}

// The frames above: a caller that passes a stale reference on, call after call, would fault each time. Ends at native code.
void patch_callers(greg_t* registers, Frame& frame) noexcept {
  constexpr int kDepth = 32;
  void* manager = runtime_instance()->code_manager;
  RegisterDisplay display = display_of(registers);
  const Thread& thread = tls_CurrentThread;
  for (int depth = 0; depth < kDepth; depth++) {
    MethodInfo method;
    void* transition = nullptr;
    if (!is_managed_code(display.ip) || !find_method_info(manager, reinterpret_cast<void*>(display.ip), &method)) return;
    auto ip = reinterpret_cast<void*>(display.ip);
    if (depth != 0) enumerate_references(manager, &method, ip, &display, &frame, false);
    if (!unwind_frame(manager, &method, 0, &display, &transition) || transition != nullptr) return;
    // A suspension may have put its own address in the place of the return address.
    if (thread.hijacked_slot != nullptr && reinterpret_cast<uintptr_t>(thread.hijacked_slot) + sizeof(void*) == display.stack_pointer)
      display.ip = reinterpret_cast<uintptr_t>(thread.hijacked_address);
  }
}

// Whether this thread has lately repaired a reference to the same page: then its callers are worth a look.
bool was_here(uintptr_t address) noexcept {
  constexpr size_t kRemembered = 16;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit uint32_t pages[kRemembered] = {};
  size_t page = address / core::kPageSize;
  uint32_t& last = pages[page % kRemembered];
  bool same = last == static_cast<uint32_t>(page);
  last = static_cast<uint32_t>(page);
  return same;
}

void patch_frame(greg_t* registers, Frame& frame) noexcept {
  RegisterDisplay display = display_of(registers);
  auto ip = static_cast<uintptr_t>(registers[REG_RIP]);
  void* manager = runtime_instance()->code_manager;
  MethodInfo method;
  if (!find_method_info(manager, reinterpret_cast<void*>(ip), &method)) return;
  auto* callback = reinterpret_cast<void*>(&frame);
  enumerate_references(manager, &method, reinterpret_cast<void*>(ip), &display, callback, true);
  if (frame.reported != 0 || is_interruptible(manager, reinterpret_cast<void*>(ip))) return;
  // A hole in the map, some moves of a block copy for instance, in the middle of the method: what lives in it lives before or after it. (In prologues
  // nothing faults, in epilogues only a tail jump, which the caller keeps away.)
  for (uintptr_t at = ip - 1; at >= method.start && ip - at < kHoleAtMost; at--) {
    if (!is_interruptible(manager, reinterpret_cast<void*>(at))) continue;
    enumerate_references(manager, &method, reinterpret_cast<void*>(at), &display, callback, true);
    break;
  }
  for (uintptr_t at = ip + 1; at - ip < kHoleAtMost; at++) {
    if (!is_interruptible(manager, reinterpret_cast<void*>(at))) continue;
    enumerate_references(manager, &method, reinterpret_cast<void*>(at), &display, callback, true);
    break;
  }
}

// Bytes of an object, header included; 0 when its memory is gone.
size_t size_of_object(uintptr_t object) noexcept {
  uint64_t table;
  if (!core::try_load(reinterpret_cast<const uint64_t*>(object), &table) || table == 0) return 0;
  const auto* type = reinterpret_cast<const core::MethodTable*>(table);
  uint32_t length = 0;
  if (type->has_component_size() && !core::try_load(reinterpret_cast<const uint32_t*>(object) + 2, &length)) return 0;
  return core::align_up(type->base_size + (type->has_component_size() ? static_cast<size_t>(type->component_size()) * length : 0), core::kObjectAlignment);
}

// End pointers that native code has spilled stay stale, and its callee-saved registers may be those of a managed caller, whose pairs are only
// patched together: the runtime's native code must not loop over memory of objects that are not pinned (docs/internals/README.md, Faults).
// Only those that lead into the object that the instruction uses, or to its end: any number may look like the old name of some object.
void patch_scratch_registers(greg_t* registers, uintptr_t used) noexcept {
  uintptr_t current = current_address(used + 1) - 1;
  const core::Object* object = heap::find_object(current);
  size_t size = object != nullptr ? size_of_object(reinterpret_cast<uintptr_t>(object)) : 0;
  if (size == 0) return;
  uintptr_t start = reinterpret_cast<uintptr_t>(object) - core::kHeaderSize;
  for (int number : {REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11}) {
    auto address = static_cast<uintptr_t>(registers[number]);
    if (whereabouts_of(address) != Whereabouts::kMoved) continue;
    uintptr_t moved = current_address(address);
    if (moved - start <= size) registers[number] = static_cast<greg_t>(moved);
  }
}

// Moves the address that the operand yields by `distance`, by changing that of its registers which holds the pointer.
bool shift(greg_t* registers, const Operand& operand, uintptr_t address, uintptr_t distance) noexcept {
  int8_t base = operand.base, index = operand.index;
  auto shift_index = [&](uintptr_t by) noexcept {
    auto units = static_cast<intptr_t>(by) / operand.scale;
    if (static_cast<uintptr_t>(units) * operand.scale != by) return false;
    add(registers, index, static_cast<uintptr_t>(units));
    return true;
  };
  if (index == Operand::kNone) {
    if (base == Operand::kNone) return false;
    add(registers, base, distance);
    return true;
  }
  if (base == Operand::kNone) return shift_index(distance);
  uintptr_t base_value = value(registers, base), index_value = value(registers, index);
  if (whereabouts_of(base_value) == Whereabouts::kMoved) {
    // Its own distance: if that is another, it points into another object, and the index is the difference of two addresses.
    uintptr_t own = current_address(base_value) - base_value;
    if (!shift_index(distance - own)) return false;
    add(registers, base, own);
    return true;
  }
  auto near = [address](uintptr_t pointer) noexcept { return arena.in_lower_half(pointer) && arena.block_index(pointer) == arena.block_index(address); };
  bool index_may_point = operand.scale == 1 && near(index_value);
  if (!index_may_point && (near(base_value) || !arena.contains(base_value))) {
    add(registers, base, distance);
    return true;
  }
  return shift_index(distance);
}

// The operands of the instruction, as far as they lead to promoted objects.
bool patch_operand(greg_t* registers, const os::Operands& operands, const uintptr_t* before, uintptr_t address, bool* patched) noexcept {
  if (operands.count == 2) {
    for (const Operand& operand : operands.operand) {
      uintptr_t pointer = value(registers, operand.base);
      if (whereabouts_of(pointer + 1) != Whereabouts::kMoved) continue;
      add(registers, operand.base, current_address(pointer + 1) - 1 - pointer);
      *patched = true;
    }
    return true;
  }
  const Operand& operand = operands.operand[0];
  // An access begins at the byte behind what a reference to the place is resolved by.
  uintptr_t now = address + (effective_address(registers, operand) - before[0]), wanted = current_address(address + 1) - 1;
  if (now == wanted) return true;
  *patched = true;
  // The map has made the base current, and the index was the difference to another object.
  if (now != address && operand.index != Operand::kNone) {
    auto units = static_cast<intptr_t>(wanted - now) / operand.scale;
    add(registers, operand.index, static_cast<uintptr_t>(units));
  } else if (!shift(registers, operand, now, wanted - now)) {
    return false;
  }
  return address + (effective_address(registers, operand) - before[0]) == wanted;
}

// A field that still has an old address of an object.
void patch_field(uint64_t* slot, size_t* patched) noexcept {
  uint64_t old;
  bool swapped = false;
  if (!core::try_load(slot, &old) || old == 0 || whereabouts_of(old) != Whereabouts::kMoved) return;
  if (whereabouts_of(reinterpret_cast<uintptr_t>(slot)) == Whereabouts::kEvacuating) return;  // the store would wait
  if (core::try_compare_and_swap(slot, old, current_address(old), &swapped) && swapped) (*patched)++;
}

// Calls function(slot) for the first fields of `object`, which is one, or was one; its memory may be gone.
template <typename Function>
void for_each_field(const greg_t* registers, uintptr_t object, size_t* budget, Function function) noexcept {
  uint64_t head, table;
  if (!core::try_load(reinterpret_cast<const uint64_t*>(object - core::kHeaderSize), &head) ||
      !core::try_load(reinterpret_cast<const uint64_t*>(object), &table))
    return;
  if ((head & core::kDeletedBit) != 0 || table == 0) return;
  const auto* type = reinterpret_cast<const core::MethodTable*>(table);
  if (!type->has_pointers()) return;
  size_t size = type->base_size;
  uint32_t length = 0;
  if (type->has_component_size()) {
    if (!core::try_load(reinterpret_cast<const uint32_t*>(object) + 2, &length)) return;
    size = core::align_up(size + static_cast<size_t>(type->component_size()) * length, core::kObjectAlignment);
  }
  // The beginning of a large one. A smaller size shortens what the description says, it does not displace it.
  constexpr size_t kFirst = 3 * core::kHeaderSize + kSlotsOfSource * sizeof(uint64_t);
  size_t left = kSlotsOfSource < *budget ? kSlotsOfSource : *budget, seen = 0;
  core::for_each_reference(reinterpret_cast<const core::Object*>(object), type, size < kFirst ? size : kFirst, [&](uint64_t* slot) noexcept {
    if (seen == left) return;
    seen++;
    function(slot);
  });
  // Of an array of references, also the elements around what may be an index.
  if (size > kFirst && type->component_size() == sizeof(uint64_t)) {
    auto* elements = reinterpret_cast<uint64_t*>(object + 2 * core::kHeaderSize);
    for (int number : kRegisters) {
      auto index = static_cast<uint64_t>(registers[number]);
      if (index >= length || seen >= *budget) continue;
      for (uint64_t i = index == 0 ? 0 : index - 1; i <= index + 1 && i < length; i++, seen++) function(&elements[i]);
    }
  }
  *budget -= seen < *budget ? seen : *budget;
}

void patch_fields(const greg_t* registers, uintptr_t object, size_t* budget, size_t* patched) noexcept {
  for_each_field(registers, object, budget, [patched](uint64_t* slot) noexcept { patch_field(slot, patched); });
}

// The fields of what the sources refer to, step by step: code that goes through several objects (this.list.items[i]) may have kept only the first.
void patch_fields_further(const greg_t* registers, Frame& frame, size_t* patched) noexcept {
  size_t budget = kSlotsOfAll, first = frame.source_count;
  for (size_t i = 0; i < frame.source_count && budget != 0 && *patched == 0; i++) {
    if (i >= first) patch_fields(registers, frame.sources[i], &budget, patched);
    for_each_field(registers, frame.sources[i], &budget, [&frame](uint64_t* slot) noexcept {
      uint64_t object;
      if (core::try_load(slot, &object) && arena.contains(object)) frame.add_source(current_address(object));
    });
  }
}

// Registers that hold the start of an object: bases of static fields are not in the map, and where there is no map there is only this.
void add_registers(const greg_t* registers, Frame& frame) noexcept {
  for (int number : kRegisters) {
    auto address = static_cast<uintptr_t>(registers[number]);
    if (address % core::kObjectAlignment != 0 || !arena.contains(address)) continue;
    bool known = false;
    for (size_t i = 0; i < frame.source_count; i++) known = known || frame.sources[i] == address;
    // A number may look like an address anywhere in the arena: only where objects are may be looked at.
    if (known || heap::classify(reinterpret_cast<void*>(address)) != heap::AddressState::kLive) continue;
    if (const core::Object* object = heap::find_object(address); reinterpret_cast<uintptr_t>(object) == address) frame.add_source(address);
  }
}

// Where this thread's static fields are: only code between native memory and the first field sees those references. Others write to
// them only in a remap's stop, and a thread that handles a fault is not stopped.
void patch_thread_statics(const greg_t* registers, size_t* budget, size_t* patched) noexcept {
  auto patch = [&](uintptr_t& object) noexcept {
    if (object == 0) return;
    patch_field(reinterpret_cast<uint64_t*>(&object), patched);
    patch_fields(registers, object, budget, patched);
  };
  Thread& thread = tls_CurrentThread;
  patch(thread.thread_statics);
  for (ThreadStaticRoot* root = thread.thread_static_roots; root != nullptr && *budget != 0; root = root->next) patch(root->object);
}

// FREEHOLD_STRESS=sites: whether the code that faulted, or the caller of a helper that did, is here for the first time.
bool is_first_visit(const greg_t* registers, CodeKind kind) noexcept {
  uintptr_t caller = kind == CodeKind::kFrameless ? *reinterpret_cast<const uintptr_t*>(registers[REG_RSP]) : 0;
  return is_new_site(static_cast<uintptr_t>(registers[REG_RIP]), caller);
}

}  // namespace

bool repair(greg_t* registers, uintptr_t address, CodeKind kind) noexcept {
  Operands operands = decode_operands(reinterpret_cast<const uint8_t*>(registers[REG_RIP]));
  if (operands.count == 0) return false;
  uintptr_t before[2] = {effective_address(registers, operands.operand[0]), effective_address(registers, operands.operand[1])};
  Frame frame;
  frame.callback = patch_slot;
  frame.reported = frame.patched = frame.source_count = 0;
  if (kind == CodeKind::kMapped) patch_frame(registers, frame);
  bool by_operand = kind == CodeKind::kNative;
  if (by_operand && operands.count == 1) patch_scratch_registers(registers, address);
  if (!patch_operand(registers, operands, before, address, &by_operand)) return false;

  size_t parents = 0, budget = kSlotsOfAll;
  if (!core::knobs.stress.sites || !is_first_visit(registers, kind)) {
    bool again = was_here(address);
    if (kind == CodeKind::kMapped && again) patch_callers(registers, frame);
    add_registers(registers, frame);
    for (size_t i = 0; i < frame.source_count && budget != 0; i++) patch_fields(registers, frame.sources[i], &budget, &parents);
    if (parents == 0) patch_thread_statics(registers, &budget, &parents);
    if (parents == 0 && again) patch_fields_further(registers, frame, &parents);
  }

  auto count = [](std::atomic<uint64_t>& counter, uint64_t by) noexcept {
    if (by != 0) counter.fetch_add(by, std::memory_order_relaxed);
  };
  core::FaultCounters& counters = core::fault_counters;
  count(counters.repairs, 1);
  count(counters.slots, frame.patched);
  count(counters.parents, parents);
  count(counters.operand_repairs, by_operand ? 1 : 0);
  count(counters.parentless, parents == 0 ? 1 : 0);
  return true;
}

}  // namespace freehold::runtime
