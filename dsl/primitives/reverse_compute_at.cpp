#include "dsl/primitives/reverse_compute_at.h"

#include "dsl/primitives/move.h"
#include "dsl/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith::primitives {

namespace {

/// The temporaries that the consumer reads and blocks below the loop write.
std::vector<Buffer> links_of(const Schedule::Edit &edit, const Block &consumer, const For &loop) {
  if (find_block(loop.body, consumer.id))
    edit.refuse("reverse_compute_at.reads",
                fmt::format("block {} is already below {}; name a loop of a producer", consumer.id->name,
                            loop.var->name),
                {loop.var->name, consumer.id->name});
  std::vector<Buffer> links;
  for (const Load *access : loads_of(consumer)) {
    const Buffer &buffer = access->buffer;
    if (buffer->role == Role::temporary && buffer != consumer.body.buffer &&
        !writers_of(loop.body, buffer).empty() && std::ranges::find(links, buffer) == links.end())
      links.push_back(buffer);
  }
  if (links.empty())
    edit.refuse(
        "reverse_compute_at.reads",
        fmt::format("block {} reads no temporary that is written below {}; choose a loop of its producer",
                    consumer.id->name, loop.var->name),
        {loop.var->name, consumer.id->name});
  return links;
}

std::string names(const std::vector<Buffer> &buffers) {
  std::string text;
  for (const Buffer &buffer : buffers)
    text += (text.empty() ? "" : " and ") + buffer->name;
  return text;
}

void check_complete(const Schedule::Edit &edit, const For &loop, const Buffer &link) {
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
}

/// Every temporary that is not in `links` must be complete before the nest of the loop.
void check_inputs(const Schedule::Edit &edit, const Block &consumer, const For &loop,
                  const std::vector<Buffer> &links) {
  for (const Load *access : loads_of(consumer)) {
    if (std::ranges::find(links, access->buffer) != links.end() || access->buffer->role != Role::temporary)
      continue;
    const Stmt outermost = path_to(edit.body(), loops_of(path_to(edit.body(), loop.var)).front()->var).back();
    auto order = blocks_of(edit.body());
    auto position = [&](const BlockId &id) {
      return std::find_if(order.begin(), order.end(), [&](const Block *block) { return block->id == id; }) -
             order.begin();
    };
    auto first = position(blocks_of(outermost).front()->id);
    for (const Block *writer : writers_of(edit.body(), access->buffer))
      if (writer->id != consumer.id && position(writer->id) >= first)
        edit.refuse(
            "reverse_compute_at.inputs",
            fmt::format("block {} also reads {}, which {} writes after the start of {}; move {} there first",
                        consumer.id->name, access->buffer->name, writer->id->name, loop.var->name,
                        writer->id->name),
            {loop.var->name, writer->id->name});
  }
}

/// Instances of the consumer: a box of its spatial axes, which is empty unless `zeros` are 0.
struct Instances {
  Region box;
  std::vector<Expr> zeros;
};

/// Finds a box of the consumer's axes that contains all instances that read one of a box of elements.
class AxesOfBox {
public:
  explicit AxesOfBox(const Block &consumer) : consumer_(consumer) {
    for (const IterVar &iter : consumer.iters)
      bounds_.set_extent(iter.var, iter.extent);
  }

