// Repairs: code whose registers alone lead to an object that was promoted, with a handler as the real one and instructions of every shape; and managed code, whose
// maps are the test's.
#include <signal.h>
#include <ucontext.h>

#include <map>
#include <set>
#include <vector>

#include "core/fault_counters.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "heap_fixture.h"
#include "runtime/memory_moves.h"
#include "runtime/runtime_imports.h"
#include "runtime/stale_references.h"

extern "C" {
__thread freehold::runtime::Thread tls_CurrentThread;
}

namespace freehold::testing {

// The runtime's part: code with maps, for tests that call repair() themselves. Code without a map does not ask.
struct ManagedCode {
  struct Slot {
    uintptr_t* place;
    bool interior = false;
  };
  alignas(64) uint8_t bytes[1024] = {};
  bool has_map = true;
  std::set<const uint8_t*> interruptible;
  std::map<const uint8_t*, std::vector<Slot>> slots;
  struct Frame {
    const uint8_t* ip;  // where it goes on
    uintptr_t stack_pointer;
  };
  std::vector<Frame> callers;  // the innermost first
  size_t unwound = 0;
  runtime::RuntimeInstance instance = {};

  ManagedCode();
  ~ManagedCode();
};
ManagedCode* managed_code = nullptr;

ManagedCode::ManagedCode() {
  instance.code_manager = this;
  instance.managed_start = bytes;
  instance.managed_size = sizeof bytes;
  managed_code = this;
}
ManagedCode::~ManagedCode() { managed_code = nullptr; }

}  // namespace freehold::testing

namespace freehold::runtime {

using testing::managed_code;

RuntimeInstance* runtime_instance() {
  if (managed_code == nullptr) abort();
  return &managed_code->instance;
}
bool find_method_info(void* manager, void* code, MethodInfo* method) {
  if (manager != managed_code) abort();
  if (!is_managed_code(reinterpret_cast<uintptr_t>(code))) abort();
  method->start = reinterpret_cast<uintptr_t>(managed_code->bytes);
  return managed_code->has_map;
}
void enumerate_references(void*, MethodInfo*, void* code, RegisterDisplay*, void* callback, bool) {
  auto found = managed_code->slots.find(static_cast<const uint8_t*>(code));
  if (found == managed_code->slots.end()) return;
  for (auto [place, interior] : found->second) (*static_cast<void (**)(void*, uintptr_t*, uint32_t)>(callback))(callback, place, interior ? 1 : 0);
}
bool unwind_frame(void*, MethodInfo*, uint32_t, RegisterDisplay* display, void** transition) {
  if (managed_code->unwound == managed_code->callers.size()) {
    *transition = display;  // native code called it
    return true;
  }
  const testing::ManagedCode::Frame& frame = managed_code->callers[managed_code->unwound++];
  display->ip = reinterpret_cast<uintptr_t>(frame.ip);
  display->stack_pointer = frame.stack_pointer;
  return true;
}
bool is_interruptible(void*, void* code) { return managed_code->interruptible.count(static_cast<const uint8_t*>(code)) != 0; }

}  // namespace freehold::runtime

namespace freehold::testing {
namespace {

using core::Object;
using heap::current_address;
using heap::Whereabouts;

size_t repaired;

runtime::CodeKind code_kind(uintptr_t ip) { return runtime::is_frameless_helper(ip) ? runtime::CodeKind::kFrameless : runtime::CodeKind::kNative; }

void repair_or_recover(int, siginfo_t* info, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (uintptr_t recovery = core::find_recovery(static_cast<uintptr_t>(registers[REG_RIP])); recovery != 0) {
    registers[REG_RIP] = static_cast<greg_t>(recovery);
    return;
  }
  if (heap::whereabouts_of(address + 1) != Whereabouts::kMoved || !runtime::repair(registers, address, code_kind(static_cast<uintptr_t>(registers[REG_RIP]))))
    abort();
  repaired++;
}

class StaleReferencesTest : public HeapTest {
 protected:
  static constexpr uint32_t kLength = 4000;
  static constexpr size_t kArrays = 1500;

