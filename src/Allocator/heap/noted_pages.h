// The pages that scopes have noted (heap/scope_notes.h), with their ages. Each stop that ends a scope, or looks at one, takes the notes over and gives them the next age. A scope needs
// those only that are younger than its beginning: its objects are younger too, and so are all references to them. So scopes in a scope do not look at what that had noted before.
// With the threads stopped, one at a time, where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

struct NotedPage {
  uint64_t page, age;
};

// Memory for them, once. False: there is none. Any thread.
bool reserve_noted_pages() noexcept;
// That of the notes that are taken over next is higher. In cooperative mode, or with the threads stopped.
uint64_t noted_age() noexcept;

// Takes the notes over. False, until forget_lost_notes(): notes, or the memory for them, were missing; all are forgotten, and nothing can be decided of any scope that is open.
bool take_notes_over() noexcept;
void forget_lost_notes() noexcept;
// Those younger than this age, each page once.
NotedPage* noted_since(uint64_t age, size_t* count) noexcept;
// Of the same: those whose page is 0 are forgotten.
void drop_noted_since(uint64_t age) noexcept;
// Forgets those up to this age: no scope is open that began before.
void drop_noted_until(uint64_t age) noexcept;

// In the order of the pages, for the verifier; and back.
void sort_noted_by_page() noexcept;
bool is_noted_since(uint64_t page, uint64_t age) noexcept;
void sort_noted_by_age() noexcept;

}  // namespace freehold::heap
