// Encodings: Intel SDM volume 2, chapter 2 and the pages of the instructions; the areas of a context: volume 1, chapter 13.
#include "moves.h"

#include <cpuid.h>
#include <string.h>

namespace freehold::bridge {

namespace {

// As VEX numbers them.
enum Prefix : uint8_t { kNone, k66, kF3, kF2 };

struct Prefixes {
  bool has_66 = false, has_f3 = false, has_f2 = false;
  uint8_t rex = 0;  // W R X B, and 0x40 if there is one
  bool is_vex = false, is_256 = false;
  Prefix of_vector() const noexcept { return has_f2 ? kF2 : has_f3 ? kF3 : has_66 ? k66 : kNone; }
  bool wide() const noexcept { return (rex & 8) != 0; }
};

template <typename Integer>
int64_t read(const uint8_t* from) noexcept {
  Integer value;
  memcpy(&value, from, sizeof value);
  return value;
}

// Of ModRM, SIB and displacement. 0: a register.
unsigned operand_length(const uint8_t* modrm) noexcept {
  uint8_t mod = *modrm >> 6, rm = *modrm & 7;
  if (mod == 3) return 0;
  unsigned length = 1;
  bool no_base = rm == 5;
  if (rm == 4) {
    no_base = (modrm[1] & 7) == 5;
    length++;
  }
  return length + (mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0);
}

// The opcodes of the two-byte map that move vectors.
bool decode_vector(uint8_t opcode, const Prefixes& prefixes, Move* move) noexcept {
  Prefix prefix = prefixes.of_vector();
  uint8_t whole = prefixes.is_256 ? 32 : 16;
  auto is = [&](Move::Kind kind, uint8_t size) {
    move->kind = kind;
    move->size = size;
    move->clears_above = prefixes.is_vex;
    // Those of scalars have one length.
    return size >= 16 || !prefixes.is_256;
  };
  switch (opcode) {
    case 0x10:
    case 0x11: return is(opcode == 0x10 ? Move::kLoadVector : Move::kStoreVector, prefix == kF3 ? 4 : prefix == kF2 ? 8 : whole);
    case 0x28:
    case 0x29:
    case 0x2b: return prefix <= k66 && is(opcode == 0x28 ? Move::kLoadVector : Move::kStoreVector, whole);
    case 0x6f:
    case 0x7f: return (prefix == k66 || prefix == kF3) && is(opcode == 0x6f ? Move::kLoadVector : Move::kStoreVector, whole);
    case 0xe7: return prefix == k66 && is(Move::kStoreVector, whole);
    case 0xf0: return prefix == kF2 && is(Move::kLoadVector, whole);
    case 0x6e: return prefix == k66 && is(Move::kLoadVector, prefixes.wide() ? 8 : 4);
    case 0x7e:
      if (prefix == kF3) return is(Move::kLoadVector, 8);
      return prefix == k66 && is(Move::kStoreVector, prefixes.wide() ? 8 : 4);
    case 0xd6: return prefix == k66 && is(Move::kStoreVector, 8);
    case 0x12:
    case 0x16:
      // With VEX they have a second source.
      move->merges = true;
      move->first = opcode == 0x16 ? 8 : 0;
      return prefix <= k66 && !prefixes.is_vex && is(Move::kLoadVector, 8);
    case 0x13:
    case 0x17: move->first = opcode == 0x17 ? 8 : 0; return prefix <= k66 && is(Move::kStoreVector, 8);
    default: return false;
  }
}

// The opcodes of the two-byte map that move general registers.
bool decode_extension(uint8_t opcode, const Prefixes& prefixes, Move* move) noexcept {
  if (prefixes.has_f2 || prefixes.has_f3) return false;
  if (opcode == 0xc3 && !prefixes.has_66) {
    move->kind = Move::kStore;
    move->size = prefixes.wide() ? 8 : 4;
    return true;
  }
  if (opcode != 0xb6 && opcode != 0xb7 && opcode != 0xbe && opcode != 0xbf) return false;
  move->kind = Move::kLoad;
  move->size = (opcode & 1) == 0 ? 1 : 2;
  move->width = prefixes.wide() ? 8 : prefixes.has_66 ? 2 : 4;
  move->is_signed = opcode >= 0xbe;
  return true;
}

bool decode_one_byte(uint8_t opcode, const uint8_t* modrm, const Prefixes& prefixes, Move* move) noexcept {
  if (prefixes.has_f2 || prefixes.has_f3) return false;
  uint8_t size = prefixes.wide() ? 8 : prefixes.has_66 ? 2 : 4;
  bool has_rex = prefixes.rex != 0;
  switch (opcode) {
    case 0x88:
    case 0x8a:
    case 0xc6: size = 1; break;
    case 0x89:
    case 0x8b:
    case 0xc7: break;
    case 0x63:
      move->kind = Move::kLoad;
      move->size = 4;
      move->width = 8;
      move->is_signed = true;
      return prefixes.wide();
    default: return false;
  }
  move->size = move->width = size;
  if (opcode >= 0xc6) {
    if ((*modrm >> 3 & 7) != 0) return false;
    const uint8_t* immediate = modrm + operand_length(modrm);
    move->kind = Move::kStoreImmediate;
    move->immediate = size == 1 ? read<int8_t>(immediate) : size == 2 ? read<int16_t>(immediate) : read<int32_t>(immediate);
    move->length = size == 1 ? 1 : size == 2 ? 2 : 4;  // so far
    return true;
  }
  move->kind = opcode >= 0x8a ? Move::kLoad : Move::kStore;
  move->is_high = size == 1 && !has_rex && (*modrm >> 3 & 7) >= 4;
  return true;
}

// Offsets in an extended context. 0: the processor has no such registers.
uint32_t upper_halves = 0, upper_quarters = 0;  // of ymm0 to ymm15, of zmm0 to zmm15

constexpr uint64_t kSse = 1 << 1, kAvx = 1 << 2, kAvx512 = 1 << 6;
constexpr uint32_t kExtended = 0x46505853;  // FP_XSTATE_MAGIC1

// The vectors of a context: the kernel's frame is the processor's XSAVE area, with its own words in the gap of the first 512 bytes. A part whose bit in the header is not set
// is all zeroes, whatever its bytes are.
class Vectors {
 public:
  explicit Vectors(ucontext_t* context) noexcept : area_(reinterpret_cast<uint8_t*>(context->uc_mcontext.fpregs)) {
    if (area_ == nullptr) return;
    is_extended_ = static_cast<uint32_t>(read<uint32_t>(area_ + 464)) == kExtended;
    if (is_extended_) there_ = static_cast<uint64_t>(read<uint64_t>(area_ + 472));
  }

