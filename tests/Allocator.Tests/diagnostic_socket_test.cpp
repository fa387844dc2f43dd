// The socket of the tool `freehold`: its folder, what is left by dead processes, and requests that are none.
#include "diag/diagnostic_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/module_state.h"
#include "diag/socket_file.h"

namespace freehold::testing {
namespace {

using diag::Command;
using diag::Frame;
using diag::Status;
namespace files = std::filesystem;

class DiagnosticSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    core::renew_states();
    char name[] = "/tmp/freehold-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    unsetenv("XDG_RUNTIME_DIR");
    setenv("TMPDIR", name, 1);
  }
  void TearDown() override {
    stop();
    unsetenv("TMPDIR");
    files::remove_all(folder_);
  }

  void serve() {
    char error[512] = {};
    ASSERT_TRUE(diag::open_diagnostics(error, sizeof error)) << error;
    path_ = diag::diagnostics_path();
    server_ = std::thread([] {
      for (Command command = diag::next_request(); command != Command::kNone; command = diag::next_request()) {
        verified += command == Command::kVerify;
        std::string text = "command " + std::to_string(static_cast<int>(command));
        if (command == Command::kLeaks) text.assign(large, 'x');
        diag::answer(Status::kDone, text.data(), text.size());
      }
    });
  }
  void stop() {
    if (!server_.joinable()) return;
    diag::close_diagnostics();
    server_.join();
    close(listener());
  }
  // The descriptor of the socket that listens at the path; negative: there is none.
  int listener() const {
    for (int i = 3; i < 1024; i++) {
      sockaddr_un address = {};
      socklen_t size = sizeof address;
      int listens = 0;
      socklen_t size_of_flag = sizeof listens;
      if (getsockname(i, reinterpret_cast<sockaddr*>(&address), &size) == 0 && address.sun_family == AF_UNIX && path_ == address.sun_path &&
          getsockopt(i, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size_of_flag) == 0 && listens != 0)
        return i;
    }
    return -1;
  }
  std::string own_folder() const { return folder_ + "/freehold-" + std::to_string(geteuid()); }

