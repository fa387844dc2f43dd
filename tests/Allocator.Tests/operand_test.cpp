// The decoder of memory operands beside Zydis: over the code of this program and the libraries it runs with, and over random bytes.
#include <gtest/gtest.h>

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "Platform/operand.h"

namespace {

using freehold::os::decode_operands;
using freehold::os::Operand;
using freehold::os::Operands;

int8_t number_of(ZydisRegister name) { return name == ZYDIS_REGISTER_NONE ? Operand::kNone : static_cast<int8_t>(ZydisRegisterGetId(name)); }

struct Comparison {
  ZydisDecoder decoder;
  size_t instructions = 0, operands = 0, compressed = 0;

  Comparison() { ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }

  // The length of the instruction at `code`, at least 1.
  size_t compare(const uint8_t* code, size_t size) {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &instruction, all))) return 1;
    bool coprocessor =
        (instruction.meta.isa_ext >= ZYDIS_ISA_EXT_KNC && instruction.meta.isa_ext <= ZYDIS_ISA_EXT_KNCV) || instruction.meta.isa_ext == ZYDIS_ISA_EXT_PADLOCK;
    if (coprocessor || instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX) return instruction.length;  // of other processors
    instructions++;
    Operand wanted[ZYDIS_MAX_OPERAND_COUNT];
    bool broadcast_or_scaled[ZYDIS_MAX_OPERAND_COUNT] = {};
    size_t count = 0;
    bool unused = false;  // an address that nothing is accessed at: lea, nop
    for (size_t i = 0; i < instruction.operand_count; i++) {
      const ZydisDecodedOperand& operand = all[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
      if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) {
        unused = true;
        continue;
      }
      if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS || instruction.address_width != 64) continue;
      if (operand.mem.base == ZYDIS_REGISTER_RIP || instruction.mnemonic == ZYDIS_MNEMONIC_XLAT) continue;
      if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && operand.mem.base == ZYDIS_REGISTER_RSP) continue;
      wanted[count] = {number_of(operand.mem.base), number_of(operand.mem.index), operand.mem.scale == 0 ? uint8_t{1} : operand.mem.scale, false,
                       operand.mem.disp.value};
      broadcast_or_scaled[count] = instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && instruction.raw.modrm.mod == 1;
      count++;
    }
    // Implicit operands that no compiler emits: enclave and shadow stack instructions, those with an address in rax.
    bool hidden = false;
    for (size_t i = 0; i < instruction.operand_count; i++) {
      const ZydisDecodedOperand& operand = all[i];
      if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && operand.mem.base != ZYDIS_REGISTER_RSP &&
          operand.mem.base != ZYDIS_REGISTER_RSI && operand.mem.base != ZYDIS_REGISTER_RDI) {
        hidden = true;
      }
    }
    if (hidden || unused) return instruction.length;
    Operands got = decode_operands(code);
    std::string bytes;
    for (size_t i = 0; i < instruction.length; i++) bytes += "0123456789abcdef"[code[i] >> 4], bytes += "0123456789abcdef"[code[i] & 15];
    EXPECT_EQ(got.count, count) << ZydisMnemonicGetString(instruction.mnemonic) << " " << bytes;
    if (got.count != count) return instruction.length;
    if (count == 2 && got.operand[0].base != wanted[0].base) std::swap(wanted[0], wanted[1]);  // an order of no importance
    for (size_t i = 0; i < count; i++) {
      operands++;
      EXPECT_EQ(got.operand[i].base, wanted[i].base) << bytes;
      EXPECT_EQ(got.operand[i].index, wanted[i].index) << bytes;
      EXPECT_EQ(got.operand[i].scale, wanted[i].index == Operand::kNone ? 1 : wanted[i].scale) << bytes;
      EXPECT_EQ(got.operand[i].compressed, broadcast_or_scaled[i]) << bytes;
      if (got.operand[i].compressed) {
        compressed++;
        int64_t element = got.operand[i].displacement == 0 ? 1 : wanted[i].displacement / got.operand[i].displacement;
        EXPECT_TRUE(element >= 1 && element <= 64 && (element & (element - 1)) == 0 && got.operand[i].displacement * element == wanted[i].displacement)
            << bytes;
      } else {
        EXPECT_EQ(got.operand[i].displacement, wanted[i].displacement) << bytes;
      }
    }
    return instruction.length;
  }

  void compare_all(const uint8_t* code, size_t size) {
    for (size_t at = 0; at < size && !testing::Test::HasFailure();) at += compare(code + at, size - at);
  }
};