  bool is_there() const noexcept { return area_ != nullptr; }
  bool has_upper_halves() const noexcept { return is_extended_ && (there_ & kAvx) != 0 && upper_halves != 0; }

  // 16 bytes, to read or to write.
  uint8_t* lower(unsigned number) noexcept { return part(kSse, 160, 256) + size_t{number} * 16; }
  uint8_t* upper(unsigned number) noexcept { return part(kAvx, upper_halves, 256) + size_t{number} * 16; }
  void clear_above_16(unsigned number) noexcept {
    if (!is_extended_) return;
    if (is_used(kAvx) && upper_halves != 0) memset(area_ + upper_halves + size_t{number} * 16, 0, 16);
    clear_above_32(number);
  }
  void clear_above_32(unsigned number) noexcept {
    if (is_used(kAvx512) && upper_quarters != 0) memset(area_ + upper_quarters + size_t{number} * 32, 0, 32);
  }

 private:
  uint64_t header() const noexcept { return static_cast<uint64_t>(read<uint64_t>(area_ + 512)); }
  bool is_used(uint64_t bit) const noexcept { return (header() & there_ & bit) != 0; }
  uint8_t* part(uint64_t bit, uint32_t offset, size_t size) noexcept {
    if (is_extended_ && (header() & bit) == 0) {
      memset(area_ + offset, 0, size);
      uint64_t changed = header() | bit;
      memcpy(area_ + 512, &changed, sizeof changed);
    }
    return area_ + offset;
  }