  void configure(core::Knobs& knobs) override { knobs.promotion = true; }

  void SetUp() override {
    HeapTest::SetUp();
    struct sigaction action = {};
    action.sa_sigaction = repair_or_recover;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    for (size_t i = 0; i < kArrays; i++) {
      Object* array = allocate(&bytes_type.table, kLength);
      for (uint32_t at = 0; at < kLength; at++) data(array)[at] = static_cast<uint8_t>(i + at);
      arrays_.push_back(array);
    }
    // Blocks in the middle are complete; every fiftieth array lives.
    for (size_t i = 0; i < kArrays; i++) {
      if (i % 50 != 0) heap::delete_object(arrays_[i]);
    }
    ASSERT_NE(heap::promote(heap::PromotionScope::kSparse), 0u);
    repaired = 0;
  }

  static uint8_t* data(Object* array) { return reinterpret_cast<uint8_t*>(array) + 16; }
  // Addresses that are stale: the first byte of array n.
  uint8_t* stale(size_t n) {
    for (size_t i = 0; i < kArrays; i += 50) {
      if (heap::whereabouts_of(reinterpret_cast<uintptr_t>(arrays_[i])) == Whereabouts::kMoved && n-- == 0) {
        number_ = i;
        return data(arrays_[i]);
      }
    }
    ADD_FAILURE() << "not enough arrays moved";
    abort();
  }
  uint8_t expected(size_t at) const { return static_cast<uint8_t>(number_ + at); }

