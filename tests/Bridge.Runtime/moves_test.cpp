// Instructions that the handler does in the place of the processor, beside the processor itself: each runs on random registers and memory, between two breakpoints whose
// handler has the kernel's own contexts before and behind it.
#include "moves.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "os.h"

namespace freehold::bridge::test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMemory = 256, kMiddle = 128;
constexpr int kRsp = 4;

// Registers and vectors of a context, by value.
struct State {
  gregset_t registers;
  alignas(64) std::array<uint8_t, 16384> vectors;

  void copy_from(const ucontext_t& context, size_t size) {
    memcpy(&registers, &context.uc_mcontext.gregs, sizeof registers);
    memcpy(vectors.data(), context.uc_mcontext.fpregs, size);
  }
};

uint32_t word_at(const uint8_t* area, size_t offset) {
  uint32_t value;
  memcpy(&value, area + offset, sizeof value);
  return value;
}
uint64_t header_of(const uint8_t* area) {
  uint64_t value;
  memcpy(&value, area + 512, sizeof value);
  return value;
}
// Of the area that a context points to, the kernel's word behind it included.
size_t size_of(const uint8_t* area) { return word_at(area, 464) == 0x46505853 ? word_at(area, 468) : 512; }

// What runs between the two breakpoints. The handler is a plain function: what it needs is here.
struct Experiment {
  std::mt19937_64* random = nullptr;
  int base = 0, index = -1;
  uint64_t base_value = 0, index_value = 0;
  bool has_avx = false, upper_in_use = false;
  int stage = 0;
  State original, before, behind;
  ucontext_t kept;  // of the first breakpoint, for its fields that are no registers
};
Experiment experiment;

void at_breakpoint(int, siginfo_t*, void* pointer) {
  auto* context = static_cast<ucontext_t*>(pointer);
  auto* area = reinterpret_cast<uint8_t*>(context->uc_mcontext.fpregs);
  size_t size = size_of(area);
  Experiment& e = experiment;
  greg_t* registers = context->uc_mcontext.gregs;
  if (e.stage++ == 0) {
    e.original.copy_from(*context, size);
    e.kept = *context;
    for (int i = 0; i < 16; i++) {
      if (i != kRsp) registers[kPlaces[i]] = static_cast<greg_t>((*e.random)());
    }
    registers[kPlaces[e.base]] = static_cast<greg_t>(e.base_value);
    if (e.index >= 0) registers[kPlaces[e.index]] = static_cast<greg_t>(e.index_value);
    registers[REG_EFL] = (registers[REG_EFL] & ~greg_t{0x8d5}) | static_cast<greg_t>((*e.random)() & 0x8d5);
    for (size_t i = 160; i < 416; i++) area[i] = static_cast<uint8_t>((*e.random)());
    if (e.has_avx) {
      uint64_t header = header_of(area) | 2;
      header = e.upper_in_use ? header | 4 : header & ~uint64_t{4};
      memcpy(area + 512, &header, sizeof header);
      for (size_t i = 576; i < 832; i++) area[i] = static_cast<uint8_t>((*e.random)());
    }
    e.before.copy_from(*context, size);
    return;
  }
  e.behind.copy_from(*context, size);
  greg_t rip = registers[REG_RIP];
  memcpy(&context->uc_mcontext.gregs, &e.original.registers, sizeof e.original.registers);
  registers[REG_RIP] = rip;
  memcpy(area, e.original.vectors.data(), size);
}

// A register of 64 bytes, as far as the context has it.
std::array<uint8_t, 64> vector_of(const uint8_t* area, unsigned number) {
  std::array<uint8_t, 64> value{};
  bool is_extended = size_of(area) > 512;
  memcpy(value.data(), area + 160 + size_t{number} * 16, 16);
  if (!is_extended) return value;
  uint64_t used = header_of(area);
  if ((used & 2) == 0) memset(value.data(), 0, 16);
  if ((used & 4) != 0) memcpy(value.data() + 16, area + 576 + size_t{number} * 16, 16);
  if ((used & 64) != 0) {
    uint32_t a, offset, c, d;
    __asm__("cpuid" : "=a"(a), "=b"(offset), "=c"(c), "=d"(d) : "a"(13), "c"(6));
    memcpy(value.data() + 32, area + offset + size_t{number} * 32, 32);
  }
  return value;
}