  uint8_t* area_;
  bool is_extended_ = false;
  uint64_t there_ = 0;  // the parts that the frame has
};

// In one access where the processor makes one: another thread may use the same word.
template <typename Integer>
Integer load(uintptr_t address) noexcept {
  struct __attribute__((packed, may_alias)) Unaligned {
    Integer value;
  };
  return reinterpret_cast<const volatile Unaligned*>(address)->value;
}
template <typename Integer>
void store(uintptr_t address, uint64_t value) noexcept {
  struct __attribute__((packed, may_alias)) Unaligned {
    Integer value;
  };
  reinterpret_cast<volatile Unaligned*>(address)->value = static_cast<Integer>(value);
}

uint64_t load(uintptr_t address, unsigned size) noexcept {
  switch (size) {
    case 1: return load<uint8_t>(address);
    case 2: return load<uint16_t>(address);
    case 4: return load<uint32_t>(address);
    default: return load<uint64_t>(address);
  }
}
void store(uintptr_t address, unsigned size, uint64_t value) noexcept {
  switch (size) {
    case 1: return store<uint8_t>(address, value);
    case 2: return store<uint16_t>(address, value);
    case 4: return store<uint32_t>(address, value);
    default: return store<uint64_t>(address, value);
  }
}

uint64_t extended(uint64_t value, unsigned size) noexcept {
  unsigned shift = 64 - size * 8;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

void load_general(const Move& move, uintptr_t address, ucontext_t* context) noexcept {
  uint64_t value = load(address, move.size);
  if (move.is_signed) value = extended(value, move.size);
  greg_t* place = &context->uc_mcontext.gregs[kPlaces[move.is_high ? move.number - 4 : move.number]];
  auto before = static_cast<uint64_t>(*place);
  uint64_t mask = move.width == 8 || move.width == 4 ? ~uint64_t{0} : (uint64_t{1} << move.width * 8) - 1;
  if (move.width == 4) value = static_cast<uint32_t>(value);
  unsigned shift = move.is_high ? 8 : 0;
  *place = static_cast<greg_t>((before & ~(mask << shift)) | (value & mask) << shift);
}

using Half __attribute__((vector_size(16), aligned(1), may_alias)) = uint8_t;

bool load_vector(const Move& move, uintptr_t address, Vectors& vectors) noexcept {
  if (move.size == 32 && !vectors.has_upper_halves()) return false;
  uint8_t* lower = vectors.lower(move.number);
  if (move.size >= 16) {
    *reinterpret_cast<Half*>(lower) = *reinterpret_cast<const volatile Half*>(address);
  } else {
    uint64_t value = load(address, move.size);
    if (!move.merges) memset(lower, 0, 16);
    memcpy(lower + move.first, &value, 8);
  }
  if (move.size == 32) {
    *reinterpret_cast<Half*>(vectors.upper(move.number)) = *reinterpret_cast<const volatile Half*>(address + 16);
    vectors.clear_above_32(move.number);
  } else if (move.clears_above) {
    vectors.clear_above_16(move.number);
  }
  return true;
}

bool store_vector(const Move& move, uintptr_t address, Vectors& vectors) noexcept {
  if (move.size == 32 && !vectors.has_upper_halves()) return false;
  const uint8_t* lower = vectors.lower(move.number);
  if (move.size >= 16) {
    *reinterpret_cast<volatile Half*>(address) = *reinterpret_cast<const Half*>(lower);
  } else {
    uint64_t value;
    memcpy(&value, lower + move.first, 8);
    store(address, move.size, value);
  }
  if (move.size == 32) *reinterpret_cast<volatile Half*>(address + 16) = *reinterpret_cast<const Half*>(vectors.upper(move.number));
  return true;
}

}  // namespace

void find_vectors() noexcept {
  uint32_t size, offset, rest, other;
  if (__get_cpuid_count(13, 2, &size, &offset, &rest, &other) != 0 && size >= 256) upper_halves = offset;
  if (__get_cpuid_count(13, 6, &size, &offset, &rest, &other) != 0 && size >= 512) upper_quarters = offset;
}

bool decode_move(const uint8_t* code, Move* move) noexcept {
  Prefixes prefixes;
  const uint8_t* at = code;
  for (;; at++) {
    if (*at == 0x66) prefixes.has_66 = true;
    else if (*at == 0xf3) prefixes.has_f3 = true;
    else if (*at == 0xf2) prefixes.has_f2 = true;
    else if (*at != 0x26 && *at != 0x2e && *at != 0x36 && *at != 0x3e) break;
    if (at - code > 8) return false;
  }
  bool has_prefix = at != code;
  if (prefixes.has_f3 && prefixes.has_f2) return false;
  if ((*at & 0xf0) == 0x40) prefixes.rex = *at++;
  *move = {};
  uint8_t opcode;
  bool is_two_byte = true;
  if (*at == 0xc4 || *at == 0xc5) {
    if (has_prefix || prefixes.rex != 0) return false;
    prefixes.is_vex = true;
    bool is_long = *at == 0xc4;
    uint8_t first = at[1], last = is_long ? at[2] : first;
    // Map 1, and no second source.
    if ((is_long && (first & 31) != 1) || (last & 0x78) != 0x78) return false;
    prefixes.rex = static_cast<uint8_t>(0x40 | ((first & 0x80) == 0 ? 4 : 0) | (is_long && (last & 0x80) != 0 ? 8 : 0));
    prefixes.is_256 = (last & 4) != 0;
    prefixes.has_66 = (last & 3) == k66;
    prefixes.has_f3 = (last & 3) == kF3;
    prefixes.has_f2 = (last & 3) == kF2;
    at += is_long ? 3 : 2;
    opcode = *at++;
  } else if (*at == 0x0f) {
    opcode = at[1];
    at += 2;
  } else {
    is_two_byte = false;
    opcode = *at++;
  }
  const uint8_t* modrm = at;
  // Only then is there a ModRM byte for sure.
  bool is_one = is_two_byte ? decode_vector(opcode, prefixes, move) || (!prefixes.is_vex && decode_extension(opcode, prefixes, move))
                            : decode_one_byte(opcode, modrm, prefixes, move);
  if (!is_one) return false;
  unsigned length = operand_length(modrm);
  freehold::os::Operands operands = freehold::os::decode_operands(code);
  if (length == 0 || operands.count != 1) return false;
  move->operand = operands.operand[0];
  move->number = static_cast<uint8_t>((*modrm >> 3 & 7) | ((prefixes.rex & 4) != 0 ? 8 : 0));
  move->length = static_cast<uint8_t>(static_cast<unsigned>(modrm - code) + length + move->length);
  return move->length <= 15;
}

bool perform(const Move& move, uintptr_t address, ucontext_t* context) noexcept {
  greg_t* registers = context->uc_mcontext.gregs;
  switch (move.kind) {
    case Move::kLoad: load_general(move, address, context); break;
    case Move::kStore:
      store(address, move.size, static_cast<uint64_t>(registers[kPlaces[move.is_high ? move.number - 4 : move.number]]) >> (move.is_high ? 8 : 0));
      break;
    case Move::kStoreImmediate: store(address, move.size, static_cast<uint64_t>(move.immediate)); break;
    default: {
      Vectors vectors(context);
      if (!vectors.is_there()) return false;
      if (!(move.kind == Move::kLoadVector ? load_vector(move, address, vectors) : store_vector(move, address, vectors))) return false;
    }
  }
  registers[REG_RIP] += move.length;
  // The processor has set it for the instruction that faulted, and clears it behind one.
  registers[REG_EFL] &= ~greg_t{0x10000};
  return true;
}

}  // namespace freehold::bridge
