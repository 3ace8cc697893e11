/// Tests what `partition` leaves out of the parts of a pipelined loop.

#include "lowering/parts_of_pipelines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith::kernel {
namespace {

using Kind = Hazard::Kind;

class PartsOfPipelines : public testing::Test {
protected:
  static Buffer tile(const std::string &name) {
    return std::make_shared<const BufferNode>(
        BufferNode{name, DType::f32, {Expr(8)}, Scope::shared, Role::temporary});
  }
  static Stmt wait(const std::vector<Buffer> &tiles, Kind kind = Kind::read_after_write) {
    Wait wait;
    for (const Buffer &buffer : tiles)
      wait.hazards.push_back({.kind = kind, .buffer = buffer});
    return make(std::move(wait));
  }
  Stmt end() const { return wait({a_, b_}, Kind::end_after_write); }
  Stmt read(const Buffer &buffer) const { return make(Store{out_, {Expr(0)}, load(buffer, {Expr(0)})}); }
  static Stmt loop(std::vector<Stmt> stmts) {
    return make(Loop{make_var("k"), Expr(4), Serial{}, make_seq(std::move(stmts))});
  }
  Stmt when(std::vector<Stmt> body, std::vector<Stmt> otherwise = {},
            Purpose::Kind purpose = Purpose::Kind::none) const {
    return make(If{Expr(size_) < Expr(7),
                   make_seq(std::move(body)),
                   otherwise.empty() ? nullptr : make_seq(std::move(otherwise)),
                   {purpose}});
  }

  /// Names the statements that are left: waits with their tiles, "end" for the wait of the end, and reads.
  static std::string left_of(std::vector<Stmt> stmts) {
    Kernel kernel;
    kernel.body = make_seq(std::move(stmts));
    std::string text;
    walk(without_needless_parts(kernel), [&](const Stmt &stmt) {
      if (const auto *wait = as<Wait>(stmt)) {
        text += wait->hazards.front().kind == Kind::end_after_write ? " end" : " wait";
        for (const Hazard &hazard : wait->hazards)
          if (hazard.kind == Kind::read_after_write)
            text += " " + hazard.buffer->name;
      }
      if (as<Store>(stmt))
        text += " read";
      if (as<Loop>(stmt))
        text += " loop";
      if (const auto *branch = as<If>(stmt))
        text += branch->otherwise ? " if-else" : " if";
    });
    return text.empty() ? text : text.substr(1);
  }

  Buffer a_ = tile("A"), b_ = tile("B"),
         out_ = std::make_shared<const BufferNode>(
             BufferNode{"out", DType::f32, {Expr(1)}, Scope::global, Role::output});
  Var size_ = make_var("n");
};

TEST_F(PartsOfPipelines, HaveNoWaitForReadsThatTheyLack) {
  EXPECT_EQ(left_of({wait({a_}), read(b_), end()}), "read end");
  EXPECT_EQ(left_of({wait({a_}), read(a_), end()}), "wait A read end");
  EXPECT_EQ(left_of({read(a_), wait({a_}), end()}), "read end");
  EXPECT_EQ(left_of({wait({a_, b_}), read(b_), end()}), "wait B read end");
}

/// Copies that nothing else waits for must not be in flight at the end.
TEST_F(PartsOfPipelines, KeepTheLastWaitForATile) {
  EXPECT_EQ(left_of({wait({a_})}), "wait A");
  EXPECT_EQ(left_of({wait({a_}), read(b_)}), "wait A read");
  EXPECT_EQ(left_of({wait({a_, b_}), wait({b_}, Kind::end_after_write)}), "wait A end");
  EXPECT_EQ(left_of({when({end()}), wait({a_}), read(b_)}), "if end wait A read") << "the other wait is before";
}

TEST_F(PartsOfPipelines, KeepWaitsForReadsOfTheNextIteration) {
  EXPECT_EQ(left_of({loop({read(a_), wait({a_})}), end()}), "loop read wait A end");
  EXPECT_EQ(left_of({loop({read(b_), loop({wait({a_})}), read(a_)}), end()}), "loop read loop wait A read end");
  EXPECT_EQ(left_of({loop({read(b_), wait({a_})}), end()}), "loop read end");
}

TEST_F(PartsOfPipelines, LookAtEachSideOfABranch) {
  EXPECT_EQ(left_of({when({wait({a_}), read(a_)}, {wait({a_}), read(b_)}), end()}),
            "if-else wait A read read end");
  EXPECT_EQ(left_of({wait({a_}), when({read(a_)}), end()}), "wait A if read end");
  EXPECT_EQ(left_of({when({wait({a_})}), end()}), "end");
}

TEST_F(PartsOfPipelines, HaveNoGuardThatMayBeLeftOut) {
  EXPECT_EQ(left_of({when({read(a_)}, {}, Purpose::Kind::past)}), "read");
  EXPECT_EQ(left_of({when({when({read(a_)}, {}, Purpose::Kind::past)})}), "if read");
}

} // namespace
} // namespace nestsmith::kernel
