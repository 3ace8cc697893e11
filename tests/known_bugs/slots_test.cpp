/// Tests the copies of a tile for iterations in flight: the copy that each access of the kernel uses, and the
/// barriers between the accesses.

#include "tests/known_bugs/stages.h"
#include "tests/known_bugs/support.h"
#include "tests/mutation/seed.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith {
namespace {

using test::TiledGemm;

/// One access of a tile by a thread: the copy, and the number of barriers before the access.
struct Access {
  std::int64_t copy, interval;
};

/// The accesses of one thread of the first block to a tile, in order, evaluated with the arithmetic of the
/// kernel.
class Accesses {
public:
  Accesses(const kernel::Kernel &kernel, const kernel::Allocation &tile, std::int64_t thread)
      : tile_(tile.buffer), of_a_copy_(kernel::element_count(tile.buffer) / tile.slots) {
    for (const kernel::ThreadIndex &index : kernel.indices)
      set(index.var, index.axis == Axis::thread_x ? thread : 0);
    visit(kernel.body);
  }
  std::vector<Access> fills, reads;

private:
  void set(const Var &var, std::int64_t value) { point_[var] = Scalar::of(DType::i64, value).to(var->dtype); }
  Access access(const Expr &offset) const {
    return {floor_div(evaluate(offset, point_).to(DType::i64).as<std::int64_t>(), of_a_copy_), barriers_};
  }
  void read(const Expr &value) {
    walk(value, [&](const Expr &e) {
      if (const auto *load = e.as<Load>(); load && load->buffer == tile_)
        reads.push_back(access(load->indices[0]));
    });
  }
  void visit(const kernel::Stmt &stmt) {
    kernel::visit(
        stmt, Overloaded{
                  [&](const kernel::Declare &declare) {
                    read(declare.value);
                    if (is_index(declare.var->dtype))
                      point_[declare.var] = evaluate(declare.value, point_);
                  },
                  [&](const kernel::Loop &loop) {
                    for (std::int64_t n = 0; n < as_int(loop.extent).value(); ++n) {
                      set(loop.var, n);
                      visit(loop.body);
                    }
                  },
                  [&](const kernel::If &branch) {
                    if (evaluate(branch.condition, point_).bits)
                      visit(branch.body);
                    else if (branch.otherwise)
                      visit(branch.otherwise);
                  },
                  [&](const kernel::Seq &seq) {
                    for (const kernel::Stmt &child : seq.stmts)
                      visit(child);
                  },
                  [&](const kernel::Store &store) {
                    read(store.value);
                    if (store.buffer == tile_)
                      fills.push_back(access(store.indices[0]));
                  },
                  [](const kernel::Call &) {},
                  [](const kernel::BulkCopy &) {},
                  [&](const kernel::Sync &x) { barriers_ += std::holds_alternative<kernel::Barrier>(x.kind); },
              });
  }

