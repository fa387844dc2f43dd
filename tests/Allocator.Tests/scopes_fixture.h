// Scopes whose outside is a list of the test: roots, handles, and objects of before.
#pragma once

#include "barrier_calls.h"
#include "heap/scopes.h"
#include "reachability_fixture.h"

namespace freehold::testing {

using heap::ScopeDeletion;
using heap::ScopeResult;

inline uint64_t* fields(Object* node) { return reinterpret_cast<uint64_t*>(node) + 1; }

class ScopesTest : public ReachabilityTest {
 protected:
  void configure(core::Knobs&) override {}  // as programs have it

  // Fields are stored to as compiled code does it; word 0 is the first field.
  Object* node(std::initializer_list<Object*> references = {}, const core::MethodTable* type = &node_type.table) {
    Object* object = allocate(type);
    size_t word = 0;
    for (Object* reference : references) set(object, word++, reference);
    return object;
  }
  static void set(Object* object, size_t word, Object* reference) { RhpAssignRef(fields(object) + word, reference); }

  static ScopeDeletion end(int64_t scope, ScopeResult expected = ScopeResult::kDeleted) {
    ScopeDeletion result;
    uint64_t none = 0;
    EXPECT_EQ(heap::end_scope(scope, &none, &result), expected);
    if (expected == ScopeResult::kKept) heap::leave_scope(scope);
    return result;
  }

  static void expect_gone(std::initializer_list<Object*> objects) {
    for (Object* object : objects) EXPECT_TRUE(heap::is_deleted(object));
  }
  static void expect_here(std::initializer_list<Object*> objects) {
    for (Object* object : objects) EXPECT_FALSE(heap::is_deleted(object));
  }
};

}  // namespace freehold::testing
