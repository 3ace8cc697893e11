#include "codegen/requirements.h"

#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

const std::string_view overlap_function =
    R"(/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

)";

namespace {

/// The negation of a condition.
Expr opposite(const Expr &condition) {
  const auto *op = condition.as<Binary>();
  if (op && op->op == BinaryOp::le)
    return op->b < op->a;
  if (op && op->op == BinaryOp::eq)
    return not_equal(op->a, op->b);
  return logical_not(condition);
}

class Writer {
public:
  explicit Writer(const Launcher &launcher) : launcher_(launcher), plan_(launcher.plan) {}

  Requirements write() {
    emptiness();
    if (plan_.sizes.empty())
      constants();
    else
      sizes();
    pointers();
    overlaps();
    return std::move(result_);
  }

private:
  static bool is_size(const Expr &e, const Var &size) { return e.as<Var>() && *e.as<Var>() == size; }

  void emptiness() {
    std::vector<std::string> conditions, texts;
    for (const Buffer &buffer : plan_.params) {
      if (buffer->role == Role::input)
        continue;
      std::vector<std::string> zero, names;
      for (const Expr &extent : buffer->shape)
        if (!as_int(extent)) {
          zero.push_back(launcher_.spell(equal(extent, Expr(0))));
          names.push_back(to_string(extent));
        }
      if (zero.empty())
        return; // the array always has elements
      std::string condition = fmt::format("{}", fmt::join(zero, " || "));
      if (std::ranges::find(conditions, condition) != conditions.end())
        continue;
      conditions.push_back(condition);
      texts.push_back(fmt::format("{} is 0", fmt::join(names, " or ")));
    }
    if (conditions.empty())
      return;
    bool one = conditions.size() == 1;
    result_.empty = one ? conditions[0] : fmt::format("({})", fmt::join(conditions, ") && ("));
    result_.empty_text = fmt::format("{}", fmt::join(texts, " and "));
  }

  void constants() {
    for (std::size_t n = 0; n < launcher_.sizes.size(); ++n) {
      const std::string &name = launcher_.sizes[n].name;
      result_.sizes.push_back(
          {fmt::format("{} != {}", name, launcher_.values[n]),
           fmt::format("{} must be {}, for which the kernel was generated", name, launcher_.values[n])});
    }
  }

  void sizes() {
    for (const kernel::SizeParameter &parameter : plan_.sizes)
      range(parameter.size);
    for (const kernel::Assumption &assumption : plan_.assumptions()) {
      // Assumptions about a size ("M", "lda, the leading dimension of A,") are separate from those about the
      // grid, which apply only if something is launched.
      const Var *size = assumption.got.as<Var>();
      if (size && !(assumption.what + ",").starts_with((*size)->name + ","))
        size = nullptr;
      const auto *op = assumption.holds.as<Binary>();
      if (size && assumption.what == (*size)->name && op && op->op == BinaryOp::le)
        continue; // its range
      std::string what =
          size ? assumption.what : fmt::format("{}, {},", assumption.what, launcher_.spell(assumption.got));
      (size ? result_.sizes : result_.rest)
          .push_back({launcher_.spell(opposite(assumption.holds)),
                      fmt::format("{} must be {}", what, assumption.text)});
    }
    for (const kernel::SizeParameter &parameter : plan_.sizes)
      if (!result_.empty.empty() && !is_positive(parameter.size))
        result_.rest.push_back({fmt::format("{} == 0", name(parameter.size)),
                                fmt::format("{} must be at least {}, unless {}", name(parameter.size),
                                            parameter.size->size->min, result_.empty_text)});
  }

  const std::string &name(const Var &size) const { return launcher_.names.at(size); }

  /// Accepts 0 if a size of 0 can make the outputs empty: that of an array. Others may be divisors.
  void range(const Var &size) {
    const Size &stated = *size->size;
    const std::string &size_name = name(size);
    bool zero = !result_.empty.empty() && is_of_array(plan_.params, size);
    std::int64_t least = zero && stated.min == 1 ? 0 : stated.min;
    bool gap = zero && least != 0;
    std::string below = gap ? fmt::format("({0} < {1} && {0} != 0)", size_name, least)
                            : fmt::format("{} < {}", size_name, least);
    result_.sizes.push_back(
        {fmt::format("{} || {} < {}", below, stated.max, size_name),
         fmt::format("{} must be {}from {} to {}", size_name, gap ? "0, or " : "", least, stated.max)});
  }