class Moves : public ::testing::Test {
 protected:
  void SetUp() override {
    find_vectors();
    void* made = mmap(nullptr, os::kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(made, MAP_FAILED);
    code_ = static_cast<uint8_t*>(made);
    struct sigaction action{};
    action.sa_sigaction = at_breakpoint;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGTRAP, &action, &old_), 0);
    experiment.has_avx = __builtin_cpu_supports("avx2");
  }
  void TearDown() override {
    sigaction(SIGTRAP, &old_, nullptr);
    munmap(code_, os::kPageSize);
  }

  // int3, the instruction, int3, ret.
  void run_natively(const Bytes& instruction) {
    code_[0] = 0xcc;
    memcpy(code_ + 1, instruction.data(), instruction.size());
    code_[1 + instruction.size()] = 0xcc;
    code_[2 + instruction.size()] = 0xc3;
    experiment.stage = 0;
    // The handler restores all that the instruction changes.
    asm volatile("sub $128, %%rsp; call *%0; add $128, %%rsp" : : "r"(code_) : "memory", "cc");
    ASSERT_EQ(experiment.stage, 2);
  }

  // What the emulation makes of the same state.
  bool emulate(const Move& move, uintptr_t address, State& state) {
    state = experiment.before;
    ucontext_t context = experiment.kept;
    memcpy(&context.uc_mcontext.gregs, &state.registers, sizeof state.registers);
    context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state.vectors.data());
    bool done = perform(move, address, &context);
    memcpy(&state.registers, &context.uc_mcontext.gregs, sizeof state.registers);
    return done;
  }

  uint8_t* code_ = nullptr;
  struct sigaction old_{};
};

// How an instruction is written: prefix, VEX or not, map, opcode, and what follows.
struct Form {
  const char* name;
  std::vector<uint8_t> prefixes;
  bool is_vex;
  std::vector<uint8_t> opcode;  // without VEX with its 0f
  int digit;                    // of ModRM, -1: a register
  unsigned immediate;           // bytes
  unsigned alignment;           // of the memory
};

