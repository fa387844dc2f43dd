// Encodings: Intel SDM volume 2, chapter 2. Those with a VEX or EVEX prefix have vectors as data, but for a few that nobody gives pointers.
#include "rebased.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os.h"

namespace freehold::bridge {

namespace {

constexpr uint8_t kRexB = 1, kRexX = 2, kRexR = 4;

// The bytes behind the instruction may be in a page that is not there.
void copy_code(const uint8_t* code, uint8_t* copy) noexcept {
  size_t here = os::kPageSize - (reinterpret_cast<uintptr_t>(code) & (os::kPageSize - 1));
  if (here > kLongestInstruction) here = kLongestInstruction;
  memcpy(copy, code, here);
  if (here == kLongestInstruction) return;
  iovec to = {copy + here, kLongestInstruction - here}, from = {const_cast<uint8_t*>(code) + here, kLongestInstruction - here};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0) memset(copy + here, 0x90, kLongestInstruction - here);
}

bool is_prefix(uint8_t byte) noexcept {
  return byte == 0x66 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
         byte == 0x65;
}

}  // namespace

int rebase(const uint8_t* code, int8_t address_register, uint8_t* copy) noexcept {
  copy_code(code, copy);
  uint8_t* at = copy;
  while (at < copy + 8 && is_prefix(*at)) at++;
  uint8_t* rex = (*at & 0xf0) == 0x40 ? at++ : nullptr;
  bool is_exchange = false;
  if (*at == 0x0f) {
    at++;
    is_exchange = *at == 0xb0 || *at == 0xb1;  // cmpxchg compares with rax
    if (*at == 0x38) at++;
    else if (*at == 0x3a) return kNotRebased;  // reads or writes parts of vectors
  } else if (*at == 0x62 || *at == 0xc4 || *at == 0xc5 || *at == 0x8f || *at == 0xff || (*at >= 0x6c && *at <= 0x6f) || (*at >= 0xa0 && *at <= 0xaf)) {
    return kNotRebased;  // vectors, pop, calls and jumps, strings
  }
  uint8_t& modrm = *++at;
  if (modrm >> 6 == 3) return kNotRebased;
  uint8_t extension = rex != nullptr ? *rex : 0;
  int data = (modrm >> 3 & 7) | ((extension & kRexR) != 0 ? 8 : 0);
  if (data != address_register && !(is_exchange && address_register == 0)) return kNotRebased;

  bool has_sib = (modrm & 7) == 4;
  uint8_t* sib = has_sib ? at + 1 : nullptr;
  uint8_t& base_byte = has_sib ? *sib : modrm;
  bool has_base = !((base_byte & 7) == 5 && modrm >> 6 == 0);
  int base = (base_byte & 7) | ((extension & kRexB) != 0 ? 8 : 0);
  int index = !has_sib ? -1 : (*sib >> 3 & 7) | ((extension & kRexX) != 0 ? 8 : 0);
  // rsi, rdi or rbx: they are no data of instructions without a ModRM register for them, and have no meaning of their own as a base or index.
  int other = -1;
  for (int candidate : {6, 7, 3}) {
    if (candidate != data && candidate != base && candidate != index) {
      other = candidate;
      break;
    }
  }
  if (other < 0) return kNotRebased;
  if (has_base && base == address_register) {
    base_byte = static_cast<uint8_t>((base_byte & ~7) | other);
    if (rex != nullptr) *rex &= static_cast<uint8_t>(~kRexB);
  }
  if (index == address_register && index != 4) {
    *sib = static_cast<uint8_t>((*sib & ~(7 << 3)) | other << 3);
    if (rex != nullptr) *rex &= static_cast<uint8_t>(~kRexX);
  }
  return other;
}

bool copy_without_alignment(const uint8_t* code, uint8_t* copy) noexcept {
  bool is_evex = *code == 0x62;
  if (!is_evex && *code != 0xc4 && *code != 0xc5) return false;
  copy_code(code, copy);
  // The byte with the map of opcodes, if it is there; the one with the prefix in its lowest bits, which is 1 for 66 and 2 for F3.
  uint8_t* map = *copy == 0xc5 ? nullptr : copy + 1;
  uint8_t* prefix = copy + (map == nullptr ? 1 : 2);
  uint8_t* opcode = prefix + (is_evex ? 2 : 1);
  auto becomes = [&](uint8_t other, uint8_t other_prefix) {
    *opcode = other;
    *prefix = static_cast<uint8_t>((*prefix & ~3) | other_prefix);
    return true;
  };
  unsigned of_map = map == nullptr ? 1 : *map & (is_evex ? 7 : 31), of_prefix = *prefix & 3;
  if (of_map == 2 && of_prefix == 1 && *opcode == 0x2a) {  // vmovntdqa
    *map = static_cast<uint8_t>(*map ^ 3);
    return becomes(0x6f, 2);
  }
  if (of_map != 1) return false;
  switch (*opcode) {
    case 0x28:                                                                              // vmovaps, vmovapd
    case 0x29: return of_prefix <= 1 && becomes(*opcode == 0x28 ? 0x10 : 0x11, of_prefix);  // vmovups, vmovupd
    case 0x2b: return of_prefix <= 1 && becomes(0x11, of_prefix);                           // vmovntps, vmovntpd
    case 0x6f:                                                                              // vmovdqa
    case 0x7f: return of_prefix == 1 && becomes(*opcode, 2);                                // vmovdqu
    case 0xe7: return of_prefix == 1 && becomes(0x7f, 2);                                   // vmovntdq
    default: return false;
  }
}

bool copy_repeated(const uint8_t* code, uint8_t* copy) noexcept {
  constexpr uint8_t kBreakpoint = 0xcc;
  const uint8_t* at = code;
  bool is_repeated = false;
  while (at - code < 8 && is_prefix(*at)) {
    is_repeated |= *at == 0xf2 || *at == 0xf3;
    at++;
  }
  if ((*at & 0xf0) == 0x40) at++;
  bool is_string = (*at >= 0xa4 && *at <= 0xa7) || (*at >= 0xaa && *at <= 0xaf);  // movs, cmps; stos, lods, scas
  if (!is_repeated || !is_string) return false;
  size_t length = static_cast<size_t>(at + 1 - code);
  memcpy(copy, code, length);
  copy[length] = kBreakpoint;
  return true;
}

int8_t base_of_gather(const uint8_t* code) noexcept {
  constexpr int8_t kNone = freehold::os::Operand::kNone;
  bool is_evex = *code == 0x62;
  if (!is_evex && *code != 0xc4) return kNone;
  unsigned map = code[1] & (is_evex ? 7 : 31);
  const uint8_t* at = code + (is_evex ? 4 : 3);
  bool is_gather = *at >= 0x90 && *at <= 0x93, is_scatter = is_evex && *at >= 0xa0 && *at <= 0xa3;
  if (map != 2 || !(is_gather || is_scatter)) return kNone;
  uint8_t modrm = at[1], sib = at[2];
  if (modrm >> 6 == 3 || (modrm & 7) != 4 || ((sib & 7) == 5 && modrm >> 6 == 0)) return kNone;
  return static_cast<int8_t>((sib & 7) | ((code[1] & 0x20) == 0 ? 8 : 0));
}

}  // namespace freehold::bridge