  /// Whether previous requirements imply that the size is not 0 if there is something to compute. This holds
  /// for an extent of every output, and for the leading dimension of rows that are not empty.
  bool is_positive(const Var &size) const {
    bool extent = true, leading = !is_of_array(plan_.params, size);
    for (const Buffer &buffer : plan_.params) {
      if (buffer->role != Role::input)
        extent &= std::ranges::any_of(buffer->shape, [&](const Expr &e) { return is_size(e, size); });
      leading |= buffer->strides && is_size((*buffer->strides)[buffer->shape.size() - 2], size);
    }
    return extent || leading;
  }

  void pointers() {
    for (const Parameter &pointer : launcher_.pointers)
      result_.rest.push_back({pointer.name + " == nullptr", pointer.name + " must not be null"});
    workspaces();
    if (!plan_.workspaces.empty()) {
      const std::string &memory = launcher_.workspace.name, &bytes = launcher_.workspace_bytes.name;
      result_.rest.push_back({memory + " == nullptr", memory + " must not be null"});
      aligned(memory, kernel::workspace_alignment);
      result_.rest.push_back({fmt::format("{} < {}", bytes, launcher_.workspace_call()),
                              fmt::format("{} must be at least {}", bytes, launcher_.workspace_call())});
    }
    std::map<Buffer, std::int64_t> bytes = alignments(plan_);
    for (std::size_t n = 0; n < plan_.params.size(); ++n)
      if (auto needed = std::max<std::int64_t>(bytes[plan_.params[n]], byte_size(plan_.params[n]->dtype));
          needed > 1)
        aligned(launcher_.pointers[n].name, needed);
  }

  /// With few terms in a part, the number of parts is large enough for their bytes to overflow.
  void workspaces() {
    if (chosen_sizes(plan_).empty())
      return; // or the choice of a file limits the bytes
    for (const kernel::Workspace &part : plan_.workspaces) {
      std::vector<std::string> extents;
      for (const Expr &extent : part.buffer->shape)
        extents.push_back(fmt::format("(double)({})", launcher_.spell(extent)));
      if (extents.size() > 1)
        result_.rest.push_back({fmt::format("1e17 < {}", fmt::join(extents, " * ")),
                                fmt::format("{} must have at most 10^17 elements", part.buffer->name)});
    }
  }

  void aligned(const std::string &name, std::int64_t bytes) {
    result_.rest.push_back({fmt::format("(size_t){} % {} != 0", name, bytes),
                            fmt::format("{} must be aligned to {} bytes", name, bytes)});
  }

  std::string bytes_of(const Buffer &buffer) const {
    Expr elements = simplify(span_of(*buffer));
    std::string count = as_int(elements) ? fmt::format("{}LL", *as_int(elements)) : launcher_.spell(elements);
    if (elements.as<Binary>())
      count = "(" + count + ")";
    return fmt::format("{} * sizeof({})", count, c_type(buffer->dtype));
  }

  void overlap(const std::string &a, const std::string &a_bytes, const std::string &b,
               const std::string &b_bytes) {
    result_.rest.push_back({fmt::format("overlap({}, {}, {}, {})", a, a_bytes, b, b_bytes),
                            fmt::format("{} and {} must not overlap", a, b)});
  }

  /// Pairs of arrays, one of which is written.
  void overlaps() {
    const Expr &bytes = plan_.workspace_bytes;
    std::string workspace = as_int(bytes) ? std::to_string(*as_int(bytes)) : launcher_.spell(bytes);
    for (std::size_t a = 0; a < plan_.params.size(); ++a) {
      const std::string &name = launcher_.pointers[a].name;
      for (std::size_t b = a + 1; b < plan_.params.size(); ++b)
        if (plan_.params[a]->role != Role::input || plan_.params[b]->role != Role::input)
          overlap(name, bytes_of(plan_.params[a]), launcher_.pointers[b].name, bytes_of(plan_.params[b]));
      if (!plan_.workspaces.empty())
        overlap(name, bytes_of(plan_.params[a]), launcher_.workspace.name, workspace);
    }
  }

  const Launcher &launcher_;
  const kernel::Plan &plan_;
  Requirements result_;
};

} // namespace

std::vector<Requirement> Requirements::all() const {
  std::vector<Requirement> list = sizes;
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

bool Requirements::check_overlaps() const {
  return std::ranges::any_of(
      rest, [](const Requirement &requirement) { return requirement.broken.starts_with("overlap("); });
}

Requirements requirements_of(const Launcher &launcher) { return Writer(launcher).write(); }

} // namespace nestsmith
