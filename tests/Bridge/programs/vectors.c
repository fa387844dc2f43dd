// System calls that find pointers in memory: vectors, messages, other processes, asynchronous requests.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct iovec* vectors_of(int count, size_t size, char first) {
  struct iovec* all = malloc((size_t)count * sizeof *all);
  for (int i = 0; i < count; i++) {
    all[i].iov_base = malloc(size);
    all[i].iov_len = size;
    memset(all[i].iov_base, first + i, size);
  }
  return all;
}
static int sum_of(const struct iovec* all, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++) {
    for (size_t n = 0; n < all[i].iov_len; n++) sum += ((char*)all[i].iov_base)[n];
  }
  return sum;
}

static void files(void) {
  char* path = strdup(P_tmpdir "/freehold-vectors-XXXXXX");
  int file = mkstemp(path);
  unlink(path);
  struct iovec *out = vectors_of(3, 100, 'a'), *in = vectors_of(5, 60, 0);
  printf("%zd", pwritev2(file, out, 3, 0, 0));
  printf(" %zd %d", preadv2(file, in, 5, 0, 0), sum_of(in, 5));
  printf(" %zd %d\n", preadv2(file, in, 2000, 0, 0), errno);

  // Two at once, and waits for them.
  struct aiocb* blocks[2];
  struct aiocb** list = malloc(2 * sizeof *list);
  for (int i = 0; i < 2; i++) {
    blocks[i] = calloc(1, sizeof **blocks);
    blocks[i]->aio_fildes = file;
    blocks[i]->aio_buf = malloc(50);
    memset((void*)blocks[i]->aio_buf, 'x' + i, 50);
    blocks[i]->aio_nbytes = 50;
    blocks[i]->aio_offset = i * 50;
    blocks[i]->aio_lio_opcode = LIO_READ;
    blocks[i]->aio_sigevent.sigev_notify = SIGEV_NONE;
    list[i] = blocks[i];
  }
  printf("%d", aio_write(blocks[0]));
  struct timespec* limit = calloc(1, sizeof *limit);
  limit->tv_sec = 60;
  while (aio_error(blocks[0]) == EINPROGRESS) aio_suspend((const struct aiocb* const*)list, 1, limit);
  printf(" %zd %d", aio_return(blocks[0]), aio_write(blocks[1]));
  list[0] = NULL;
  while (aio_error(blocks[1]) == EINPROGRESS) aio_suspend((const struct aiocb* const*)list, 2, NULL);
  printf(" %zd", aio_return(blocks[1]));
  list[0] = blocks[0];
  for (int i = 0; i < 2; i++) memset((void*)blocks[i]->aio_buf, 0, 50);
  printf(" %d", lio_listio(LIO_WAIT, list, 2, NULL));
  printf(" %zd %zd %c%c", aio_return(blocks[0]), aio_return(blocks[1]), ((char*)blocks[0]->aio_buf)[49], ((char*)blocks[1]->aio_buf)[0]);
  memset((void*)blocks[0]->aio_buf, 0, 50);
  printf(" %d", aio_read(blocks[0]));
  while (aio_error(blocks[0]) == EINPROGRESS) aio_suspend((const struct aiocb* const*)list, 1, limit);
  printf(" %zd %c\n", aio_return(blocks[0]), ((char*)blocks[0]->aio_buf)[0]);
  close(file);
}

static struct mmsghdr* messages_of(int count, char first) {
  struct mmsghdr* all = calloc((size_t)count, sizeof *all);
  for (int i = 0; i < count; i++) {
    all[i].msg_hdr.msg_iov = vectors_of(2, 20, first + i);
    all[i].msg_hdr.msg_iovlen = 2;
  }
  return all;
}

int main(void) {
  files();
  int ends[2];
  socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
  for (int count = 3; count <= 12; count += 9) {
    struct mmsghdr *out = messages_of(count, 'a'), *in = messages_of(count + 1, 0);
    // The kernel takes as many as fit.
    int sent = 0;
    while (sent < count) {
      int some = sendmmsg(ends[0], out + sent, (unsigned)(count - sent < 4 ? count - sent : 4), 0);
      if (some < 0) return 1;
      for (int i = 0; i < some; i++) {
        struct timespec* limit = calloc(1, sizeof *limit);
        limit->tv_sec = 60;
        if (recvmmsg(ends[1], in + sent + i, 1, 0, limit) != 1) return 2;
        free(limit);
      }
      sent += some;
    }
    int lengths = 0, sum = 0;
    for (int i = 0; i < count; i++) {
      lengths += (int)(out[i].msg_len + in[i].msg_len);
      sum += sum_of(in[i].msg_hdr.msg_iov, 2) + in[i].msg_hdr.msg_flags;
    }
    printf("%d %d %d\n", sent, lengths, sum);
  }
  struct mmsghdr* none = messages_of(1, 0);
  printf("%d", recvmmsg(ends[1], none, 1, MSG_DONTWAIT, NULL));
  printf(" %d\n", errno == EAGAIN);

  struct iovec *own = vectors_of(2, 30, 1), *theirs = vectors_of(3, 20, 'A');
  printf("%zd", process_vm_readv(getpid(), own, 2, theirs, 3, 0));
  printf(" %d", sum_of(own, 2));
  memset(own[0].iov_base, 7, 30);
  printf(" %zd", process_vm_writev(getpid(), own, 2, theirs, 3, 0));
  printf(" %d\n", sum_of(theirs, 3));

  int tube[2];
  if (pipe(tube) != 0) return 3;
  struct iovec* pages = vectors_of(2, 40, 'p');
  printf("%zd", vmsplice(tube[1], pages, 2, 0));
  char* text = calloc(1, 100);
  free(malloc(100));
  printf(" %zd %s\n", read(tube[0], text, 99), text);

  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char** arguments = malloc(4 * sizeof *arguments);
    arguments[0] = strdup("sh");
    arguments[1] = strdup("-c");
    arguments[2] = strdup("exit $CODE");
    arguments[3] = NULL;
    char** variables = malloc(2 * sizeof *variables);
    variables[0] = strdup("CODE=5");
    variables[1] = NULL;
    execveat(AT_FDCWD, strdup("/bin/sh"), arguments, variables, 0);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  return 0;
}
