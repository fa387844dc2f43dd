// For functions of the runtime that call the C library for compiled code, which is inside.
#pragma once

#include <errno.h>

#include "handle_table.h"
#include "os.h"
#include "runtime.h"

namespace freehold::bridge {

template <typename T>
inline T* address(T* pointer) noexcept {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
}

// The handle of a byte of the same object as `handle`, given its address.
template <typename T>
inline T* same_object(const T* handle, const T* start, T* found) noexcept {
  if (found == nullptr) return nullptr;
  return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(handle) + (reinterpret_cast<uint64_t>(found) - reinterpret_cast<uint64_t>(start)));
}

// Objects that stay in place for a call that may wait. `count` handles at most.
class OutCall {
 public:
  explicit OutCall(size_t most) noexcept : record_(static_cast<PinRecord*>(most <= kInPlace ? static_cast<void*>(space_) : memory_for(most))) {
    if (record_ != nullptr) record_->count = 0;
  }
  ~OutCall() {
    if (size_ != 0 && record_ != nullptr) os::unmap(record_, size_);
  }
  OutCall(const OutCall&) = delete;
  OutCall& operator=(const OutCall&) = delete;
  bool has_memory() const noexcept { return record_ != nullptr; }

  template <typename T>
  T* pin(T* pointer) noexcept {
    void** slot = &record_->handles()[record_->count++];
    return static_cast<T*>(__freehold_pin(const_cast<void*>(static_cast<const void*>(pointer)), slot));
  }
  template <typename Call>
  auto run(Call call) noexcept {
    __freehold_call_out(record_);
    auto result = call();
    int saved = errno;
    __freehold_call_back(record_);
    errno = saved;
    return result;
  }

 private:
  static constexpr size_t kInPlace = 40;
  void* memory_for(size_t most) noexcept {
    size_ = (sizeof(PinRecord) + most * sizeof(void*) + os::kPageSize - 1) & ~(os::kPageSize - 1);
    return os::map(size_);
  }
  size_t size_ = 0;
  alignas(8) uint8_t space_[sizeof(PinRecord) + kInPlace * sizeof(void*)];
  PinRecord* record_;
};

}  // namespace freehold::bridge
