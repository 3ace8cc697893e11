/// Proves that caches are written before they are read.

#include "tests/proofs/covered.h"

#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "tests/proofs/instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::proofs {

namespace {

using Indices = std::vector<Expr>;
using Loops = std::vector<const For *>;
using Point = std::vector<std::int64_t>;

/// Returns the indices as expressions of the loops around the block.
Indices in_loops(Indices indices, const Block &block) {
  for (Expr &index : indices)
    index = substitute(index, [&](const Var &var) {
      for (const IterVar &iter : block.iters)
        if (iter.var == var)
          return iter.binding;
      return Expr();
    });
  return indices;
}

/// Replaces these loop variables by 0.
Indices without(Indices indices, const Loops &loops) {
  for (Expr &index : indices)
    index = substitute(index, [&](const Var &var) {
      bool gone = std::any_of(loops.begin(), loops.end(), [&](const For *loop) { return loop->var == var; });
      return gone ? int_imm(0, var->dtype) : Expr();
    });
  return indices;
}

/// Replaces 0//y and 0 % y by 0. Divisors are positive.
Expr without_zeros_divided(const Expr &e) {
  Expr result = map_children(e, without_zeros_divided);
  const auto *op = result.as<Binary>();
  bool divides = op && (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod);
  return divides && as_int(op->a) == 0 ? op->a : result;
}

bool any_uses(const Indices &indices, const For &loop) {
  return std::any_of(indices.begin(), indices.end(), [&](const Expr &index) { return uses(index, loop.var); });
}

/// Returns the values of the expressions for all iterations in which the guards of these axes hold. Returns
/// none if the expressions, the guards or an extent depend on sizes.
std::optional<std::set<Point>> points(const Indices &indices, const Loops &loops,
                                      const std::vector<const IterVar *> &guards = {}) {
  if (std::any_of(indices.begin(), indices.end(), uses_size))
    return std::nullopt;
  std::map<Var, Scalar> at;
  std::set<Point> found;
  auto run = [&](std::size_t depth, const auto &self) -> bool {
    if (depth == loops.size()) {
      for (const IterVar *guard : guards)
        if (evaluate(guard->binding, at).as<std::int64_t>() >= as_int(guard->extent))
          return true;
      Point point;
      for (const Expr &index : indices)
        point.push_back(evaluate(index, at).as<std::int64_t>());
      found.insert(std::move(point));
      return true;
    }
    auto extent = as_int(loops[depth]->extent);
    bool used = any_uses(indices, *loops[depth]) || std::ranges::any_of(guards, [&](const IterVar *x) {
                  return uses(x->binding, loops[depth]->var);
                });
    for (std::int64_t n = 0; n < (used ? extent.value_or(0) : 1); ++n) {
      at[loops[depth]->var] = Scalar::of(DType::i64, n);
      if (!self(depth + 1, self))
        return false;
    }
    return !used || extent;
  };
  if (!run(0, run))
    return std::nullopt;
  return found;
}

/// A block that reads a temporary, and the first block that writes it.
class Pair {
public:
  Pair(const Program &program, const Block &writer, const Block &reader, const Load &access)
      : program_(program), writer_(writer), reader_(reader), at_(program, reader),
        text_(to_string(Expr(load(access.buffer, access.indices)))) {
    outer_ = loops_of(path_to(program.body, writer.id));
    readers_ = loops_of(path_to(program.body, reader.id));
    auto [own, readers] = std::mismatch(outer_.begin(), outer_.end(), readers_.begin(), readers_.end());
    inner_.assign(own, outer_.end());
    outer_.erase(own, outer_.end());
    readers_.erase(readers_.begin(), readers);
    for (const For *loop : inner_)
      at_.define(*loop);
    if (access.mask.exists()) // which excludes elements that the load does not read
      at_.prover.assume(at_.condition(access.mask));
    written_ = in_loops(writer.body.indices, writer);
    read_ = in_loops(access.indices, reader);
    base_ = without(written_, inner_);
    tile_ = without(written_, outer_);
    Indices first = without(tile_, inner_);        // the constant in the indices is a part of the base
    for (std::size_t d = 0; d < tile_.size(); ++d) // the tile has one element in this dimension
      tile_[d] = same(base_[d], written_[d])
                     ? Expr(0)
                     : without_zeros_divided(tile_[d]) - without_zeros_divided(first[d]);
  }

  Proof run() {
    for (std::size_t d = 0; d < written_.size(); ++d)
      claim(equal(at_.integer(written_[d]), at_.integer(base_[d]) + at_.integer(tile_[d])),
            "is not written tile by tile");
    check_guards();
    auto elements = points(tile_, inner_, partial_);
    if (!elements)
      claim(truth(false), "is written in loops that depend on sizes");
    else if (auto places = places_in_tile();
             places && std::includes(elements->begin(), elements->end(), places->begin(), places->end()))
      claim(truth(true), "is written");
    else
      check_in_box(*elements);
    return std::move(result_);
  }

private:
  void claim(const Formula &formula, const std::string &what) {
    result_.ask(at_.prover, Claim::covered, formula,
                fmt::format("{}: {} reads {}, which {}", program_.name, reader_.id->name, text_, what));
  }

