// What the native peers of the benchmarks share: Shared/*.cs in C++, so that both report the same values.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace freehold::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Xorshift, as Random64.cs.
class Random64 {
 public:
  explicit Random64(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  /// A number from 0 to `limit` - 1.
  int next(int limit) { return static_cast<int>(((next() >> 32) * static_cast<uint64_t>(limit)) >> 32); }

 private:
  uint64_t state_;
};

/// The value of `--name` on the command line, or `otherwise`.
inline long option(int argc, char** argv, std::string_view name, long otherwise) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (argv[i] == name) return std::strtol(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

inline void report(const char* name, double value) { std::printf("%s %.6f\n", name, value); }

/// Bytes of a line of a file in /proc that gives kilobytes; 0 when it is not there.
inline double proc_bytes(const char* file, std::string_view label) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(label)) return std::strtod(line.c_str() + label.size(), nullptr) * 1024;
  }
  return 0;
}

inline double resident_bytes() { return proc_bytes("/proc/self/smaps_rollup", "Rss:"); }

/// What every program reports at its end.
inline void report_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  std::puts("heap malloc");
  report("gc_pause_seconds", 0);
  report("processor_seconds", seconds(usage.ru_utime) + seconds(usage.ru_stime));
  report("peak_resident_bytes", proc_bytes("/proc/self/status", "VmHWM:"));
}

/// The longest times that one thread needed for a step of its work, as StallClock.cs.
class StallClock {
 public:
  double longest = 0;                 ///< Nanoseconds of the longest step.
  double longest_with_processor = 0;  ///< The same without what may have been spent waiting for a processor.
  int stalls = 0;                     ///< Steps of more than a millisecond.

  StallClock() = default;
  StallClock(const StallClock&) = delete;
  StallClock& operator=(const StallClock&) = delete;
  ~StallClock() {
    if (queue_ >= 0) close(queue_);
  }

  /// The thread's own: call it there. The first step begins.
  void start() {
    queue_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    queued_ = queued();
    last_ = last_queue_at_ = now();
  }

  void lap() {
    const int64_t time = now();
    if (time - last_ > 100'000 || time - last_queue_at_ > 1'000'000) {
      look(time);
    } else {
      last_ = time;
    }
  }

 private:
  static int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }

  int64_t queued() const {
    char text[128];
    const ssize_t length = pread(queue_, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char* second = std::strchr(text, ' ');
    return second != nullptr ? std::strtoll(second, nullptr, 10) : 0;
  }

  void look(int64_t time) {
    const double took = static_cast<double>(time - last_);
    const int64_t in_queue = queued();
    stalls += took > 1e6;
    longest = std::max(longest, took);
    longest_with_processor = std::max(longest_with_processor, took - std::min(took, static_cast<double>(in_queue - queued_)));
    queued_ = in_queue;
    last_ = last_queue_at_ = now();
  }

  int queue_ = -1;
  int64_t last_ = 0, last_queue_at_ = 0, queued_ = 0;
};

/// Looks at the resident memory twenty times a second, as ResidentSampler.cs.
class ResidentSampler {
 public:
  ResidentSampler() : thread_([this] { run(); }) {}

  /// Ends it. The steady state: the mean of the second half of the samples.
  double stop() {
    stop_ = true;
    thread_.join();
    const size_t half = samples_.size() / 2;
    double sum = 0;
    for (size_t i = half; i < samples_.size(); i++) sum += samples_[i];
    return sum / static_cast<double>(samples_.size() - half);
  }

 private:
  void run() {
    samples_.reserve(1 << 16);
    do {
      long pages = 0;
      if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
      }
      samples_.push_back(static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (!stop_);
  }

  std::vector<double> samples_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace freehold::bench