  /// Adds one dimension. `bounds` are those of the loops. Returns whether the index is a constant plus a
  /// mixed-radix number of axes or of their digits whose values in the span are a box. The number may have a
  /// stride, and gaps between its digits: the elements in the gaps are not read.
  bool add(const Expr &index, const Expr &shape, Span span, const Bounds &bounds) {
    Linear number = linearize(index, bounds_);
    auto &terms = number.terms;
    bool whole = proves(span.min <= Expr(0), bounds) && proves(shape <= span.min + span.extent, bounds);
    if (terms.empty())
      return whole || take_one(span, number.constant, bounds);
    std::ranges::sort(terms, {}, &Term::coefficient);
    if (!take_multiples(span, number.constant, terms.front().coefficient, bounds))
      return false;
    for (std::size_t n = 0; n < terms.size(); ++n) {
      const auto &[coefficient, digit] = terms[n];
      const Var *var = digit.base.as<Var>();
      auto values = range_of(digit, bounds_);
      if (!var || !values)
        return false;
      auto own = std::optional(span);
      if (n + 1 < terms.size()) {
        std::int64_t radix = terms[n + 1].coefficient / coefficient;
        if (terms[n + 1].coefficient % coefficient != 0 || radix <= values->high)
          return false;
        own = lowest(span, radix, bounds);
      }
      if (!own)
        return false;
      digits_[*var].push_back({digit, *own, values->high + 1});
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

  std::vector<Expr> zeros; ///< the box is empty unless these expressions of loops are 0

private:
  struct Part {
    Digit digit;
    Span span;
    std::int64_t values; ///< of the digit
  };

  static bool is_multiple(const Expr &e, std::int64_t of, const Bounds &bounds) {
    return as_int(simplify(floormod(e, Expr(of)), bounds)) == 0;
  }

  /// The span contains the index in only one of the tiles of its extent.
  bool take_one(const Span &span, std::int64_t index, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (!extent || !span.runs.empty() || !is_multiple(span.min, *extent, bounds))
      return false;
    zeros.push_back(simplify(floordiv(span.min, Expr(*extent)) - Expr(floor_div(index, *extent)), bounds));
    return true;
  }

  /// Replaces a span by the span of the numbers n for which it contains constant + stride * n. A span that is
  /// shorter than the stride contains one of them or none.
  bool take_multiples(Span &span, std::int64_t constant, std::int64_t stride, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (stride < 1 || (stride > 1 && !(extent && span.runs.empty())))
      return false;
    Expr begin = simplify(span.min - Expr(constant), bounds);
    if (stride == 1 || *extent % stride == 0) {
      span.min = simplify(floordiv(begin + Expr(stride - 1), Expr(stride)), bounds);
      span.extent = stride == 1 ? span.extent : Expr(*extent / stride);
      return true;
    }
    if (constant % stride != 0 || stride % *extent != 0 || !is_multiple(begin, *extent, bounds))
      return false;
    zeros.push_back(simplify(floordiv(floormod(begin, Expr(stride)), Expr(*extent)), bounds));
    span = {simplify(floordiv(begin, Expr(stride)), bounds), Expr(1)};
    return true;
  }

  /// Takes the lowest digit from a span: either all its values in whole rows, or a part of one row.
  static std::optional<Span> lowest(Span &span, std::int64_t radix, const Bounds &bounds) {
    auto extent = as_int(span.extent);
    if (!extent || !span.runs.empty())
      return std::nullopt;
    bool rows = *extent % radix == 0 && is_multiple(span.min, radix, bounds);
    if (!rows && !(radix % *extent == 0 && is_multiple(span.min, *extent, bounds)))
      return std::nullopt;
    Span low = rows ? Span{Expr(0), Expr(radix)}
                    : Span{simplify(floormod(span.min, Expr(radix)), bounds), span.extent};
    span = {simplify(floordiv(span.min, Expr(radix)), bounds), Expr(rows ? *extent / radix : 1)};
    return low;
  }

  /// Whether different values of the axis are different elements of the result. An axis for a guard only is not
  /// an index: its values are not independent of the other axes.
  bool is_index(const IterVar &iter) const {
    return std::ranges::any_of(consumer_.body.indices, [&](const Expr &e) { return uses(e, iter.var); });
  }

  std::optional<Span> span_of(const IterVar &iter) {
    auto &parts = digits_[iter.var];
    if (parts.empty() && (is_index(iter) || iter.is_summed() || as_int(iter.extent) == 1))
      return Span{Expr(0), iter.extent};
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

/// The instances of the consumer that read the elements of `link` made in one iteration of the loop.
Instances readers_of_box(const Schedule::Edit &edit, const Block &consumer, const For &loop, const Buffer &link,
                         const Region &made, const Bounds &bounds) {
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
  bool sums = std::ranges::any_of(consumer.iters, &IterVar::is_summed);
  if (!region || (sums && !axes.zeros.empty())) // a sum has no guards of its own
    edit.refuse("reverse_compute_at.identity",
                fmt::format("block {} reads {} so that the elements that it can compute in one iteration of {} "
                            "are not a box of its axes; use compute_at on the producer",
                            consumer.id->name, link->name, loop.var->name),
                {consumer.id->name});
  return {*region, axes.zeros};
}

/// The instances of the consumer for one iteration of the loop. Every link must give the same.
Instances common_instances(const Schedule::Edit &edit, const Block &consumer, const For &loop,
                           const std::vector<Buffer> &links, const Bounds &bounds) {
  std::set<Var> fixed;
  for (const For *outer : loops_of(path_to(edit.body(), loop.var)))
    fixed.insert(outer->var);
  auto equal = [&](const Span &a, const Span &b) {
    return as_int(simplify(a.min - b.min, bounds)) == 0 && same(a.extent, b.extent) && a.runs == b.runs;
  };
  std::optional<Instances> instances;
  for (const Buffer &link : links) {
    auto made = region_written(
        loop.body, link, [&](const Var &var) { return !fixed.count(var); }, bounds);
    Instances own = readers_of_box(edit, consumer, loop, link, made.value(), bounds);
    if (instances && !(std::ranges::equal(instances->box, own.box, equal) &&
                       std::ranges::equal(instances->zeros, own.zeros, same)))
      edit.refuse("reverse_compute_at.inputs",
                  fmt::format("block {} reads {} and {}, and one iteration of {} produces the inputs of "
                              "different elements; choose a loop in which both are complete for the same "
                              "elements",
                              consumer.id->name, links.front()->name, link->name, loop.var->name),
                  {loop.var->name, consumer.id->name});
    instances = std::move(own);
  }
  return *instances;
}

/// The consumer with an axis for each of `zeros`: its guard excludes the iterations in which the value is not
/// 0.
Block with_guards(Block consumer, const std::vector<Expr> &zeros) {
  for (const Expr &zero : zeros)
    consumer.iters.push_back({make_var(consumer.id->name + "_part"), Expr(1), IterKind::spatial, zero});
  return consumer;
}

/// The loops of the links may produce only a part of them, if no block reads the rest: a mask excludes it. The
/// moved block still has to compute all of its own elements.
void check_covered(const Schedule::Edit &edit, const Block &moved, const For &loop,
                   const std::vector<Buffer> &links, const Bounds &bounds) {
  for (const IterVar &iter : moved.iters) {
    if (!iter.is_summed() && !covers_extent(iter, bounds))
      edit.refuse(
          "reverse_compute_at.covers",
          fmt::format("the loops around {} produce only a part of {}, so block {} would not compute all of "
                      "its {} elements along {}; use compute_at on the producer",
                      loop.var->name, names(links), moved.id->name, to_string(iter.extent), iter.var->name),
          {loop.var->name});
  }
}

} // namespace

void reverse_compute_at(Schedule &schedule, BlockRef handle, Loop at) {
  Schedule::Edit edit(schedule, "reverse_compute_at", {BlockName{block_name(handle)}, LoopName{loop_name(at)}});
  const Block &consumer = edit.block(handle);
  const For &loop = edit.loop(at);
  std::vector<Buffer> links = links_of(edit, consumer, loop);
  require_plain_nest(edit, "reverse_compute_at.serial", consumer);
  for (const Buffer &link : links)
    check_complete(edit, loop, link);
  check_inputs(edit, consumer, loop, links);

  Bounds bounds = loop_bounds(edit.body());
  auto [box, zeros] = common_instances(edit, consumer, loop, links, bounds);
  Stmt nest = nest_over(edit, with_guards(consumer, zeros), box, bounds);

  std::vector<const For *> around = loops_of(path_to(edit.body(), loop.var));
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
                            loop.var->name, names(links), consumer.id->name),
                {loop.var->name, consumer.id->name});
  check_covered(edit, *find_block(nest, consumer.id), loop, links, loop_bounds(make_seq({edit.body(), nest})));
  Stmt body =
      insert_into(remove_block(edit.body(), consumer.id), loop.var, nest, [](const Stmt &) { return false; });
  require_kept_order(edit, "reverse_compute_at.order", consumer.id, body, consumer.id, loop.var->name);
  edit.commit(body);
}

} // namespace nestsmith::primitives
