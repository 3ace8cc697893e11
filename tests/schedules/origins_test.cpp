/// Tests that every statement of a kernel records the part of the program that it was made from.

#include "codegen/emit.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "schedules/rung.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string name_of(const OriginPart &part) {
  return std::visit(Overloaded{[](const Var &loop) { return loop->name; },
                               [](const BlockId &block) { return block->name; },
                               [](const InitOf &init) { return init.block->name; },
                               [](const Buffer &buffer) { return buffer->name; }},
                    part);
}

TEST(Origins, EveryStatementOfEveryRungHasAPartOfItsProgram) {
  for (const Rung &rung : builtin_rungs()) {
    Schedule s = rung.build(Shape(rung.default_shape.size(), 72), rung.dtype(), Target{.arch = {90}});
    std::size_t statements = 0;
    kernel::Plan plan = lower(s);
    for (const kernel::Kernel &kernel : plan.kernels)
      kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
        if (kernel::as<kernel::Seq>(stmt))
          return;
        ++statements;
        ASSERT_TRUE(stmt->origin) << rung.full_name() << ": a statement of the kind " << stmt->kind.index()
                                  << "\n"
                                  << print(kernel);
        for (const OriginPart &part : *stmt->origin) {
          const auto *block = std::get_if<BlockId>(&part);
          const auto *loop = std::get_if<Var>(&part);
          const auto *init = std::get_if<InitOf>(&part);
          EXPECT_TRUE((block && find_block(s.program().body, *block)) ||
                      (loop && find_loop(s.program().body, *loop)) ||
                      (init && find_block(s.program().body, init->block)))
              << rung.full_name() << ": " << name_of(part) << " is not in the program";
        }
      });
    EXPECT_GT(statements, 0U) << rung.full_name();
  }
}

TEST(Origins, WithoutLineInfoNoTextHasALineOrAPath) {
  for (const Rung &rung : builtin_rungs()) {
    Schedule s = rung.build(Shape(rung.default_shape.size(), 64), rung.dtype(), Target{.arch = {90}});
    std::string text = emit({}, lower(s)) + trace_to_cpp(s);
    EXPECT_THAT(text, Not(HasSubstr("#line"))) << rung.full_name();
    EXPECT_THAT(text, Not(HasSubstr(".cpp"))) << rung.full_name();
  }
}

} // namespace
} // namespace nestsmith