  static int connect_to(const std::string& path) {
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(client);
      return -1;
    }
    return client;
  }
  struct Answer {
    int status;
    std::string text;
  };
  static Answer read_answer(int client) {
    std::string all;
    char some[4096];
    for (ssize_t got; (got = recv(client, some, sizeof some, 0)) > 0;) all.append(some, static_cast<size_t>(got));
    close(client);
    Frame frame;
    if (all.size() < sizeof frame) return {-1, all};
    memcpy(&frame, all.data(), sizeof frame);
    EXPECT_EQ(memcmp(frame.magic, "FHDG", 4), 0);
    EXPECT_EQ(frame.version, 1);
    EXPECT_EQ(frame.length, all.size() - sizeof frame);
    return {frame.code, all.substr(sizeof frame)};
  }
  Answer ask(const void* request, size_t size) const {
    int client = connect_to(path_);
    EXPECT_GE(client, 0);
    EXPECT_EQ(send(client, request, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    shutdown(client, SHUT_WR);
    return read_answer(client);
  }
  Answer ask(uint16_t version, uint16_t command, uint64_t length) const {
    Frame frame = {{'F', 'H', 'D', 'G'}, version, command, length};
    return ask(&frame, sizeof frame);
  }
  void expect_alive() const {
    Answer answer = ask(1, static_cast<uint16_t>(Command::kStat), 0);
    EXPECT_EQ(answer.status, static_cast<int>(Status::kDone));
    EXPECT_EQ(answer.text, "command 1");
  }

  std::string folder_, path_;
  std::thread server_;
  static inline std::atomic<size_t> large = size_t{8} << 20;  // more than the kernel's buffers
  static inline std::atomic<int> verified;                    // requests that the server has carried out
};

TEST_F(DiagnosticSocketTest, requests_are_answered_one_after_the_other) {
  serve();
  for (int i = 0; i < 3; i++) expect_alive();
  EXPECT_EQ(ask(1, 3, 0).text, "command 3");
  Answer large = ask(1, 2, 0);
  EXPECT_EQ(large.text.size(), size_t{8} << 20);
}

TEST_F(DiagnosticSocketTest, only_the_user_can_enter) {
  serve();
  struct stat status;
  ASSERT_EQ(stat(own_folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(path_.rfind(own_folder() + "/" + std::to_string(getpid()) + "-", 0), 0u);
  stop();
  EXPECT_NE(stat(path_.c_str(), &status), 0);
}

TEST_F(DiagnosticSocketTest, a_folder_that_is_open_to_others_is_closed) {
  ASSERT_EQ(mkdir(own_folder().c_str(), 0777), 0);
  ASSERT_EQ(chmod(own_folder().c_str(), 0777), 0);
  serve();
  struct stat status;
  ASSERT_EQ(stat(own_folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(DiagnosticSocketTest, a_link_or_a_file_in_place_of_the_folder_is_not_taken) {
  std::string elsewhere = folder_ + "/elsewhere";
  ASSERT_EQ(mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), own_folder().c_str()), 0);
  diag::SocketFile file;
  char error[512];
  ASSERT_TRUE(diag::make_socket_file(&file, error, sizeof error)) << error;
  EXPECT_EQ(std::string(file.path).rfind("/tmp/freehold-" + std::to_string(geteuid()) + "/", 0), 0u) << file.path;
  EXPECT_TRUE(files::is_empty(elsewhere));
  close(file.listener);
  unlink(file.path);
}

// Between a check and a use of a path, whoever can write to a folder above may put another folder there.
TEST_F(DiagnosticSocketTest, a_folder_below_one_that_others_can_exchange_is_not_taken) {
  std::string parent = folder_ + "/open", below = parent + "/below";
  ASSERT_EQ(mkdir(parent.c_str(), 0700), 0);
  ASSERT_EQ(mkdir(below.c_str(), 0700), 0);
  auto made_below = [&](mode_t mode, uid_t owner) {
    EXPECT_EQ(chown(parent.c_str(), owner, static_cast<gid_t>(-1)), 0);
    EXPECT_EQ(chmod(parent.c_str(), mode), 0);
    setenv("TMPDIR", below.c_str(), 1);
    diag::SocketFile file;
    char error[512];
    EXPECT_TRUE(diag::make_socket_file(&file, error, sizeof error)) << error;
    bool is_below = std::string(file.path).rfind(below, 0) == 0;
    EXPECT_TRUE(is_below || files::is_empty(below)) << file.path;
    close(file.listener);
    diag::remove_socket_file(file);
    EXPECT_FALSE(files::exists(file.path));
    files::remove_all(below + "/freehold-" + std::to_string(geteuid()));
    return is_below;
  };
  EXPECT_FALSE(made_below(0777, geteuid()));
  EXPECT_FALSE(made_below(0775, geteuid()));
  EXPECT_TRUE(made_below(01777, geteuid()));
  EXPECT_TRUE(made_below(0755, geteuid()));
  if (geteuid() == 0) {
    EXPECT_FALSE(made_below(01777, 65534));
  }
}

TEST_F(DiagnosticSocketTest, what_is_no_socket_of_its_own_is_not_removed_at_the_end) {
  serve();
  ASSERT_EQ(unlink(path_.c_str()), 0);
  close(open(path_.c_str(), O_CREAT | O_CLOEXEC, 0600));
  stop();
  EXPECT_TRUE(files::exists(path_));
}

TEST_F(DiagnosticSocketTest, the_folder_of_the_session_comes_first) {
  setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  serve();
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(path_.rfind(folder_ + "/freehold/", 0), 0u) << path_;
  expect_alive();
}

TEST_F(DiagnosticSocketTest, a_path_that_is_too_long_is_passed_over) {
  std::string deep = folder_ + "/" + std::string(100, 'd');
  ASSERT_EQ(mkdir(deep.c_str(), 0700), 0);
  setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  serve();
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(path_.rfind(own_folder(), 0), 0u) << path_;
}

TEST_F(DiagnosticSocketTest, dead_sockets_go_and_living_ones_stay) {
  ASSERT_EQ(mkdir(own_folder().c_str(), 0700), 0);
  auto bound = [this](const char* name) {
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, (own_folder() + "/" + name).c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return dead;
  };
  close(bound("1-dead.sock"));
  // What others may have put there: a socket of another name, a file with such a name, a link.
  close(bound("other.sock"));
  close(open((own_folder() + "/5-a.sock").c_str(), O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(symlink("1-dead.sock", (own_folder() + "/6-a.sock").c_str()), 0);
  int living = bound("2-living.sock"), full = bound("3-full.sock");
  listen(living, 4);
  listen(full, 0);
  // A queue with no room, as of a process that is stopped.
  std::vector<int> waiting;
  for (int i = 0; i < 4; i++) {
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, (own_folder() + "/3-full.sock").c_str(), sizeof address.sun_path - 1);
    connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    waiting.push_back(client);
  }
  close(open((own_folder() + "/4-text.txt").c_str(), O_CREAT | O_CLOEXEC, 0600));
  serve();
  EXPECT_FALSE(files::exists(own_folder() + "/1-dead.sock"));
  EXPECT_TRUE(files::exists(own_folder() + "/2-living.sock"));
  EXPECT_TRUE(files::exists(own_folder() + "/3-full.sock"));
  EXPECT_TRUE(files::exists(own_folder() + "/4-text.txt"));
  EXPECT_TRUE(files::exists(own_folder() + "/other.sock"));
  EXPECT_TRUE(files::exists(own_folder() + "/5-a.sock"));
  EXPECT_TRUE(files::is_symlink(own_folder() + "/6-a.sock"));
  EXPECT_TRUE(files::exists(path_));
  // The other way round: who looks at this one does it no harm.
  int folder = open(own_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 20; i++) diag::remove_stale_sockets(folder, own_folder().c_str());
  close(folder);
  EXPECT_TRUE(files::exists(path_));
  expect_alive();
  for (int descriptor : waiting) close(descriptor);
  close(living);
  close(full);
}

TEST_F(DiagnosticSocketTest, what_is_no_request_is_refused_with_a_reason) {
  serve();
  auto refused = [](const Answer& answer, Status status, const char* word) {
    EXPECT_EQ(answer.status, static_cast<int>(status));
    EXPECT_NE(answer.text.find(word), std::string::npos) << answer.text;
  };
  refused(ask("GET / HTTP/1.1\r\n\r\n", 18), Status::kBadRequest, "FHDG");
  refused(ask("FHDG", 4), Status::kBadRequest, "16 bytes");
  refused(ask(2, 1, 0), Status::kOtherVersion, "version 1");
  refused(ask(0, 1, 0), Status::kOtherVersion, "version 1");
  refused(ask(1, 1, 1), Status::kBadRequest, "data");
  refused(ask(1, 1, UINT64_MAX), Status::kBadRequest, "data");
  refused(ask(1, 0, 0), Status::kUnknownCommand, "does not know");
  refused(ask(1, 6, 0), Status::kUnknownCommand, "does not know");
  refused(ask(1, UINT16_MAX, 0), Status::kUnknownCommand, "does not know");
  // More than is read, and it is refused all the same.
  std::string flood(size_t{64} << 10, 'F');
  refused(ask(flood.data(), flood.size()), Status::kBadRequest, "FHDG");
  expect_alive();
}

TEST_F(DiagnosticSocketTest, who_goes_away_harms_nobody) {
  serve();
  Frame leaks = {{'F', 'H', 'D', 'G'}, 1, 2, 0};
  for (int i = 0; i < 20; i++) {
    int client = connect_to(path_);  // says nothing
    ASSERT_GE(client, 0);
    if (i % 3 != 0) {
      ASSERT_GT(send(client, &leaks, i % 3 == 1 ? 7 : sizeof leaks, MSG_NOSIGNAL), 0);  // half of a request; or does not take the answer
    }
    close(client);
  }
  expect_alive();
}

// A verification stops the program: not for those who have given up while another one was answered.
TEST_F(DiagnosticSocketTest, a_request_of_who_has_gone_is_not_carried_out) {
  serve();
  Frame leaks = {{'F', 'H', 'D', 'G'}, 1, 2, 0}, verify = {{'F', 'H', 'D', 'G'}, 1, 3, 0};
  int busy = connect_to(path_);
  ASSERT_EQ(send(busy, &leaks, sizeof leaks, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof leaks));
  char first;
  ASSERT_EQ(recv(busy, &first, 1, 0), 1);  // the answer has begun, and is more than the kernel takes
  int before = verified;
  for (int i = 0; i < 5; i++) {
    int client = connect_to(path_);
    ASSERT_GE(client, 0);
    ASSERT_EQ(send(client, &verify, sizeof verify, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof verify));
    close(client);
  }
  close(busy);
  expect_alive();
  EXPECT_EQ(verified, before);
  EXPECT_EQ(ask(1, 3, 0).text, "command 3");
  EXPECT_EQ(verified, before + 1);
}

// Who takes a little now and then always makes progress.
TEST_F(DiagnosticSocketTest, who_takes_an_answer_slowly_is_dropped) {
  diag::set_time_to_take(1'000'000'000);
  large = size_t{3} << 20;
  serve();
  Frame leaks = {{'F', 'H', 'D', 'G'}, 1, 2, 0};
  int slow = connect_to(path_);
  ASSERT_EQ(send(slow, &leaks, sizeof leaks, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof leaks));
  std::vector<char> some(size_t{64} << 10);
  size_t taken = 0;
  // At most 64 KB in 0.2 s: in the 4 s that it has, not half of it.
  for (ssize_t got; (got = recv(slow, some.data(), some.size(), 0)) > 0; usleep(200'000)) taken += static_cast<size_t>(got);
  close(slow);
  EXPECT_LT(taken, large + sizeof leaks);
  large = size_t{8} << 20;
  expect_alive();
}

TEST_F(DiagnosticSocketTest, who_says_nothing_is_waited_for_five_seconds_only) {
  serve();
  int silent = connect_to(path_);
  ASSERT_EQ(send(silent, "FHD", 3, MSG_NOSIGNAL), 3);
  expect_alive();  // which had to wait for it
  Answer answer = read_answer(silent);
  EXPECT_EQ(answer.status, static_cast<int>(Status::kBadRequest));
}

TEST_F(DiagnosticSocketTest, another_user_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  serve();
  // As if the modes did not keep him out.
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  ASSERT_EQ(chmod(own_folder().c_str(), 0777), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    int client = connect_to(path_);
    Frame stat = {{'F', 'H', 'D', 'G'}, 1, 1, 0};
    if (client < 0 || send(client, &stat, sizeof stat, MSG_NOSIGNAL) != sizeof stat) _exit(3);
    Frame answer = {};
    if (recv(client, &answer, sizeof answer, MSG_WAITALL) != sizeof answer) _exit(4);
    _exit(answer.code == static_cast<uint16_t>(Status::kNotAllowed) ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_alive();
}

TEST_F(DiagnosticSocketTest, a_child_of_a_fork_leaves_it_to_its_parent) {
  serve();
  ASSERT_GE(listener(), 0);
  pid_t child = fork();
  if (child == 0) {
    diag::leave_diagnostics_to_parent();
    // With the listener open, connections would wait for the child once the parent is dead.
    _exit(listener() < 0 && diag::next_request() == Command::kNone ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_alive();
}

TEST_F(DiagnosticSocketTest, a_descriptor_that_the_program_closed_and_got_again_is_not_served) {
  serve();
  stop();  // the thread is not in accept any more
  core::renew_states();
  char error[512] = {};
  ASSERT_TRUE(diag::open_diagnostics(error, sizeof error)) << error;
  path_ = diag::diagnostics_path();
  int number = listener();
  ASSERT_GE(number, 0);
  int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(dup2(other, number), number);
  EXPECT_EQ(diag::next_request(), Command::kNone);
  close(other);
  close(number);
  diag::close_diagnostics();
}

// As the listener's: the answer is none of what the program has under that number now.
TEST_F(DiagnosticSocketTest, a_connection_that_the_program_closed_and_got_again_is_not_answered) {
  char error[512] = {};
  ASSERT_TRUE(diag::open_diagnostics(error, sizeof error)) << error;
  path_ = diag::diagnostics_path();
  int client = connect_to(path_), number = -1;
  Frame stat = {{'F', 'H', 'D', 'G'}, 1, 1, 0};
  ASSERT_EQ(send(client, &stat, sizeof stat, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof stat));
  ASSERT_EQ(diag::next_request(), Command::kStat);
  // The end that the process has of the connection.
  for (int i = 3; i < 1024 && number < 0; i++) {
    sockaddr_un address = {};
    socklen_t size = sizeof address;
    if (i != listener() && getsockname(i, reinterpret_cast<sockaddr*>(&address), &size) == 0 && address.sun_family == AF_UNIX && path_ == address.sun_path)
      number = i;
  }
  ASSERT_GE(number, 0);
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ASSERT_EQ(dup2(pair[0], number), number);
  diag::answer(Status::kDone, "text", 4);
  char some[64];
  EXPECT_LT(recv(pair[1], some, sizeof some, MSG_DONTWAIT), 0);
  EXPECT_EQ(fcntl(number, F_GETFD), 0);  // still the program's
  int left = listener();
  for (int descriptor : {client, number, pair[0], pair[1], left}) close(descriptor);
  diag::close_diagnostics();
}

}  // namespace
}  // namespace freehold::testing