const Form kForms[] = {
    {"mov store 8", {}, false, {0x88}, -1, 0, 1},
    {"mov store", {}, false, {0x89}, -1, 0, 1},
    {"mov store 16", {0x66}, false, {0x89}, -1, 0, 1},
    {"mov load 8", {}, false, {0x8a}, -1, 0, 1},
    {"mov load", {}, false, {0x8b}, -1, 0, 1},
    {"mov load 16", {0x66}, false, {0x8b}, -1, 0, 1},
    {"mov load 16, two prefixes", {0x2e, 0x66}, false, {0x8b}, -1, 0, 1},
    {"mov immediate 8", {}, false, {0xc6}, 0, 1, 1},
    {"mov immediate", {}, false, {0xc7}, 0, 4, 1},
    {"movsxd", {}, false, {0x63}, -1, 0, 1},
    {"movzx 8", {}, false, {0x0f, 0xb6}, -1, 0, 1},
    {"movzx 8 to 16", {0x66}, false, {0x0f, 0xb6}, -1, 0, 1},
    {"movzx 16", {}, false, {0x0f, 0xb7}, -1, 0, 1},
    {"movsx 8", {}, false, {0x0f, 0xbe}, -1, 0, 1},
    {"movsx 8 to 16", {0x66}, false, {0x0f, 0xbe}, -1, 0, 1},
    {"movsx 16", {}, false, {0x0f, 0xbf}, -1, 0, 1},
    {"movnti", {}, false, {0x0f, 0xc3}, -1, 0, 1},
    {"movups load", {}, false, {0x0f, 0x10}, -1, 0, 1},
    {"movups store", {}, false, {0x0f, 0x11}, -1, 0, 1},
    {"movupd load", {0x66}, false, {0x0f, 0x10}, -1, 0, 1},
    {"movss load", {0xf3}, false, {0x0f, 0x10}, -1, 0, 1},
    {"movss store", {0xf3}, false, {0x0f, 0x11}, -1, 0, 1},
    {"movsd load", {0xf2}, false, {0x0f, 0x10}, -1, 0, 1},
    {"movsd store", {0xf2}, false, {0x0f, 0x11}, -1, 0, 1},
    {"movlps load", {}, false, {0x0f, 0x12}, -1, 0, 1},
    {"movlpd load", {0x66}, false, {0x0f, 0x12}, -1, 0, 1},
    {"movlps store", {}, false, {0x0f, 0x13}, -1, 0, 1},
    {"movhps load", {}, false, {0x0f, 0x16}, -1, 0, 1},
    {"movhpd load", {0x66}, false, {0x0f, 0x16}, -1, 0, 1},
    {"movhps store", {}, false, {0x0f, 0x17}, -1, 0, 1},
    {"movaps load", {}, false, {0x0f, 0x28}, -1, 0, 16},
    {"movaps store", {}, false, {0x0f, 0x29}, -1, 0, 16},
    {"movntps", {}, false, {0x0f, 0x2b}, -1, 0, 16},
    {"movdqa load", {0x66}, false, {0x0f, 0x6f}, -1, 0, 16},
    {"movdqa store", {0x66}, false, {0x0f, 0x7f}, -1, 0, 16},
    {"movdqu load", {0xf3}, false, {0x0f, 0x6f}, -1, 0, 1},
    {"movdqu store", {0xf3}, false, {0x0f, 0x7f}, -1, 0, 1},
    {"movd load", {0x66}, false, {0x0f, 0x6e}, -1, 0, 1},
    {"movd store", {0x66}, false, {0x0f, 0x7e}, -1, 0, 1},
    {"movq load", {0xf3}, false, {0x0f, 0x7e}, -1, 0, 1},
    {"movq store", {0x66}, false, {0x0f, 0xd6}, -1, 0, 1},
    {"movntdq", {0x66}, false, {0x0f, 0xe7}, -1, 0, 16},
    {"lddqu", {0xf2}, false, {0x0f, 0xf0}, -1, 0, 1},
    {"vmovups load", {0}, true, {0x10}, -1, 0, 1},
    {"vmovups store", {0}, true, {0x11}, -1, 0, 1},
    {"vmovupd load", {1}, true, {0x10}, -1, 0, 1},
    {"vmovss load", {2}, true, {0x10}, -1, 0, 1},
    {"vmovss store", {2}, true, {0x11}, -1, 0, 1},
    {"vmovsd load", {3}, true, {0x10}, -1, 0, 1},
    {"vmovsd store", {3}, true, {0x11}, -1, 0, 1},
    {"vmovlps store", {0}, true, {0x13}, -1, 0, 1},
    {"vmovhps store", {0}, true, {0x17}, -1, 0, 1},
    {"vmovaps load", {0}, true, {0x28}, -1, 0, 32},
    {"vmovaps store", {0}, true, {0x29}, -1, 0, 32},
    {"vmovdqa load", {1}, true, {0x6f}, -1, 0, 32},
    {"vmovdqa store", {1}, true, {0x7f}, -1, 0, 32},
    {"vmovdqu load", {2}, true, {0x6f}, -1, 0, 1},
    {"vmovdqu store", {2}, true, {0x7f}, -1, 0, 1},
    {"vmovd load", {1}, true, {0x6e}, -1, 0, 1},
    {"vmovd store", {1}, true, {0x7e}, -1, 0, 1},
    {"vmovq load", {2}, true, {0x7e}, -1, 0, 1},
    {"vmovq store", {1}, true, {0xd6}, -1, 0, 1},
    {"vmovntdq", {1}, true, {0xe7}, -1, 0, 32},
    {"vlddqu", {3}, true, {0xf0}, -1, 0, 1},
};

// Scalars have no form of 256 bits.
bool has_256(const Form& form) {
  uint8_t opcode = form.opcode[0], prefix = form.prefixes[0];
  if (opcode == 0x10 || opcode == 0x11) return prefix < 2;
  return opcode != 0x13 && opcode != 0x17 && opcode != 0x6e && opcode != 0x7e && opcode != 0xd6;
}

