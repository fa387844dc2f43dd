// A heap without a runtime: types made by hand, a fault handler that knows only the recovery table.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/object.h"
#include "diag/verify.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_ends.h"
#include "heap/block_pool.h"
#include "heap/block_protection.h"
#include "heap/block_walk.h"
#include "heap/blocks.h"
#include "heap/chunks.h"
#include "heap/dead_blocks.h"
#include "heap/dead_pages.h"
#include "heap/heap.h"
#include "heap/history.h"
#include "heap/huge_ends.h"
#include "heap/large.h"
#include "heap/maintenance.h"
#include "heap/owned_parts.h"
#include "heap/pinned_blocks.h"
#include "heap/pins.h"
#include "heap/stack_store.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"

namespace freehold::testing {

// FREEHOLD_TEST_SEED repeats a run of random tests.
inline uint64_t seed_of_run() {
  const char* given = getenv("FREEHOLD_TEST_SEED");
  return given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
}

// A MethodTable with room for the GCDesc before it.
template <uint32_t kFlags, uint32_t kBaseSize>
struct TypeOf {
  int64_t description[4] = {0, -int64_t{kBaseSize} + 8, 8, 1};  // one series: every word behind the MethodTable, if it has pointers
  core::MethodTable table = {kFlags, kBaseSize, nullptr, 1, 0, 0};
  const void* first_slot = reinterpret_cast<const void*>(&FreeholdCollectNoParts);  // no parts
};

inline constexpr uint32_t kClass = 0x14u << 26, kArray = 0x18u << 26;  // what kind of type it is

inline TypeOf<kClass, 24> small_type;
inline TypeOf<core::MethodTable::kHasComponentSize | kArray | 1, 24> bytes_type;  // byte[]
inline TypeOf<core::MethodTable::kHasPointers | kClass, 40> node_type = {{0, 24 - 40, 8, 1},
                                                                         {core::MethodTable::kHasPointers | kClass, 40, nullptr, 1, 0, 0}};  // three references
inline TypeOf<core::MethodTable::kHasFinalizer | kClass, 32> finalizable_type;
inline TypeOf<core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | kArray | 8, 24> references_type = {
    {0, -24, 16, 1}, {core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | kArray | 8, 24, nullptr, 0, 0, 0}};  // object[]
inline TypeOf<core::MethodTable::kHasPointers | core::MethodTable::kHasFinalizer | kClass, 40> finalizable_node_type = {
    {0, 24 - 40, 8, 1}, {core::MethodTable::kHasPointers | core::MethodTable::kHasFinalizer | kClass, 40, nullptr, 0, 0, 0}};

inline void recover(int signal, siginfo_t* info, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  uintptr_t recovery = core::find_recovery(static_cast<uintptr_t>(registers[REG_RIP]));
  if (recovery == 0) {
    fprintf(stderr, "signal %d at %p, instruction %p\n", signal, info->si_addr, reinterpret_cast<void*>(registers[REG_RIP]));
    abort();
  }
  registers[REG_RIP] = static_cast<greg_t>(recovery);
}

class HeapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = recover;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    core::knobs = {};
    core::knobs.address_space = uint64_t{1} << 40;
    core::knobs.promotion = false;  // the tests use objects by their first names
    configure(core::knobs);
    heap::reset_heap();
    ASSERT_TRUE(core::create_arena(core::knobs.address_space));
    ASSERT_TRUE(heap::initialize_protection());
    heap::initialize_pins();
  }

  void TearDown() override {
    heap::retire(&context_);
    heap::unregister_thread();
    heap::reset_heap();
    core::destroy_arena();
    os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615,membarrier:18446744073709551615");
  }

  virtual void configure(core::Knobs&) {}

  // As the runtime's helpers do: bump, or the slow path; then the type.
  core::Object* allocate(const core::MethodTable* type, uint32_t length = 0) { return allocate_with(&context_, type, length); }

  static core::Object* allocate_with(heap::AllocationContext* context, const core::MethodTable* type, uint32_t length = 0, uint32_t flags = 0) {
    size_t size = core::align_up(type->base_size + size_t{type->has_component_size() ? type->component_size() : 0u} * length, 8);
    core::Object* object;
    if (type->has_finalizer()) flags |= heap::kAllocFinalize;
    if (flags == 0 && size <= static_cast<size_t>(context->alloc_limit - context->alloc_ptr)) {
      object = reinterpret_cast<core::Object*>(context->alloc_ptr);
      context->alloc_ptr += size;
    } else {
      object = static_cast<core::Object*>(heap::allocate(context, size, flags));
      if (object == nullptr) return nullptr;
    }
    object->type = type;
    if (type->has_component_size()) object->length = length;
    return object;
  }

  // A deleted node whose header's page has lost its memory, and whose last field's page has not.
  core::Object* headless() {
    std::vector<core::Object*> nodes;
    for (int i = 0; i < 600; i++) {
      nodes.push_back(allocate(&node_type.table));
      for (size_t field = 1; field <= 3; field++) reinterpret_cast<uint64_t*>(nodes.back())[field] = 0;
    }
    auto number = [](core::Object* node) { return reinterpret_cast<uint64_t>(node); };
    auto across = std::find_if(nodes.begin() + 200, nodes.end(), [number](core::Object* node) {
      return (number(node) - 8) / core::kPageSize != (number(node) + 31) / core::kPageSize && (number(node) + 24) % core::kPageSize < 24;
    });
    if (across == nodes.end()) return nullptr;
    size_t page = core::arena.page_index(number(*across) - 8);
    for (core::Object* node : nodes) {
      if (core::arena.page_index(number(node) - 8) == page || core::arena.page_index(number(node) + 31) == page) {
        EXPECT_EQ(heap::delete_object(node), heap::DeleteResult::kDeleted);
      }
    }
    heap::collect();
    // Asked so: a recovery address of try_load cannot be in an inline function.
    EXPECT_EQ(bytes_with_memory(core::arena.page_start(page), core::kPageSize), 0u);
    EXPECT_EQ(bytes_with_memory(core::arena.page_start(page + 1), core::kPageSize), core::kPageSize);
    return *across;
  }

  static void expect_valid(const char* when) {
    char message[512];
    diag::Report report = {message, sizeof message, 0, 0, 0};
    heap::set_threads_stopped(true);
    diag::verify_heap(report);
    heap::set_threads_stopped(false);
    EXPECT_EQ(report.violations, 0) << when << ": " << message;
  }

  // Bytes of [start, start + size) that have memory.
  static size_t bytes_with_memory(const void* start, size_t size) {
    std::vector<unsigned char> pages((size + core::kPageSize - 1) / core::kPageSize);
    EXPECT_EQ(mincore(const_cast<void*>(start), size, pages.data()), 0);
    return static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; })) * core::kPageSize;
  }

  heap::AllocationContext context_ = {};
};

}  // namespace freehold::testing