  std::vector<Object*> arrays_;
  size_t number_ = 0;
};

uint8_t* now(uint8_t* address) { return reinterpret_cast<uint8_t*>(current_address(reinterpret_cast<uintptr_t>(address))); }

TEST_F(StaleReferencesTest, ABaseRegister) {
  uint8_t* base = stale(0);
  uint8_t* moved = now(base);
  uint8_t value;
  asm volatile("movb 7(%0), %1" : "+r"(base), "=r"(value) : : "memory");
  EXPECT_EQ(value, expected(7));
  EXPECT_EQ(base, moved);
  EXPECT_EQ(repaired, 1u);
}

// Native code has no map: what leads into the object that it uses is a pointer, what leads to another one may be a number that only looks so.
TEST_F(StaleReferencesTest, ANumberThatLooksLikeAnOldName) {
  auto another = reinterpret_cast<uint64_t>(stale(3)), number = another;
  uint8_t *base = stale(1), *end = base + kLength, *middle = base + 17, *moved = now(base);
  uint8_t value;
  asm volatile("movb 7(%0), %4" : "+D"(base), "+S"(number), "+d"(end), "+c"(middle), "=a"(value) : : "memory");
  EXPECT_EQ(value, expected(7));
  EXPECT_EQ(repaired, 1u);
  EXPECT_EQ(base, moved);
  EXPECT_EQ(end, moved + kLength);
  EXPECT_EQ(middle, moved + 17);
  EXPECT_EQ(number, another);
}

TEST_F(StaleReferencesTest, ABaseAndAnIndex) {
  for (uint64_t scale : {1, 8}) {
    uint8_t* base = stale(1);
    uint64_t index = 400;
    uint8_t value;
    if (scale == 1) {
      asm volatile("movb 3(%0,%2,1), %1" : "+r"(base), "=r"(value), "+r"(index) : : "memory");
    } else {
      asm volatile("movb 3(%0,%2,8), %1" : "+r"(base), "=r"(value), "+r"(index) : : "memory");
    }
    EXPECT_EQ(value, expected(400 * scale + 3));
    EXPECT_EQ(index, 400u);
    EXPECT_EQ(base, now(stale(1)));
  }
}

TEST_F(StaleReferencesTest, APointerInTheIndex) {
  uint64_t offset = 12;
  uint8_t* pointer = stale(2);
  uint8_t value;
  asm volatile("movb (%2,%0,1), %1" : "+r"(pointer), "=r"(value), "+r"(offset) : : "memory");
  EXPECT_EQ(value, expected(12));
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(pointer, now(stale(2)));
}

TEST_F(StaleReferencesTest, AnEndAndANegativeIndex) {
  uint8_t* end = stale(1) + kLength;
  int64_t index = -static_cast<int64_t>(kLength);
  unsigned sum = 0, wanted = 0;
  for (uint32_t at = 0; at < kLength; at++) wanted += expected(at);
  for (; index < 0; index++) {
    uint8_t value;
    asm volatile("movb (%0,%2,1), %1" : "+r"(end), "=r"(value) : "r"(index) : "memory");
    sum += value;
  }
  EXPECT_EQ(sum, wanted);
  EXPECT_EQ(repaired, 1u);
}

// What compilers make of two pointers that advance together: one, and the distance to the other.
TEST_F(StaleReferencesTest, ADifferenceOfTwoObjects) {
  uint8_t* base = stale(0);
  uint8_t* other = stale(3);
  intptr_t difference = other - base;
  uint8_t value;
  asm volatile("movb (%0,%2,1), %1" : "+r"(base), "=r"(value), "+r"(difference) : : "memory");
  EXPECT_EQ(value, expected(0));
  EXPECT_EQ(base, now(stale(0)));
  EXPECT_EQ(base + difference, now(stale(3)));
}

TEST_F(StaleReferencesTest, StoresVectorsAndStrings) {
  uint8_t* base = stale(2);
  asm volatile("movl $0x01020304, 100(%0)" : "+r"(base) : : "memory");
  EXPECT_EQ(now(stale(2))[100], 4);
  base = stale(2);
  uint8_t vector[16];
  asm volatile("movups 31(%0), %%xmm0; movups %%xmm0, %1" : "+r"(base), "=m"(vector) : : "xmm0", "memory");
  EXPECT_EQ(vector[5], expected(36));
  base = stale(2);
  bool taken;
  uint8_t seen = expected(50);
  asm volatile("lock cmpxchgb %3, 50(%0)" : "+r"(base), "+a"(seen), "=@ccz"(taken) : "r"(uint8_t{77}) : "memory");
  EXPECT_TRUE(taken);
  EXPECT_EQ(now(stale(2))[50], 77);
  // Both cursors of a string move.
  uint8_t* from = stale(1);
  uint8_t* to = stale(3);
  uint64_t count = 1000;
  asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
  stale(1);
  EXPECT_EQ(now(stale(3))[999], (stale(1), expected(999)));
  EXPECT_EQ(from, now(stale(1)) + 1000);
  EXPECT_EQ(to, now(stale(3)) + 1000);
}

// Every length, and both orders of overlapping blocks of which one or both names are stale.
TEST_F(StaleReferencesTest, BlockMovesWithTwoNamesOfOneObject) {
  std::vector<uint8_t> model(kLength);
  for (int names = 0; names < 4; names++) {
    for (size_t size : {1, 3, 8, 16, 17, 32, 33, 64, 65, 100, 127, 128, 500, 1024, 2048, 2500}) {
      for (size_t distance : {0, 1, 8, 16, 64, 200, 1000}) {
        for (bool up : {false, true}) {
          for (bool references : {false, true}) {
            if (references && (size % 8 != 0 || distance % 8 != 0)) continue;
            uint8_t* old = stale(4);
            uint8_t* current = now(old);
            for (uint32_t at = 0; at < kLength; at++) model[at] = current[at] = static_cast<uint8_t>(at * 7 + size);
            size_t from = up ? 0 : distance, to = up ? distance : 0;
            memmove(&model[to], &model[from], size);
            uint8_t* source = ((names & 1) != 0 ? old : current) + from;
            uint8_t* target = ((names & 2) != 0 ? old : current) + to;
            if (references) {
              RhBulkMoveWithWriteBarrier(target, source, size);
            } else {
              freehold_memmove(target, source, size);
            }
            ASSERT_EQ(memcmp(current, model.data(), kLength), 0)
                << "names " << names << " size " << size << " distance " << distance << " up " << up << " references " << references;
          }
        }
      }
    }
  }
}

TEST_F(StaleReferencesTest, FillsAreWhole) {
  for (size_t size : {1, 5, 9, 16, 40, 64, 65, 300, 2047, 2048, 3000}) {
    uint8_t* current = now(stale(5));
    memset(current, 1, kLength);
    freehold_memset(stale(5) + 3, 9, size);
    RhpGcSafeZeroMemory(stale(5) + 3 + size, size < 900 ? size : 900);
    EXPECT_EQ(current[2], 1);
    EXPECT_EQ(current[3], 9);
    EXPECT_EQ(current[2 + size], 9);
    EXPECT_EQ(current[3 + size], 0);
    EXPECT_EQ(current[3 + size + (size < 900 ? size : 900)], 1);
  }
}

// libc's: a cursor and an end in registers. (Stores to a promoted object by its vector code cannot be repaired: they are aligned, the copy is not.)
TEST_F(StaleReferencesTest, ReadsOfTheLibrary) {
  std::vector<uint8_t> buffer(kLength);
  for (size_t size : {1, 7, 16, 31, 64, 100, 256, 1000, 3999, 4000}) {
    uint8_t* old = stale(6);
    memcpy(buffer.data(), old, size);
    EXPECT_EQ(buffer[size - 1], expected(size - 1));
    EXPECT_EQ(memcmp(buffer.data(), stale(6), size), 0);
    // The sanitizers' own looks at all memory between the name that it was given and the one that it has found.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    auto* found = static_cast<uint8_t*>(memchr(stale(6), expected(size - 1), size));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, expected(size - 1));
#endif
  }
}

// What a compiler makes of a loop over a range.
[[gnu::noinline, gnu::optimize("O2", "no-tree-vectorize")]] unsigned sum_of(const uint8_t* cursor, const uint8_t* end) {
  unsigned sum = 0;
  while (cursor != end) sum += *cursor++;
  return sum;
}

TEST_F(StaleReferencesTest, ACursorAndAnEnd) {
  unsigned wanted = 0;
  stale(5);
  for (uint32_t at = 0; at < kLength; at++) wanted += expected(at);
  EXPECT_EQ(sum_of(stale(5), stale(5) + kLength), wanted);
  EXPECT_EQ(repaired, 1u);
}

// A field that still has the old address is made current through a register that holds its object.
TEST_F(StaleReferencesTest, FieldsOfObjectsInRegisters) {
  Object* node = allocate(&node_type.table);
  auto* fields = reinterpret_cast<uint64_t*>(node) + 1;
  auto object = reinterpret_cast<uint64_t>(stale(2) - 16);
  fields[1] = object;
  fields[2] = reinterpret_cast<uint64_t>(stale(3) - 16);
  uint64_t pointer = object;
  uint8_t value;
  asm volatile("movb 16(%0), %1" : "+r"(pointer), "=r"(value) : "r"(node) : "memory");
  EXPECT_EQ(fields[1], current_address(object));
  EXPECT_EQ(fields[2], reinterpret_cast<uint64_t>(now(stale(3) - 16)));
  EXPECT_EQ(pointer, fields[1]);
}

// A field further away is found when the same page is met again.
TEST_F(StaleReferencesTest, FieldsBehindObjectsInRegisters) {
  Object *near = allocate(&node_type.table), *middle = allocate(&node_type.table), *far = allocate(&node_type.table);
  auto fields = [](Object* node) { return reinterpret_cast<uint64_t*>(node) + 1; };
  auto object = reinterpret_cast<uint64_t>(stale(2) - 16);
  fields(near)[1] = reinterpret_cast<uint64_t>(middle);
  fields(middle)[2] = reinterpret_cast<uint64_t>(far);
  fields(far)[1] = object;
  fields(far)[2] = reinterpret_cast<uint64_t>(near);  // a cycle
  auto* field = reinterpret_cast<volatile uint64_t*>(&fields(far)[1]);
  volatile uint64_t hidden[] = {~reinterpret_cast<uint64_t>(far), ~reinterpret_cast<uint64_t>(middle), ~reinterpret_cast<uint64_t>(field)};
  for (unsigned faults = 1; faults <= 3; faults++) {
    uint64_t pointer = *reinterpret_cast<volatile uint64_t*>(~hidden[2]);
    if (pointer != object) break;
    uint8_t value;
    // No register but rbx leads there.
    asm volatile("movb 16(%0), %1"
                 : "+a"(pointer), "=d"(value)
                 : "b"(near)
                 : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory");
    EXPECT_EQ(repaired, faults);
  }
  EXPECT_LE(repaired, 2u);  // one, if a test before has met the page
  EXPECT_EQ(*reinterpret_cast<volatile uint64_t*>(~hidden[2]), current_address(object));
}

// Objects that hold thread-static fields are found through native memory: the first fault makes that reference current, and the fields of the object.
TEST_F(StaleReferencesTest, ThreadStatics) {
  auto object = reinterpret_cast<uintptr_t>(stale(2) - 16);
  static runtime::ThreadStaticRoot first, second;
  // No register is to hold what the roots lead to.
  volatile uintptr_t hidden = ~reinterpret_cast<uintptr_t>(allocate(&node_type.table));
  first.object = ~hidden;
  first.next = &second;
  second.object = object;
  reinterpret_cast<uint64_t*>(~hidden)[2] = object;
  tls_CurrentThread.thread_static_roots = &first;
  tls_CurrentThread.thread_statics = object;
  uintptr_t pointer = object;
  uint8_t value;
  asm volatile("movb 16(%0), %1" : "+r"(pointer), "=r"(value) : : "rbx", "r12", "r13", "r14", "r15", "memory");
  EXPECT_EQ(repaired, 1u);
  EXPECT_EQ(first.object, ~hidden);
  EXPECT_EQ(second.object, current_address(object));
  EXPECT_EQ(tls_CurrentThread.thread_statics, current_address(object));
  EXPECT_EQ(reinterpret_cast<uint64_t*>(~hidden)[2], current_address(object));
  tls_CurrentThread.thread_static_roots = nullptr;
  tls_CurrentThread.thread_statics = 0;
}

// Managed code that is to use `address` by the instruction at its byte 512.
class MappedReferencesTest : public StaleReferencesTest {
 protected:
  void SetUp() override {
    StaleReferencesTest::SetUp();
    registers_[REG_RSP] = reinterpret_cast<greg_t>(stack_);
  }

  void put(std::initializer_list<uint8_t> instruction) {
    std::fill(std::begin(code_.bytes), std::end(code_.bytes), uint8_t{0x90});
    std::copy(instruction.begin(), instruction.end(), here());
    registers_[REG_RIP] = reinterpret_cast<greg_t>(here());
  }
  uint8_t* here() { return code_.bytes + 512; }
  bool repair(const uint8_t* address) { return runtime::repair(registers_, reinterpret_cast<uintptr_t>(address), runtime::CodeKind::kMapped); }
  void set(int number, const void* value) { registers_[number] = reinterpret_cast<greg_t>(value); }
  uint8_t* get(int number) const { return reinterpret_cast<uint8_t*>(registers_[number]); }
  uintptr_t* slot(int number) { return reinterpret_cast<uintptr_t*>(&registers_[number]); }
  uintptr_t name(size_t n) { return reinterpret_cast<uintptr_t>(stale(n) - 16); }

  ManagedCode code_;
  gregset_t registers_ = {};
  uintptr_t stack_[4] = {};
};

constexpr std::initializer_list<uint8_t> kLoadFromRdi = {0x8a, 0x47, 0x07};  // mov al, [rdi + 7]

TEST_F(MappedReferencesTest, TheMapSaysWhatLivesHere) {
  put(kLoadFromRdi);
  uintptr_t on_stack = name(1), interior = name(3) + 100, none = 0;
  set(REG_RDI, stale(2));
  set(REG_RSI, stale(4));  // a number, for all that the map says
  code_.slots[here()] = {{slot(REG_RDI), true}, {&on_stack}, {&interior, true}, {&none}};
  uint64_t repairs = core::fault_counters.repairs.load(), slots = core::fault_counters.slots.load();
  ASSERT_TRUE(repair(stale(2) + 7));
  EXPECT_EQ(get(REG_RDI), now(stale(2)));
  EXPECT_EQ(get(REG_RSI), stale(4));
  EXPECT_EQ(on_stack, current_address(name(1)));
  EXPECT_EQ(interior, current_address(name(3)) + 100);
  EXPECT_EQ(none, 0u);
  EXPECT_EQ(core::fault_counters.repairs.load(), repairs + 1);
  EXPECT_EQ(core::fault_counters.slots.load(), slots + 3);
}

// Some instructions have no map: what lives there lives a few bytes before or behind.
TEST_F(MappedReferencesTest, AHoleInTheMap) {
  for (auto [before, behind, is_near] : {std::tuple(30, 20, true), std::tuple(127, 127, true), std::tuple(128, 128, false)}) {
    put(kLoadFromRdi);
    uintptr_t first = name(1), second = name(3), far = name(4);
    set(REG_RDI, stale(2));
    code_.interruptible = {here() - before, here() - 200, here() + behind, here() + 200};
    code_.slots = {{here() - before, {{&first}}}, {here() + behind, {{&second}}}, {here() - 200, {{&far}}}, {here() + 200, {{&far}}}};
    ASSERT_TRUE(repair(stale(2) + 7));
    EXPECT_EQ(get(REG_RDI), now(stale(2))) << "by its operand";
    EXPECT_EQ(first, is_near ? current_address(name(1)) : name(1)) << before;
    EXPECT_EQ(second, is_near ? current_address(name(3)) : name(3)) << behind;
    EXPECT_EQ(far, name(4));
  }
}

TEST_F(MappedReferencesTest, WithoutAMapTheOperandIsMadeCurrent) {
  put(kLoadFromRdi);
  code_.has_map = false;
  set(REG_RDI, stale(2));
  ASSERT_TRUE(repair(stale(2) + 7));
  EXPECT_EQ(get(REG_RDI), now(stale(2)));
}

// Code that meets a page again has it from its callers.
TEST_F(MappedReferencesTest, CallersThatPassItOn) {
  put(kLoadFromRdi);
  uintptr_t of_caller = name(2), of_next = name(3), of_last = name(4), returns[4] = {};
  auto stack = reinterpret_cast<uintptr_t>(returns);
  uint8_t elsewhere = 0;
  // The second return address is the runtime's own, for a stop; the fourth leads to native code.
  code_.callers = {{code_.bytes + 100, stack + 8}, {&elsewhere, stack + 16}, {code_.bytes + 300, stack + 24}, {&elsewhere, stack + 32}};
  code_.slots = {{code_.bytes + 100, {{&of_caller}}}, {code_.bytes + 200, {{&of_next}}}, {code_.bytes + 300, {{&of_last}}}};
  tls_CurrentThread.hijacked_slot = reinterpret_cast<void**>(&returns[1]);
  tls_CurrentThread.hijacked_address = code_.bytes + 200;
  for (int fault = 0; fault < 2; fault++) {
    set(REG_RDI, stale(2));
    code_.unwound = 0;
    ASSERT_TRUE(repair(stale(2) + 7));
  }
  tls_CurrentThread.forget_hijack();
  EXPECT_EQ(of_caller, current_address(name(2)));
  EXPECT_EQ(of_next, current_address(name(3)));
  EXPECT_EQ(of_last, current_address(name(4)));
}

// The map makes the base current, and what is added to it was the distance to another object.
TEST_F(MappedReferencesTest, ADistanceFromACurrentBase) {
  put({0x8a, 0x04, 0x37});  // mov al, [rdi + rsi]
  set(REG_RDI, stale(1));
  registers_[REG_RSI] = stale(3) - stale(1);
  code_.slots[here()] = {{slot(REG_RDI), true}};
  ASSERT_TRUE(repair(stale(3)));
  EXPECT_EQ(get(REG_RDI), now(stale(1)));
  EXPECT_EQ(get(REG_RDI) + registers_[REG_RSI], now(stale(3)));
}

TEST_F(MappedReferencesTest, OperandsWithoutABase) {
  put({0x8a, 0x04, 0x3d, 0, 0, 0, 0});  // mov al, [rdi * 1 + 0]
  set(REG_RDI, stale(1));
  ASSERT_TRUE(repair(stale(1)));
  EXPECT_EQ(get(REG_RDI), now(stale(1)));
  put({0x8a, 0x04, 0xfd, 8, 0, 0, 0});  // mov al, [rdi * 8 + 8]
  registers_[REG_RDI] = (reinterpret_cast<greg_t>(stale(1)) - 8) / 8;
  ASSERT_TRUE(repair(stale(1)));
  EXPECT_EQ(registers_[REG_RDI] * 8 + 8, reinterpret_cast<greg_t>(now(stale(1))));
}

// Which of the two registers is the pointer shows where each leads.
TEST_F(MappedReferencesTest, BasesThatAreNumbers) {
  put({0x8a, 0x04, 0x37});  // mov al, [rdi + rsi]
  registers_[REG_RDI] = 12;
  set(REG_RSI, stale(1));
  ASSERT_TRUE(repair(stale(1) + 12));
  EXPECT_EQ(registers_[REG_RDI], 12);
  EXPECT_EQ(get(REG_RSI), now(stale(1)));
  put({0x8a, 0x04, 0xf7});  // mov al, [rdi + rsi * 8]: the address of a table, less that of its first index
  registers_[REG_RDI] = reinterpret_cast<greg_t>(stale(1)) - 8 * 1'000'000;
  registers_[REG_RSI] = 1'000'000;
  uint8_t* base = get(REG_RDI);
  ASSERT_NE(heap::whereabouts_of(reinterpret_cast<uintptr_t>(base)), Whereabouts::kMoved);
  ASSERT_TRUE(repair(stale(1)));
  EXPECT_EQ(get(REG_RDI) + registers_[REG_RSI] * 8, now(stale(1)));
}

TEST_F(MappedReferencesTest, WhatCannotBeRepairedIsLeft) {
  put({0x90});  // uses no memory
  set(REG_RDI, stale(1));
  EXPECT_FALSE(repair(stale(1)));
  put({0x8a, 0x04, 0x25, 0, 0x10, 0, 0});  // mov al, [0x1000]
  EXPECT_FALSE(repair(stale(1)));
  EXPECT_EQ(get(REG_RDI), stale(1));
}

// Of a large array of references, the elements around what may be an index.
TEST_F(MappedReferencesTest, ElementsAroundAnIndex) {
  put(kLoadFromRdi);
  constexpr size_t kElements = 1000, kIndex = 700;
  Object* array = allocate(&references_type.table, kElements);
  uint64_t* elements = reinterpret_cast<uint64_t*>(array) + 2;
  for (size_t i : {0, 500, 699, 700, 701, 702}) elements[i] = name(2);
  set(REG_RDI, stale(2));
  set(REG_RBX, array);
  registers_[REG_RCX] = kIndex;
  ASSERT_TRUE(repair(stale(2) + 7));
  for (size_t i : {0, 699, 700, 701}) EXPECT_EQ(elements[i], current_address(name(2))) << i;
  for (size_t i : {500, 702}) EXPECT_EQ(elements[i], name(2)) << i;
}

}  // namespace
}  // namespace freehold::testing
