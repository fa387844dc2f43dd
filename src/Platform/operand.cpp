// Opcode maps: Intel SDM volume 2, appendix A; encodings: chapter 2.
#include "Platform/operand.h"

#include <cstring>

#include "Platform/one_for_all.h"
namespace freehold::os {

namespace {

constexpr int8_t kRsi = 6, kRdi = 7;

// Opcodes by map, one bit each.
struct OpcodeSet {
  uint64_t bits[4];
  constexpr bool has(uint8_t opcode) const { return (bits[opcode / 64] >> (opcode % 64) & 1) != 0; }
};

struct Range {
  uint8_t first, last;
};

template <size_t kCount>
constexpr OpcodeSet set_of(const Range (&ranges)[kCount]) {
  OpcodeSet set = {};
  for (const Range& range : ranges) {
    for (int opcode = range.first; opcode <= range.last; opcode++) set.bits[opcode / 64] |= uint64_t{1} << (opcode % 64);
  }
  return set;
}

// With a ModRM byte, in the one-byte map. c4, c5, 62 and 8f are dealt with before.
constexpr Range kOneByteRanges[] = {
    {0x00, 0x03}, {0x08, 0x0b}, {0x10, 0x13}, {0x18, 0x1b}, {0x20, 0x23}, {0x28, 0x2b}, {0x30, 0x33}, {0x38, 0x3b}, {0x63, 0x63},
    {0x69, 0x69}, {0x6b, 0x6b}, {0x80, 0x8f}, {0xc0, 0xc1}, {0xc6, 0xc7}, {0xd0, 0xd3}, {0xd8, 0xdf}, {0xf6, 0xf7}, {0xfe, 0xff},
};
// Without a ModRM byte, in the two-byte map; 20 to 23 (control registers) have one that is never memory.
constexpr Range kTwoByteWithoutRanges[] = {
    {0x04, 0x0c}, {0x0e, 0x0e}, {0x20, 0x27}, {0x30, 0x37}, {0x77, 0x77}, {0x80, 0x8f}, {0xa0, 0xa2}, {0xa6, 0xaa}, {0xc8, 0xcf},
};
constexpr OpcodeSet kOneByte = set_of(kOneByteRanges), kTwoByteWithout = set_of(kTwoByteWithoutRanges);

struct Prefixes {
  uint8_t rex = 0;       // W R X B
  bool segment = false;  // fs or gs
  bool narrow = false;   // addresses of 32 bits
};

Operand through(int8_t base) noexcept { return {base, Operand::kNone, 1, false, 0}; }
Operands none() noexcept { return {}; }
Operands one(Operand operand) noexcept { return {1, {operand, {}}}; }

template <typename Integer>
int64_t read(const uint8_t* code) noexcept {
  Integer value;
  memcpy(&value, code, sizeof value);
  return value;
}

// What ModRM, at `code`, says. `x` and `b` extend index and base.
Operands decode_modrm(const uint8_t* code, uint8_t x, uint8_t b, bool compressed) noexcept {
  uint8_t mod = *code >> 6, rm = *code & 7;
  code++;
  if (mod == 3) return none();
  Operand operand = {static_cast<int8_t>(rm | b << 3), Operand::kNone, 1, compressed && mod == 1, 0};
  if (rm == 4) {
    uint8_t sib = *code++;
    operand.base = static_cast<int8_t>((sib & 7) | b << 3);
    operand.index = static_cast<int8_t>((sib >> 3 & 7) | x << 3);
    operand.scale = static_cast<uint8_t>(1 << (sib >> 6));
    if (operand.index == 4) {
      operand.index = Operand::kNone;
      operand.scale = 1;
    }
    if ((sib & 7) == 5 && mod == 0) {
      operand.base = Operand::kNone;
      operand.displacement = read<int32_t>(code);
      return one(operand);
    }
  } else if (rm == 5 && mod == 0) {
    return none();  // rip
  }
  if (mod == 1) operand.displacement = read<int8_t>(code);
  if (mod == 2) operand.displacement = read<int32_t>(code);
  return one(operand);
}

Operands decode_two_byte(const uint8_t* code, const Prefixes& prefixes) noexcept {
  uint8_t opcode = *code++, x = prefixes.rex >> 1 & 1, b = prefixes.rex & 1;
  if (opcode == 0x38 || opcode == 0x3a) return decode_modrm(code + 1, x, b, false);
  if (opcode == 0xf7 && *code >> 6 == 3) return one(through(kRdi));  // maskmovq, maskmovdqu
  if (kTwoByteWithout.has(opcode)) return none();
  return decode_modrm(code, x, b, false);
}

// VEX and XOP, behind their first byte; all opcodes have a ModRM byte but vzeroupper.
Operands decode_vex(const uint8_t* code, bool two_bytes) noexcept {
  uint8_t map = 1, x = 0, b = 0;
  if (!two_bytes) {
    uint8_t first = *code++;
    map = first & 31;
    x = (~first >> 6) & 1;
    b = (~first >> 5) & 1;
  }
  code++;
  uint8_t opcode = *code++;
  if (map == 1 && opcode == 0x77) return none();
  if (map == 1 && opcode == 0xf7 && *code >> 6 == 3) return one(through(kRdi));           // vmaskmovdqu
  if (map == 2 && ((opcode >= 0x90 && opcode <= 0x93) || opcode == 0x4b)) return none();  // gathers, tiles
  return decode_modrm(code, x, b, false);
}

Operands decode_evex(const uint8_t* code) noexcept {
  uint8_t first = *code, map = first & 7, x = (~first >> 6) & 1, b = (~first >> 5) & 1, opcode = code[3];
  if (map == 2 && ((opcode >= 0x90 && opcode <= 0x93) || (opcode >= 0xa0 && opcode <= 0xa3) || opcode == 0xc6 || opcode == 0xc7)) return none();
  return decode_modrm(code + 4, x, b, true);
}

}  // namespace

FREEHOLD_ONE_FOR_ALL Operands decode_operands(const uint8_t* code) noexcept {
  Prefixes prefixes;
  for (;; code++) {
    switch (*code) {
      case 0x64:
      case 0x65:
        prefixes.segment = true;
        prefixes.rex = 0;
        continue;
      case 0x67:
        prefixes.narrow = true;
        prefixes.rex = 0;
        continue;
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x66:
      case 0xf0:
      case 0xf2:
      case 0xf3: prefixes.rex = 0; continue;
      default: break;
    }
    if ((*code & 0xf0) != 0x40) break;
    prefixes.rex = *code & 15;
  }
  if (prefixes.narrow) return none();
  uint8_t opcode = *code++;
  // fs and gs are the source's, never that of rdi.
  if (opcode == 0x6c || opcode == 0x6d || opcode == 0xaa || opcode == 0xab || opcode == 0xae || opcode == 0xaf) return one(through(kRdi));  // ins, stos, scas
  bool two = opcode >= 0xa4 && opcode <= 0xa7;                                                                                              // movs, cmps
  if (prefixes.segment) return two ? one(through(kRdi)) : none();
  if (two) return {2, {through(kRsi), through(kRdi)}};
  switch (opcode) {
    case 0x0f: return decode_two_byte(code, prefixes);
    case 0x62: return decode_evex(code);
    case 0xc4: return decode_vex(code, false);
    case 0xc5: return decode_vex(code, true);
    case 0x8f:
      if ((*code & 31) >= 8) return decode_vex(code, false);  // XOP; below, it is pop
      break;
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa3: return one({Operand::kNone, Operand::kNone, 1, false, read<int64_t>(code)});
    case 0x6e:
    case 0x6f:
    case 0xac:
    case 0xad: return one(through(kRsi));  // outs, lods
    default: break;
  }
  if (!kOneByte.has(opcode)) return none();
  return decode_modrm(code, prefixes.rex >> 1 & 1, prefixes.rex & 1, false);
}

}  // namespace freehold::os
