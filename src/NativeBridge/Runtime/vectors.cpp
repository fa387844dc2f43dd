// System calls that find pointers in vectors and messages: handles of the program, of which the kernel gets addresses. The compiler calls these instead
// (Compiler/library.cpp). The caller is inside.
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "out_call.h"

using namespace freehold::bridge;

namespace {

constexpr int kMostVectors = 1024;  // IOV_MAX

// Room for copies with addresses in the place of handles; only few are on the stack, which may be small.
template <typename One, size_t kFew>
class Copies {
 public:
  explicit Copies(size_t count) noexcept : all_(few_) {
    if (count <= kFew) return;
    size_ = (count * sizeof(One) + os::kPageSize - 1) & ~(os::kPageSize - 1);
    all_ = static_cast<One*>(os::map(size_));
  }
  ~Copies() {
    if (size_ != 0 && all_ != nullptr) os::unmap(all_, size_);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  One* all() noexcept { return all_; }

 private:
  size_t size_ = 0;
  One* all_;
  One few_[kFew];
};
using Vectors = Copies<iovec, 32>;

template <typename Call>
ssize_t with_vectors(const iovec* vectors, int count, Call call) noexcept {
  if (count < 0 || count > kMostVectors) {
    errno = EINVAL;
    return -1;
  }
  OutCall out(static_cast<size_t>(count));
  Vectors vectors_of_addresses(static_cast<size_t>(count));
  iovec* copy = vectors_of_addresses.all();
  if (!out.has_memory() || copy == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const iovec* from = address(vectors);
  for (int i = 0; i < count; i++) copy[i] = {out.pin(static_cast<char*>(from[i].iov_base)), from[i].iov_len};
  return out.run([&] { return call(copy); });
}

// A message as the system takes it. `vectors` has room for its own.
msghdr with_addresses(const msghdr& message, iovec* vectors, OutCall& out) noexcept {
  msghdr copy = message;
  const iovec* from = address(message.msg_iov);
  for (size_t i = 0; i < message.msg_iovlen; i++) vectors[i] = {out.pin(static_cast<char*>(from[i].iov_base)), from[i].iov_len};
  copy.msg_iov = vectors;
  copy.msg_name = out.pin(static_cast<char*>(message.msg_name));
  copy.msg_control = out.pin(static_cast<char*>(message.msg_control));
  return copy;
}
// What the system says of a message that it has received.
void take_answer(msghdr& message, const msghdr& copy) noexcept {
  message.msg_namelen = copy.msg_namelen;
  message.msg_controllen = copy.msg_controllen;
  message.msg_flags = copy.msg_flags;
}

template <typename Call>
ssize_t with_message(msghdr* message, Call call) noexcept {
  msghdr original = *address(message);
  if (original.msg_iovlen > static_cast<size_t>(kMostVectors)) {
    errno = EMSGSIZE;
    return -1;
  }
  OutCall out(original.msg_iovlen + 2);
  Vectors vectors(original.msg_iovlen);
  if (!out.has_memory() || vectors.all() == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  msghdr copy = with_addresses(original, vectors.all(), out);
  ssize_t result = out.run([&] { return call(&copy); });
  take_answer(*address(message), copy);
  return result;
}

template <typename Call>
int with_messages(mmsghdr* messages, unsigned count, Call call) noexcept {
  // As many as the kernel takes at a time.
  if (count > kMostVectors) count = kMostVectors;
  mmsghdr* from = address(messages);
  size_t vectors = 0;
  for (unsigned i = 0; i < count; i++) {
    if (from[i].msg_hdr.msg_iovlen > static_cast<size_t>(kMostVectors)) {
      errno = EMSGSIZE;
      return -1;
    }
    vectors += from[i].msg_hdr.msg_iovlen;
  }
  OutCall out(vectors + size_t{count} * 2);
  Vectors vectors_of_addresses(vectors);
  Copies<mmsghdr, 8> copies(count);
  iovec* next = vectors_of_addresses.all();
  mmsghdr* copy = copies.all();
  if (!out.has_memory() || next == nullptr || copy == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  for (unsigned i = 0; i < count; i++) {
    copy[i] = {with_addresses(from[i].msg_hdr, next, out), from[i].msg_len};
    next += from[i].msg_hdr.msg_iovlen;
  }
  int result = out.run([&] { return call(copy, count); });
  int saved = errno;
  // Everything may have moved.
  from = address(messages);
  for (int i = 0; i < result; i++) {
    from[i].msg_len = copy[i].msg_len;
    take_answer(from[i].msg_hdr, copy[i].msg_hdr);
  }
  errno = saved;
  return result;
}

// What the other process has there is no business of this one's handles, unless it is this one.
template <typename Call>
ssize_t with_process(pid_t process, const iovec* own, size_t own_count, const iovec* theirs, size_t their_count, Call call) noexcept {
  if (own_count > static_cast<size_t>(kMostVectors) || their_count > static_cast<size_t>(kMostVectors)) {
    errno = EINVAL;
    return -1;
  }
  OutCall out(own_count + their_count);
  Vectors own_copy(own_count), their_copy(their_count);
  if (!out.has_memory() || own_copy.all() == nullptr || their_copy.all() == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const iovec* from = address(own);
  for (size_t i = 0; i < own_count; i++) own_copy.all()[i] = {out.pin(static_cast<char*>(from[i].iov_base)), from[i].iov_len};
  from = address(theirs);
  bool is_own = process == getpid();
  for (size_t i = 0; i < their_count; i++) {
    their_copy.all()[i] = {is_own ? out.pin(static_cast<char*>(from[i].iov_base)) : from[i].iov_base, from[i].iov_len};
  }
  return out.run([&] { return call(own_copy.all(), their_copy.all()); });
}

}  // namespace

extern "C" {

ssize_t __freehold_writev(int file, const iovec* vectors, int count) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return writev(file, copy, count); });
}
ssize_t __freehold_readv(int file, const iovec* vectors, int count) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return readv(file, copy, count); });
}
ssize_t __freehold_pwritev(int file, const iovec* vectors, int count, off_t offset) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return pwritev(file, copy, count, offset); });
}
ssize_t __freehold_preadv(int file, const iovec* vectors, int count, off_t offset) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return preadv(file, copy, count, offset); });
}
ssize_t __freehold_sendmsg(int socket, const msghdr* message, int flags) {
  msghdr copy = *address(message);
  return with_message(&copy, [=](msghdr* header) { return sendmsg(socket, header, flags); });
}
ssize_t __freehold_recvmsg(int socket, msghdr* message, int flags) {
  return with_message(message, [=](msghdr* header) { return recvmsg(socket, header, flags); });
}
int __freehold_sendmmsg(int socket, mmsghdr* messages, unsigned count, int flags) {
  return with_messages(messages, count, [=](mmsghdr* copy, unsigned most) { return sendmmsg(socket, copy, most, flags); });
}
int __freehold_recvmmsg(int socket, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  // It tells what is left of the time.
  timespec left{};
  if (timeout != nullptr) left = *address(timeout);
  int result =
      with_messages(messages, count, [&](mmsghdr* copy, unsigned most) { return recvmmsg(socket, copy, most, flags, timeout != nullptr ? &left : nullptr); });
  if (timeout != nullptr) *address(timeout) = left;
  return result;
}
ssize_t __freehold_pwritev2(int file, const iovec* vectors, int count, off_t offset, int flags) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return pwritev2(file, copy, count, offset, flags); });
}
ssize_t __freehold_preadv2(int file, const iovec* vectors, int count, off_t offset, int flags) {
  return with_vectors(vectors, count, [=](const iovec* copy) { return preadv2(file, copy, count, offset, flags); });
}
ssize_t __freehold_vmsplice(int pipe, const iovec* vectors, size_t count, unsigned flags) {
  if (count > static_cast<size_t>(kMostVectors)) {
    errno = EINVAL;
    return -1;
  }
  // Pages that the pipe refers to must not get other contents, and nobody says when it has no more of them.
  const iovec* from = address(vectors);
  void* slot;
  for (size_t i = 0; i < count; i++) __freehold_keep(from[i].iov_base, &slot);
  return with_vectors(vectors, static_cast<int>(count), [=](const iovec* copy) { return vmsplice(pipe, copy, count, flags); });
}

ssize_t __freehold_process_vm_readv(pid_t process, const iovec* own, unsigned long own_count, const iovec* theirs, unsigned long their_count,
                                    unsigned long flags) {
  return with_process(process, own, own_count, theirs, their_count,
                      [=](const iovec* to, const iovec* from) { return process_vm_readv(process, to, own_count, from, their_count, flags); });
}
ssize_t __freehold_process_vm_writev(pid_t process, const iovec* own, unsigned long own_count, const iovec* theirs, unsigned long their_count,
                                     unsigned long flags) {
  return with_process(process, own, own_count, theirs, their_count,
                      [=](const iovec* from, const iovec* to) { return process_vm_writev(process, from, own_count, to, their_count, flags); });
}

}  // extern "C"