// The instruction on [base + index * scale + displacement], with a random register and width.
struct Written {
  Bytes code;
  uint8_t scale;
  int64_t displacement;
};
Written write(const Form& form, int base, int index, std::mt19937_64& random) {
  Written written{{}, 1, 0};
  Bytes& code = written.code;
  unsigned reg = form.digit >= 0 ? static_cast<unsigned>(form.digit) : static_cast<unsigned>(random() % 16);
  // A register of 8 bits that is not rsp's lowest byte without REX; general loads leave rsp alone, or the test has no stack.
  bool is_general = !form.is_vex && (form.opcode[0] != 0x0f || (form.opcode[1] >= 0xb6 && form.opcode[1] <= 0xc3));
  bool is_byte_register = form.opcode[0] == 0x88 || form.opcode[0] == 0x8a;
  unsigned w = static_cast<unsigned>(random() % 2);
  if (!form.is_vex && form.opcode[0] == 0x63) w = 1;
  unsigned rex = w << 3 | (reg >> 3) << 2 | static_cast<unsigned>(index >= 8) << 1 | static_cast<unsigned>(base >= 8);
  bool needs_rex = rex != 0 || (is_byte_register && reg == 4) || random() % 4 == 0;
  if (is_general && form.digit < 0 && reg == 4 && (needs_rex || !is_byte_register)) reg = 3;
  if (form.is_vex) {
    bool is_256 = has_256(form) && random() % 2 == 0;
    code.push_back(0xc4);
    code.push_back(static_cast<uint8_t>((reg < 8 ? 0x80 : 0) | (index < 8 ? 0x40 : 0) | (base < 8 ? 0x20 : 0) | 1));
    bool w_matters = form.opcode[0] == 0x6e || (form.opcode[0] == 0x7e && form.prefixes[0] == 1);
    code.push_back(static_cast<uint8_t>((w_matters && w != 0 ? 0x80 : 0) | 0x78 | (is_256 ? 4 : 0) | form.prefixes[0]));
    if (index < 8 && base < 8 && !(w_matters && w != 0) && random() % 2 == 0) {
      uint8_t last = code[2];
      code = {0xc5, static_cast<uint8_t>((reg < 8 ? 0x80 : 0) | (last & 0x7f))};
    }
  } else {
    code.insert(code.end(), form.prefixes.begin(), form.prefixes.end());
    if (needs_rex) code.push_back(static_cast<uint8_t>(0x40 | rex));
  }
  code.insert(code.end(), form.opcode.begin(), form.opcode.end());
  unsigned mod = static_cast<unsigned>(random() % 3);
  if (mod == 0 && (base & 7) == 5) mod = 1;
  bool has_sib = index >= 0 || (base & 7) == 4 || random() % 8 == 0;
  code.push_back(static_cast<uint8_t>(mod << 6 | (reg & 7) << 3 | (has_sib ? 4 : static_cast<unsigned>(base & 7))));
  if (has_sib) {
    unsigned shift = static_cast<unsigned>(random() % 4);
    if (index >= 0) written.scale = static_cast<uint8_t>(1 << shift);
    code.push_back(static_cast<uint8_t>(shift << 6 | static_cast<unsigned>(index >= 0 ? index & 7 : 4) << 3 | static_cast<unsigned>(base & 7)));
  }
  if (mod == 1) {
    auto displacement = static_cast<int8_t>(random());
    written.displacement = displacement;
    code.push_back(static_cast<uint8_t>(displacement));
  } else if (mod == 2) {
    auto displacement = static_cast<int32_t>(random());
    written.displacement = displacement;
    for (int i = 0; i < 4; i++) code.push_back(static_cast<uint8_t>(static_cast<uint32_t>(displacement) >> i * 8));
  }
  unsigned immediate = form.immediate;
  for (unsigned i = 0; i < immediate; i++) code.push_back(static_cast<uint8_t>(random()));
  return written;
}

std::string text_of(const Bytes& code) {
  std::string text;
  for (uint8_t byte : code) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
    text += ' ';
  }
  return text;
}

