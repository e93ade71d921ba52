// tests/core/base/scope_test.cpp -- numbers of module calls.
#include "ebb/core/base/scope.h"

#include <gtest/gtest.h>

#include "ebb/core/device/op_context.h"

namespace ebb {
namespace {

TEST(Scope, EqualStepsShareANumber) {
  const ScopeId root = intern_scope(0, "", "Net");
  EXPECT_EQ(intern_scope(0, "", "Net"), root);
  EXPECT_NE(intern_scope(root, "fc", "Linear"), intern_scope(0, "fc", "Linear"));
  EXPECT_NE(intern_scope(root, "fc", "Linear"), intern_scope(root, "fc", "Conv2d"));
}

TEST(Scope, DescribesItsStep) {
  const ScopeId root = intern_scope(0, "", "Net");
  const ScopeInfo info = describe_scope(intern_scope(root, "fc", "Linear"));
  EXPECT_EQ(info.parent, root);
  EXPECT_EQ(info.name, "fc");
  EXPECT_EQ(info.type, "Linear");
}

TEST(Scope, NobodysNumberHasNoName) {
  EXPECT_EQ(describe_scope(0).type, "");
  EXPECT_EQ(describe_scope(kMaxScope).type, "");
}

TEST(Scope, EndsWithItsBlock) {
  {
    const ModuleScope outer("", "Net");
    const ScopeId inside = thread_state.scope;
    {
      const ModuleScope inner("fc", "Linear");
      EXPECT_EQ(describe_scope(thread_state.scope).parent, inside);
    }
    EXPECT_EQ(thread_state.scope, inside);
  }
  EXPECT_EQ(thread_state.scope, 0u);
}

TEST(OpContext, IsTheScopeOnDefaultStreams) {
  const ModuleScope scope("alone");
  EXPECT_EQ(current_op_context(), thread_state.scope);
  EXPECT_EQ(scope_of(current_op_context()), thread_state.scope);
  EXPECT_EQ(streams_of(current_op_context()), 0u);
}

TEST(OpContext, HasANumberOfItsOwnForOtherStreams) {
  const ModuleScope scope("streamed");
  const StreamSetScope streams(7);
  const OpContext context = current_op_context();
  EXPECT_NE(context & kHasStreams, 0u);
  EXPECT_EQ(context, current_op_context());
  EXPECT_EQ(scope_of(context), thread_state.scope);
  EXPECT_EQ(streams_of(context), 7u);
  const StreamSetScope others(8);
  EXPECT_NE(context, current_op_context());
}

}  // namespace
}  // namespace ebb
