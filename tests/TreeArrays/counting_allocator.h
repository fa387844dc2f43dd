// An allocator that counts what lives, refuses more than 32 KB at once, and can be told to fail.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <gtest/gtest.h>

struct Memory {
  std::size_t bytes = 0;
  std::size_t largest = 0;
  long left = -1;  // allocations until one fails; negative: none does
};

template <class T, bool Propagate = false>
struct CountingAllocator {
  using value_type = T;
  using propagate_on_container_copy_assignment = std::bool_constant<Propagate>;
  using propagate_on_container_move_assignment = std::bool_constant<Propagate>;
  using propagate_on_container_swap = std::bool_constant<Propagate>;
  template <class U>
  struct rebind {
    using other = CountingAllocator<U, Propagate>;
  };

  explicit CountingAllocator(Memory& of) noexcept : memory(&of) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U, Propagate>& other) noexcept : memory(other.memory) {}

  T* allocate(std::size_t count) {
    if (memory->left == 0) {
      throw std::bad_alloc();
    }
    --memory->left;
    memory->bytes += count * sizeof(T);
    memory->largest = std::max(memory->largest, count * sizeof(T));
    return std::allocator<T>().allocate(count);
  }

  void deallocate(T* place, std::size_t count) noexcept {
    EXPECT_GE(memory->bytes, count * sizeof(T));
    memory->bytes -= count * sizeof(T);
    std::allocator<T>().deallocate(place, count);
  }

  template <class U>
  bool operator==(const CountingAllocator<U, Propagate>& other) const noexcept {
    return memory == other.memory;
  }

  Memory* memory;
};
