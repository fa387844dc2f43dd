// Asynchronous input and output. The C library's threads use the block and the buffer after the call, and compare blocks by their addresses: both stay in
// place, and the block has the buffer's address from then on. The compiler calls these instead (Compiler/library.cpp). The caller is inside.
#include <aio.h>
#include <errno.h>

#include "out_call.h"

using namespace freehold::bridge;

namespace {

template <typename T>
T* kept(T* pointer) noexcept {
  void* slot;
  return static_cast<T*>(__freehold_keep(const_cast<void*>(static_cast<const volatile void*>(pointer)), &slot));
}

aiocb* begin(aiocb* block) noexcept {
  if (block == nullptr) return nullptr;
  block = kept(block);
  block->aio_buf = kept(block->aio_buf);
  return block;
}

// `call` gets the list with addresses. Returns -1 without memory.
template <typename Block, typename Prepare, typename Call>
int with_blocks(Block* const* list, int count, Prepare prepare, Call call) noexcept {
  if (count < 0) {
    errno = EINVAL;
    return -1;
  }
  // Not on the stack: a program says how long it is.
  size_t size = (static_cast<size_t>(count) * sizeof(Block*) + os::kPageSize) & ~(os::kPageSize - 1);
  auto* copy = static_cast<Block**>(os::map(size));
  if (copy == nullptr) {
    errno = EAGAIN;
    return -1;
  }
  for (int i = 0; i < count; i++) copy[i] = prepare(address(list)[i]);
  OutCall out(0);
  int result = out.run([&] { return call(copy); });
  os::unmap(copy, size);
  return result;
}

}  // namespace

extern "C" {

int __freehold_aio_read(aiocb* block) {
  block = begin(block);
  return OutCall(0).run([=] { return aio_read(block); });
}
int __freehold_aio_write(aiocb* block) {
  block = begin(block);
  return OutCall(0).run([=] { return aio_write(block); });
}
int __freehold_lio_listio(int mode, aiocb* const* list, int count, sigevent* event) {
  event = kept(event);
  return with_blocks(list, count, begin, [=](aiocb** copy) { return lio_listio(mode, copy, count, event); });
}
int __freehold_aio_suspend(const aiocb* const* list, int count, const timespec* timeout) {
  timespec limit{};
  if (timeout != nullptr) limit = *address(timeout);
  return with_blocks(
      list, count, [](const aiocb* block) { return address(block); },
      [&](const aiocb** copy) { return aio_suspend(copy, count, timeout != nullptr ? &limit : nullptr); });
}

}  // extern "C"
