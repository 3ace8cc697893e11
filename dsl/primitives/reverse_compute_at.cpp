#include "dsl/primitives/reverse_compute_at.h"

#include "dsl/primitives/move.h"
#include "dsl/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith::primitives {

namespace {

/// The temporary that the consumer reads and a block below the loop writes.
Buffer link_of(const Schedule::Edit &edit, const Block &consumer, const For &loop) {
  if (find_block(loop.body, consumer.id))
    edit.refuse("reverse_compute_at.reads",
                fmt::format("block {} is already below {}; name a loop of a producer", consumer.id->name,
                            loop.var->name),
                {loop.var->name, consumer.id->name});
  Buffer link;
  for (const Load *access : loads_of(consumer))
    if (access->buffer != consumer.body.buffer && !writers_of(loop.body, access->buffer).empty())
      link = access->buffer;
  if (!link || link->role != Role::temporary)
    edit.refuse(
        "reverse_compute_at.reads",
        fmt::format("block {} reads no temporary that is written below {}; choose a loop of its producer",
                    consumer.id->name, loop.var->name),
        {loop.var->name, consumer.id->name});
  return link;
}

void check_complete(const Schedule::Edit &edit, const Block &consumer, const For &loop, const Buffer &link) {
  for (const Block *writer : writers_of(edit.body(), link)) {
    if (!find_block(loop.body, writer->id))
      edit.refuse(
          "reverse_compute_at.complete",
          fmt::format("block {} also writes {} but is not below {}; choose a loop that encloses every writer",
                      writer->id->name, link->name, loop.var->name),
          {loop.var->name, writer->id->name});
    for (const For *outer : loops_of(path_to(edit.body(), loop.var)))
      for (const IterVar &iter : writer->iters)
        if (sums_over(*writer, iter, outer->var))
          edit.refuse(
              "reverse_compute_at.complete",
              fmt::format(
                  "block {} sums over {}, so {} holds a partial sum inside it; choose a loop outside of {}",
                  writer->id->name, outer->var->name, link->name, outer->var->name),
              {outer->var->name, writer->id->name});
  }
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer == link || access->buffer->role != Role::temporary)
      continue;
    const Stmt outermost = path_to(edit.body(), loops_of(path_to(edit.body(), loop.var)).front()->var).back();
    auto order = blocks_of(edit.body());
    auto position = [&](const BlockId &id) {
      return std::find_if(order.begin(), order.end(), [&](const Block *block) { return block->id == id; }) -
             order.begin();
    };
    auto first = position(blocks_of(outermost).front()->id);
    for (const Block *writer : writers_of(edit.body(), access->buffer))
      if (position(writer->id) >= first)
        edit.refuse(
            "reverse_compute_at.inputs",
            fmt::format("block {} also reads {}, which {} writes after the start of {}; move {} there first",
                        consumer.id->name, access->buffer->name, writer->id->name, loop.var->name,
                        writer->id->name),
            {loop.var->name, writer->id->name});
  }
}

/// Finds the box of the consumer's axes for a box of the elements that it reads.
class AxesOfBox {
public:
  explicit AxesOfBox(const Block &consumer) : consumer_(consumer) {
    for (const IterVar &iter : consumer.iters)
      bounds_.set_extent(iter.var, iter.extent);
  }

  /// Adds one dimension. `bounds` are those of the loops. Returns whether the index is a constant in a whole
  /// dimension, or a mixed-radix number of axes or of their digits whose values in the span are a box.
  bool add(const Expr &index, const Expr &shape, Span span, const Bounds &bounds) {
    Linear number = linearize(index, bounds_);
    auto &terms = number.terms;
    if (terms.empty())
      return proves(span.min <= Expr(0), bounds) && proves(shape <= span.min + span.extent, bounds);
    std::ranges::sort(terms, {}, &Term::coefficient);
    std::int64_t radix = 1;
    for (std::size_t n = 0; n < terms.size(); ++n) {
      const auto &[coefficient, digit] = terms[n];
      const Var *var = digit.base.as<Var>();
      auto values = range_of(digit, bounds_);
      if (!var || number.constant != 0 || coefficient != radix || !values)
        return false;
      bool last = n + 1 == terms.size();
      auto own = last ? std::optional(span) : lowest(span, values->high + 1, bounds);
      if (!own)
        return false;
      digits_[*var].push_back({digit, *own, values->high + 1});
      radix *= values->high + 1;
    }
    return true;
  }

  /// None if an axis does not follow from its digits, or if the box does not contain all of a sum.
  std::optional<Region> spatial() {
    Region region;
    for (const IterVar &iter : consumer_.iters) {
      auto span = span_of(iter);
      bool whole =
          span && as_int(span->min) == 0 && proves(iter.extent <= span->extent, bounds_) && span->runs.empty();
      if (!span || (iter.is_summed() && !whole))
        return std::nullopt;
      if (!iter.is_summed())
        region.push_back(*span);
    }
    return region;
  }

private:
  struct Part {
    Digit digit;
    Span span;
    std::int64_t values; ///< of the digit
  };

  /// Takes the lowest digit from a span: either all its values in whole rows, or a part of one row.
  static std::optional<Span> lowest(Span &span, std::int64_t radix, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    auto divides = [&](std::int64_t by) { return as_int(simplify(floormod(span.min, Expr(by)), bounds)) == 0; };
    if (!extent || !span.runs.empty())
      return std::nullopt;
    bool rows = *extent % radix == 0 && divides(radix);
    if (!rows && !(radix % *extent == 0 && divides(*extent)))
      return std::nullopt;
    Span low = rows ? Span{Expr(0), Expr(radix)}
                    : Span{simplify(floormod(span.min, Expr(radix)), bounds), span.extent};
    span = {simplify(floordiv(span.min, Expr(radix)), bounds), Expr(rows ? *extent / radix : 1)};
    return low;
  }

