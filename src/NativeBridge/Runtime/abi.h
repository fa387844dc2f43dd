// What compiled code and the runtime agree on. The compiler includes this file too: nothing here may need the runtime.
//
// A handle is a 64-bit value in the place of a pointer:
//
//   bit 63     1: this is a handle, not an address
//   bits 62-32 its id; the id's entry is the word at kTableBase + (handle >> 32) * 8
//   bits 31-0  an offset: address = handle + entry
//
// The table has a word for the high half of every 64-bit value. It is zero for all that are no live handle, so that a translation needs no test:
// value + word is the address of a handle's byte, and anything else as it was. The words of values without bit 63 are never written.
//
// An object's first byte does not have offset 0 but its id's origin, 256 to 512 MB, and the entry is that much lower. So pointers that leave
// their object by less than 256 MB in either direction, as C programs make them, keep their id; and the low bits differ from object to object,
// which hash functions of 32-bit code rely on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::bridge {

inline constexpr uint64_t kHandleBit = uint64_t{1} << 63;
inline constexpr uint32_t kIdBits = 31;
inline constexpr uint64_t kIdLimit = uint64_t{1} << kIdBits;
// Fits into the displacement of an instruction. What is below stays unmapped, so that null pointers fault; programs at fixed addresses begin at 2 MB.
inline constexpr uint64_t kTableBase = uint64_t{1} << 20;
inline constexpr uint64_t kTableAddress = kTableBase + kIdLimit * 8;  // of the ids' entries
// The words of all addresses that a process can have. They have to be there; those above are read only for values that are no pointers.
inline constexpr uint64_t kAddressWords = (uint64_t{1} << 47 >> 32) * 8;
// Ids from here on look like kernel addresses (bits 47 to 62 set), or like the error values (void*)-1 that C uses. They are never given out.
inline constexpr uint32_t kFirstReservedId = 0x7fff8000;
inline constexpr uint64_t kOriginFloor = uint64_t{1} << 28;
// Bytes: an object that is larger is plain memory, so that every offset fits into 32 bits with 256 MB to spare.
inline constexpr uint64_t kLargestObject = (uint64_t{1} << 32) - 3 * kOriginFloor;

// The first eight bytes of each compiled function that others can reach: an instruction that does nothing, with a number in it. A call through
// a pointer looks for the number to know whether the callee takes handles.
inline constexpr uint64_t kCompiledMark = 0x44'4c'48'46'00'84'1f'0fULL;  // nopl 0x444c4846(%rax,%rax,1)
inline constexpr uint32_t kCompiledMarkHigh = kCompiledMark >> 32;

// The word of a thread that compiled code tests: __freehold_thread, thread-local.
struct ThreadWord {
  uint32_t stop;     // written by whoever stops the threads: go to __freehold_poll
  uint32_t outside;  // written by the thread: it runs code that was not compiled with handles, or waits
};
static_assert(sizeof(ThreadWord) == 8);

// Handles whose objects stay where they are while the record is linked: those that a call passes on as addresses, or those that a loop has
// translated when it is stopped. Lives in the frame that links it; only that frame reads it, and the functions of the runtime that it calls.
struct PinRecord {
  uint64_t count;  // above the lower half: what the runtime notes during a call
  uint32_t named() const noexcept { return static_cast<uint32_t>(count); }
  // Behind it: so many words, each null, an address or a handle.
  void** handles() noexcept { return reinterpret_cast<void**>(this + 1); }
  void* const* handles() const noexcept { return reinterpret_cast<void* const*>(this + 1); }
};
static_assert(sizeof(PinRecord) == 8);

}  // namespace freehold::bridge
