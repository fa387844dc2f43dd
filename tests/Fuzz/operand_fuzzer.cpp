// libFuzzer: the decoder of memory operands (runtime/operand.h) reads no byte behind an instruction, and agrees with Zydis about its registers.
#include <Zydis/Zydis.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Platform/operand.h"

using freehold::os::decode_operands;
using freehold::os::Operand;
using freehold::os::Operands;

namespace {

constexpr size_t kPage = 4096;

// A page with one behind it that nobody may read.
uint8_t* guarded_page() {
  static uint8_t* const page = [] {
    void* memory = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(static_cast<uint8_t*>(memory) + kPage, kPage, PROT_NONE) != 0) abort();
    return static_cast<uint8_t*>(memory);
  }();
  return page;
}

// Knights Corner has VEX and MVEX instructions of its own; no processor with 64-bit Linux has them, and there their bytes are no instruction.
bool is_knights_corner(const ZydisDecodedInstruction& instruction) {
  ZydisISASet set = instruction.meta.isa_set;
  return instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX || instruction.meta.category == ZYDIS_CATEGORY_KNC ||
         (set >= ZYDIS_ISA_SET_KNCE && set <= ZYDIS_ISA_SET_KNC_PF_HINT);
}

bool is_register(int8_t number) { return number >= Operand::kNone && number < 16; }

void check(const Operands& operands) {
  if (operands.count > 2) abort();
  for (uint8_t i = 0; i < operands.count; i++) {
    const Operand& operand = operands.operand[i];
    bool scaled = operand.scale == 1 || operand.scale == 2 || operand.scale == 4 || operand.scale == 8;
    if (!is_register(operand.base) || !is_register(operand.index) || !scaled) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ZydisDecoder decoder;
  static const bool ready = ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT];
  // The heap decodes what the processor has just executed: only valid instructions.
  if (!ready || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, data, size, &instruction, all))) return -1;
  if (is_knights_corner(instruction)) return -1;
  uint8_t* code = guarded_page() + kPage - instruction.length;
  memcpy(code, data, instruction.length);
  check(decode_operands(code));
  return 0;
}