  std::optional<Span> span_of(const IterVar &iter) {
    auto &parts = digits_[iter.var];
    if (parts.empty() && as_int(iter.extent) == 1)
      return Span{Expr(0), Expr(1)};
    if (parts.size() == 1 && parts[0].digit.div == 1 && parts[0].digit.mod == 0)
      return parts[0].span;
    std::ranges::sort(parts, {}, [](const Part &part) { return part.digit.div; });
    Span result{Expr(0), Expr(1)};
    std::int64_t reached = 1, last = 0;
    for (const auto &[digit, span, values] : parts) {
      auto extent = as_int(span.extent);
      if (digit.div != reached || !extent || !span.runs.empty())
        return std::nullopt;
      reached *= values;
      result.min = result.min + span.min * Expr(digit.div);
      last += digit.div * (*extent - 1);
      auto &runs = result.runs; // the smallest step first
      if (!runs.empty() && runs.back().step * runs.back().count == digit.div)
        runs.back().count *= *extent;
      else if (*extent > 1)
        runs.push_back({digit.div, *extent});
    }
    if (!proves(iter.extent <= Expr(reached), bounds_))
      return std::nullopt;
    result.extent = Expr(last + 1);
    std::ranges::reverse(result.runs);
    if (result.runs.empty() || (result.runs.size() == 1 && result.runs.front().step == 1))
      result.runs.clear();
    return result;
  }

  const Block &consumer_;
  Bounds bounds_;
  std::map<Var, std::vector<Part>> digits_;
};

/// The box of the consumer's spatial axes that reads the elements `made`.
Region box_of_axes(const Schedule::Edit &edit, const Block &consumer, const Buffer &link, const Region &made,
                   const Bounds &bounds) {
  const Load *first = nullptr;
  bool good = true;
  AxesOfBox axes(consumer);
  for (const Load *access : loads_of(consumer)) {
    if (access->buffer != link)
      continue;
    if (first)
      good = good && std::ranges::equal(first->indices, access->indices, same);
    for (std::size_t d = 0; d < made.size() && !first; ++d)
      good = good && axes.add(access->indices[d], link->shape[d], made[d], bounds);
    first = access;
  }
  auto region = good ? axes.spatial() : std::nullopt;
  if (!region)
    edit.refuse("reverse_compute_at.identity",
                fmt::format("block {} does not read {} at exactly its own axes, so the elements that it can "
                            "compute in one iteration are not a box; use compute_at on the producer",
                            consumer.id->name, link->name),
                {consumer.id->name});
  return *region;
}

/// The loops of the link may produce only a part of it, if no block reads the rest: a mask excludes it. The
/// moved block still has to compute all of its own elements.
void check_covered(const Schedule::Edit &edit, const Block &moved, const For &loop, const Buffer &link,
                   const Bounds &bounds) {
  for (const IterVar &iter : moved.iters) {
    if (!iter.is_summed() && !covers_extent(iter, bounds))
      edit.refuse(
          "reverse_compute_at.covers",
          fmt::format("the loops around {} produce only a part of {}, so block {} would not compute all of "
                      "its {} elements along {}; use compute_at on the producer",
                      loop.var->name, link->name, moved.id->name, to_string(iter.extent), iter.var->name),
          {loop.var->name});
  }
}

} // namespace

void reverse_compute_at(Schedule &schedule, BlockRef handle, Loop at) {
  Schedule::Edit edit(schedule, "reverse_compute_at", {BlockName{block_name(handle)}, LoopName{loop_name(at)}});
  const Block &consumer = edit.block(handle);
  const For &loop = edit.loop(at);
  Buffer link = link_of(edit, consumer, loop);
  require_plain_nest(edit, "reverse_compute_at.serial", consumer);
  check_complete(edit, consumer, loop, link);

  Bounds bounds = loop_bounds(edit.body());
  auto outer = loops_of(path_to(edit.body(), loop.var));
  std::set<Var> fixed;
  for (const For *x : outer)
    fixed.insert(x->var);
  auto made = region_written(
      loop.body, link, [&](const Var &var) { return !fixed.count(var); }, bounds);
  Region region = box_of_axes(edit, consumer, link, made.value(), bounds);
  Stmt nest = nest_over(edit, consumer, region, bounds);

  std::vector<const For *> around = outer;
  std::vector<Expr> bindings;
  for (const For *x : loops_of(path_to(nest, consumer.id)))
    around.push_back(x);
  for (const IterVar &iter : find_block(nest, consumer.id)->iters)
    bindings.push_back(iter.binding);
  if (!bijective(bindings, around, loop_bounds(make_seq({edit.body(), nest}))))
    edit.refuse("reverse_compute_at.partition",
                fmt::format("the iterations of {} and of the loops around it do not produce disjoint boxes of "
                            "{}, so block {} would run more than once for some elements; choose a loop whose "
                            "iterations each complete a separate tile",
                            loop.var->name, link->name, consumer.id->name),
                {loop.var->name, consumer.id->name});
  check_covered(edit, *find_block(nest, consumer.id), loop, link, loop_bounds(make_seq({edit.body(), nest})));
  Stmt body =
      insert_into(remove_block(edit.body(), consumer.id), loop.var, nest, [](const Stmt &) { return false; });
  require_kept_order(edit, "reverse_compute_at.order", consumer.id, body, consumer.id, loop.var->name);
  edit.commit(body);
}

} // namespace nestsmith::primitives