  /// Claims that the reader does not read elements that the guards of the writer exclude.
  void check_guards() {
    for (const IterVar &iter : writer_.iters) {
      if (!iter.guarded)
        continue;
      bool indexes = false;
      for (std::size_t d = 0; d < read_.size(); ++d)
        if (const Var *axis = writer_.body.indices[d].as<Var>(); axis && *axis == iter.var) {
          claim(all({less_equal(Poly(0), at_.integer(read_[d])),
                     less(at_.integer(read_[d]), at_.integer(iter.extent))}),
                "its guard leaves out");
          indexes = true;
        }
      bool everywhere = same(iter.binding, without({iter.binding}, inner_).front());
      bool inside = same(iter.binding, without({iter.binding}, outer_).front()) && as_int(iter.extent);
      if (!indexes && inside) // the guard holds for a part of the tile
        partial_.push_back(&iter);
      else if (!indexes)
        claim(everywhere ? less(at_.integer(iter.binding), at_.integer(iter.extent)) : truth(false),
              "a guard leaves out");
    }
  }

  /// Returns the places in the tile of the elements that the reader reads, or none if there are too many
  /// iterations.
  std::optional<std::set<Point>> places_in_tile() {
    Indices places;
    for (std::size_t d = 0; d < read_.size(); ++d)
      places.push_back(read_[d] - base_[d]);
    Loops varying = readers_;
    double runs = 1;
    for (const For *loop : outer_) {
      Indices fixed = without(places, {loop});
      bool same_place = true;
      for (std::size_t d = 0; d < places.size(); ++d)
        same_place =
            same_place && at_.prover.prove(equal(at_.integer(places[d]), at_.integer(fixed[d]))).proved();
      if (same_place)
        places = std::move(fixed);
      else
        varying.push_back(loop);
    }
    for (const For *loop : varying)
      if (any_uses(places, *loop))
        runs *= static_cast<double>(as_int(loop->extent).value_or(most_runs));
    if (runs > most_runs)
      return std::nullopt;
    return points(places, varying);
  }

  /// Claims that the reader reads only complete rows of the tile. If there are none and the tile is small,
  /// claims that it reads only written elements.
  void check_in_box(const std::set<Point> &elements) {
    std::vector<Poly> place;
    Point extent(written_.size(), 0);
    for (std::size_t d = 0; d < extent.size(); ++d) {
      place.push_back(at_.integer(read_[d]) - at_.integer(base_[d]));
      for (const Point &point : elements)
        extent[d] = std::max(extent[d], point[d] + 1);
    }
    std::int64_t row = 1;
    for (std::size_t d = 1; d < extent.size(); ++d)
      row *= extent[d];
    std::map<std::int64_t, std::int64_t> rows;
    for (const Point &point : elements)
      ++rows[point.front()];
    for (extent.front() = 0; rows[extent.front()] == row;)
      ++extent.front();
    std::vector<Formula> choices;
    if (extent.front() == 0 && elements.size() <= most_elements)
      for (const Point &point : elements) {
        std::vector<Formula> same;
        for (std::size_t d = 0; d < extent.size(); ++d)
          same.push_back(equal(place[d], Poly(point[d])));
        choices.push_back(all(std::move(same)));
      }
    if (!choices.empty())
      return claim(any(std::move(choices)), "is not written");
    for (std::size_t d = 0; d < extent.size(); ++d)
      claim(all({at_least_0(place[d]), less(place[d], Poly(extent[d]))}), "is not written");
  }

  static constexpr std::size_t most_elements = 256;
  static constexpr std::int64_t most_runs = 1 << 16;
  const Program &program_;
  const Block &writer_, &reader_;
  Instance at_; ///< of the reader, with the loops of the writer
  std::string text_;
  Loops outer_, inner_, readers_; ///< around both; around the writer only; around the reader only
  Indices written_, read_;        ///< in terms of loops
  Indices base_, tile_; ///< the indices of the tile's first element, and the place of an element in the tile
  std::vector<const IterVar *> partial_; ///< guards that exclude the same part of the tile in every iteration
  Proof result_;
};

} // namespace

Proof prove_covered(const Program &program) {
  Proof result;
  std::vector<const Block *> blocks = blocks_of(program.body);
  for (const Buffer &buffer : temporaries(program)) {
    if (buffer->scope == Scope::global)
      continue;
    auto writer = std::find_if(blocks.begin(), blocks.end(),
                               [&](const Block *block) { return block->body.buffer == buffer; });
    for (auto reader = blocks.begin(); reader != blocks.end(); ++reader)
      for (const Load *access : loads_of(**reader))
        if (access->buffer == buffer && reader > writer)
          result.add(Pair(program, **writer, **reader, *access).run());
        else if (access->buffer == buffer && !(reader == writer && (*writer)->init))
          result.failures.push_back(fmt::format("{}: {} reads {} before it is written", program.name,
                                                (*reader)->id->name, buffer->name));
  }
  return result;
}

} // namespace nestsmith::proofs