TEST_F(Moves, DoWhatTheProcessorDoes) {
  std::mt19937_64 random(30);
  Experiment& e = experiment;
  e.random = &random;
  alignas(64) uint8_t memory[kMemory], original[kMemory], native[kMemory];
  auto emulated = std::make_unique<State>();
  for (const Form& form : kForms) {
    if (form.is_vex && !e.has_avx) continue;
    for (int round = 0; round < 300; round++) {
      e.base = static_cast<int>(random() % 16);
      if (e.base == kRsp) e.base = 0;
      e.index = random() % 2 == 0 ? -1 : static_cast<int>(random() % 16);
      if (e.index == kRsp || e.index == e.base) e.index = -1;
      e.upper_in_use = random() % 2 == 0;
      Written written = write(form, e.base, e.index, random);
      for (uint8_t& byte : original) byte = static_cast<uint8_t>(random());
      memcpy(memory, original, kMemory);
      uint64_t address = reinterpret_cast<uint64_t>(memory) + kMiddle + random() % 32 / form.alignment * form.alignment;
      e.index_value = random();
      e.base_value = address - static_cast<uint64_t>(written.displacement) - (e.index >= 0 ? e.index_value * written.scale : 0);
      SCOPED_TRACE(std::string(form.name) + ": " + text_of(written.code));

      Bytes padded = written.code;
      padded.resize(16, 0xf0);
      Move move;
      ASSERT_TRUE(decode_move(padded.data(), &move));
      ASSERT_EQ(move.length, written.code.size());
      ASSERT_EQ(move.operand.base, e.base);
      ASSERT_EQ(move.operand.displacement, written.displacement);

      run_natively(written.code);
      memcpy(native, memory, kMemory);
      memcpy(memory, original, kMemory);
      ASSERT_TRUE(emulate(move, address, *emulated));

      ASSERT_EQ(memcmp(memory, native, kMemory), 0);
      for (int number = 0; number < 16; number++) {
        ASSERT_EQ(emulated->registers[kPlaces[number]], e.behind.registers[kPlaces[number]]) << "register " << number;
        ASSERT_EQ(vector_of(emulated->vectors.data(), static_cast<unsigned>(number)), vector_of(e.behind.vectors.data(), static_cast<unsigned>(number)))
            << "vector " << number;
      }
      // The second breakpoint is behind the instruction, and its own byte.
      ASSERT_EQ(emulated->registers[REG_RIP] + 1, e.behind.registers[REG_RIP]);
      ASSERT_EQ(emulated->registers[REG_EFL] & ~greg_t{0x10000}, e.behind.registers[REG_EFL] & ~greg_t{0x10000});
    }
  }
}

TEST_F(Moves, AreNoOthers) {
  const Bytes others[] = {
      {0x48, 0x8b, 0xc1},                    // mov %rcx,%rax
      {0x48, 0x8b, 0x05, 1, 0, 0, 0},        // mov 1(%rip),%rax
      {0x64, 0x48, 0x8b, 0x00},              // mov %fs:(%rax),%rax
      {0x67, 0x8b, 0x00},                    // mov (%eax),%eax
      {0x48, 0x03, 0x00},                    // add (%rax),%rax
      {0xf3, 0xa4},                          // rep movsb
      {0xf3, 0x48, 0x89, 0x00},              // a prefix that means something else elsewhere
      {0xf0, 0x48, 0x87, 0x00},              // lock xchg
      {0xc7, 0x48, 0x01, 0, 0, 0, 0},        // no instruction: c7 /1
      {0x0f, 0x6f, 0x00},                    // movq (%rax),%mm0
      {0xf3, 0x0f, 0x12, 0x00},              // movsldup
      {0x66, 0x0f, 0xef, 0x00},              // pxor
      {0xc5, 0xf0, 0x12, 0x00},              // vmovlps (%rax),%xmm1,%xmm0
      {0xc5, 0xf0, 0x58, 0x00},              // vaddps
      {0xc4, 0xe2, 0x7d, 0x18, 0x00},        // vbroadcastss
      {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00},  // vmovups of 64 bytes
      {0x48, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0},  // movabs
      {0xff, 0x30},                          // push
  };
  for (Bytes code : others) {
    SCOPED_TRACE(text_of(code));
    code.resize(16, 0x90);
    Move move;
    EXPECT_FALSE(decode_move(code.data(), &move));
  }
}

// Code has aligned the handle; the object may lie otherwise.
TEST_F(Moves, MemoryNeedNotBeAligned) {
  const uint8_t movaps[] = {0x0f, 0x28, 0x00, 0x90, 0x90};
  Move move;
  ASSERT_TRUE(decode_move(movaps, &move));
  std::mt19937_64 random(1);
  experiment.random = &random;
  experiment.base = 0;
  experiment.index = -1;
  alignas(16) uint8_t memory[32] = {};
  experiment.base_value = reinterpret_cast<uint64_t>(memory);
  run_natively({0x0f, 0x28, 0x00});
  for (uintptr_t shift : {8, 16}) {
    auto state = std::make_unique<State>();
    EXPECT_TRUE(emulate(move, reinterpret_cast<uintptr_t>(memory) + shift, *state));
    EXPECT_EQ(state->registers[REG_RIP], experiment.before.registers[REG_RIP] + 3);
  }
}

}  // namespace
}  // namespace freehold::bridge::test