// Every file mapped into this process as code: the program itself, libc, libstdc++, libgtest, Zydis.
TEST(Operand, AgreesWithZydisOnWholeLibraries) {
  Comparison comparison;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
            static_cast<Comparison*>(argument)->compare_all(reinterpret_cast<const uint8_t*>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
          }
        }
        return 0;
      },
      &comparison);
  printf("%zu instructions, %zu memory operands, %zu of them with a compressed displacement\n", comparison.instructions, comparison.operands,
         comparison.compressed);
  EXPECT_GT(comparison.operands, 100000u);
}

// A published program, when one is named: FREEHOLD_OPERAND_TEST=path.
TEST(Operand, AgreesWithZydisOnAProgram) {
  const char* path = getenv("FREEHOLD_OPERAND_TEST");
  if (path == nullptr) GTEST_SKIP() << "FREEHOLD_OPERAND_TEST names no program";
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  struct stat status;
  fstat(file, &status);
  auto* image = static_cast<const uint8_t*>(mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0));
  close(file);
  ASSERT_NE(image, MAP_FAILED);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  Comparison comparison;
  for (int i = 0; i < header->e_shnum; i++) {
    if ((sections[i].sh_flags & SHF_EXECINSTR) != 0 && sections[i].sh_type == SHT_PROGBITS)
      comparison.compare_all(image + sections[i].sh_offset, sections[i].sh_size);
  }
  printf("%zu instructions, %zu memory operands, %zu of them with a compressed displacement\n", comparison.instructions, comparison.operands,
         comparison.compressed);
  EXPECT_GT(comparison.operands, 0u);
}

TEST(Operand, AgreesWithZydisOnRandomBytes) {
  Comparison comparison;
  std::mt19937_64 random(20260119);
  uint8_t code[32];
  for (int i = 0; i < 4'000'000 && !HasFailure(); i++) {
    for (size_t at = 0; at < sizeof code; at += 8) {
      uint64_t word = random();
      memcpy(code + at, &word, 8);
    }
    // Most instructions begin with an escape or a prefix: more of these than chance gives.
    constexpr uint8_t kStarts[] = {0x0f, 0x62, 0xc4, 0xc5, 0x48, 0x4f, 0x66, 0xf3, 0x8f, 0x41};
    if (i % 4 != 0) code[0] = kStarts[static_cast<size_t>(i) / 4 % sizeof kStarts];
    if (code[0] == 0x62 && i % 3 != 0) {  // the fixed bits of EVEX, no mask, no third register, a short displacement
      code[1] = static_cast<uint8_t>((code[1] & 0xf0) | (1 + code[1] % 3));
      code[2] |= 0x7c;
      code[3] = static_cast<uint8_t>((code[3] & 0x70) | 8);
      code[5] = static_cast<uint8_t>((code[5] & 0x3f) | 0x40);
    }
    comparison.compare(code, sizeof code);
  }
  printf("%zu instructions, %zu memory operands, %zu of them with a compressed displacement\n", comparison.instructions, comparison.operands,
         comparison.compressed);
  EXPECT_GT(comparison.compressed, 5000u);
}

TEST(Operand, StaysInsideTheInstruction) {
  auto* pages = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + 4096, 4096, PROT_NONE);
  const std::vector<uint8_t> codes[] = {{0xc3},
                                        {0x8b, 0x07},
                                        {0x48, 0x8b, 0x47, 0x08},
                                        {0x4a, 0x8b, 0x84, 0xc8, 1, 2, 3, 4},
                                        {0xc5, 0xf8, 0x77},
                                        {0xf3, 0x48, 0xa5},
                                        {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x41, 0x01}};
  const int counts[] = {0, 1, 1, 1, 0, 2, 1};
  for (size_t i = 0; i < std::size(codes); i++) {
    uint8_t* at = pages + 4096 - codes[i].size();
    memcpy(at, codes[i].data(), codes[i].size());
    EXPECT_EQ(decode_operands(at).count, counts[i]);
  }
  munmap(pages, 8192);
}

}  // namespace