  Buffer tile_;
  std::int64_t of_a_copy_, barriers_ = 0;
  std::map<Var, Scalar> point_;
};

/// Returns the first conflict between accesses to a tile, or an empty string if there is none. Iteration n
/// reads the values of the n-th fill. Accesses of different threads between the same two barriers have no
/// order.
std::string clash(const Accesses &of, std::size_t iterations) {
  if (of.fills.size() != iterations || of.reads.empty() || of.reads.size() % iterations != 0)
    return fmt::format("{} fills and {} reads in {} iterations", of.fills.size(), of.reads.size(), iterations);
  std::size_t each = of.reads.size() / iterations;
  for (std::size_t n = 0; n < iterations; ++n) {
    const Access &fill = of.fills[n];
    for (std::size_t r = n * each; r < (n + 1) * each; ++r) {
      if (of.reads[r].copy != fill.copy)
        return fmt::format("iteration {} reads copy {}, but {} is filled for it", n, of.reads[r].copy,
                           fill.copy);
      if (of.reads[r].interval <= fill.interval)
        return fmt::format("iteration {} reads copy {} while it is filled", n, fill.copy);
    }
    std::int64_t last_read = of.reads[(n + 1) * each - 1].interval;
    for (std::size_t later = n + 1; later < iterations; ++later)
      if (of.fills[later].copy == fill.copy && of.fills[later].interval <= last_read)
        return fmt::format("copy {} is overwritten for iteration {} while {} reads it", fill.copy, later, n);
  }
  return "";
}

/// Returns the kernel in which the iterations of k_outer use one copy of the tile fewer.
kernel::Kernel with_a_copy_fewer(kernel::Kernel kernel, const kernel::Allocation &tile) {
  auto turns = [&](const Expr &e) {
    const auto *op = e.as<Binary>();
    bool by_iteration = false;
    if (op && op->op == BinaryOp::floormod && as_int(op->b) == tile.slots)
      walk(op->a, [&](const Expr &part) {
        const Var *var = part.as<Var>();
        by_iteration = by_iteration || (var && (*var)->name == "k_outer");
      });
    return by_iteration ? floormod(op->a, int_imm(tile.slots - 1, e.dtype())) : e;
  };
  kernel.body =
      mutation::rewrite_offsets(kernel.body, tile.buffer, mutation::Side::both,
                                [&](const Expr &offset) { return mutation::rewrite_nodes(offset, turns); });
  return kernel;
}

/// Expects that the copies of each tile hold the values that are read, in any order of threads, and that one
/// copy fewer causes a conflict. Returns the numbers of copies of the tiles.
std::set<std::int64_t> expect_as_many_copies_as_it_takes(const Schedule &s, std::size_t iterations) {
  std::set<std::int64_t> depths;
  kernel::Kernel kernel = lower(s).only();
  for (const kernel::Allocation &tile : kernel.shared) {
    depths.insert(tile.slots);
    std::set<std::int64_t> used;
    for (std::int64_t thread = 0; thread < kernel.threads(); ++thread) {
      Accesses accesses(kernel, tile, thread);
      EXPECT_EQ(clash(accesses, iterations), "") << tile.buffer->name << ", thread " << thread << "\n"
                                                 << kernel::print(kernel);
      for (const Access &fill : accesses.fills)
        used.insert(fill.copy);
    }
    EXPECT_EQ(static_cast<std::int64_t>(used.size()), tile.slots) << kernel::print(kernel);
    if (tile.slots == 1)
      continue;
    kernel::Kernel fewer = with_a_copy_fewer(kernel, tile);
    for (std::int64_t thread = 0; thread < kernel.threads(); ++thread)
      EXPECT_THAT(clash(Accesses(fewer, tile, thread), iterations), testing::HasSubstr("is overwritten for"))
          << kernel::print(fewer);
    SimExecutor simulator;
    EXPECT_FALSE(check(s, fewer, simulator, {.to_first = true}).passed) << kernel::print(fewer);
  }
  return depths;
}

/// A copy is overwritten only after its last read. The test uses one to five copies.
TEST(KnownBugs, SlotLifetimesAreDisjointModuloDepth) {
  constexpr std::size_t iterations = 12;
  const TiledGemm plain(4, 4, 4 * iterations);
  std::set<std::int64_t> depths;
  auto expect = [&](const TiledGemm &t) {
    depths.merge(expect_as_many_copies_as_it_takes(t.s, iterations));
    test::expect_right(t.s);
  };
  for (test::Stages stages : test::all_stages) {
    TiledGemm t = plain;
    test::pipeline(t, stages);
    expect(t);
  }
  for (std::int64_t stages : {3, 4, 5})
    for (test::Factor first : {test::Factor::A, test::Factor::B})
      expect(test::deep_pipeline(plain, stages, first));
  EXPECT_THAT(depths, testing::ElementsAre(1, 2, 3, 4, 5));
}

} // namespace
} // namespace nestsmith
