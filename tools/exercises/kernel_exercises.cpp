/// Exercises about one statement of a kernel: a barrier to remove, or a wait to strengthen.

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "tools/exercises/exercise.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith::exercise {

namespace {

/// Replaces each statement for which `f` returns one. A null result of `f` removes the statement; none keeps
/// it.
using Replace = llvm::function_ref<std::optional<kernel::Stmt>(const kernel::Stmt &)>;
kernel::Stmt with_replaced(const kernel::Stmt &stmt, Replace f) {
  if (std::optional<kernel::Stmt> other = f(stmt))
    return *other;
  return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return with_replaced(child, f); });
}

template <class T> std::vector<kernel::Stmt> all_of_kind(const kernel::Plan &plan) {
  std::vector<kernel::Stmt> found;
  kernel::walk(plan.only().body, [&](const kernel::Stmt &stmt) {
    if (kernel::as<T>(stmt))
      found.push_back(stmt);
  });
  return found;
}

/// The text of the kernel, without the functions that it calls, with the number of each statement, from 1.
std::string numbered_text(const kernel::Plan &plan, const std::vector<kernel::Stmt> &stmts, const char *noun) {
  CudaText cuda = cuda_text(plan);
  llvm::StringRef rest(cuda.traced.text);
  std::string text;
  bool in_kernel = false;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    auto [line, after] = rest.split('\n');
    in_kernel |= line.contains("__global__");
    rest = after;
    if (!in_kernel)
      continue;
    text += line.rtrim();
    for (std::size_t n = 0; n < stmts.size(); ++n)
      if (cuda.line(stmts[n]).number == number)
        text += fmt::format("  // {} {}", noun, n + 1);
    text += "\n";
  }
  return text;
}

/// An integer of the answer. Throws UserError (usage).
std::int64_t number_in(llvm::StringRef text, std::int64_t least, std::int64_t most, const char *what) {
  std::int64_t number = 0;
  if (text.trim().getAsInteger(10, number) || number < least || number > most)
    throw UserError(ExitCode::usage, fmt::format("'{}' is not {}: expected a number from {} to {}",
                                                 text.trim().str(), what, least, most));
  return number;
}

/// A product by tiles in shared memory. A barrier without a purpose follows the first store to shared memory,
/// and no barrier has a certificate, which would be printed.
ProductPlan with_needless_barrier() {
  ProductPlan product = product_plan(tiles32(), {64, 64, 64});
  bool added = false;
  kernel::Stmt &body = product.plan.kernels.front().body;
  body = with_replaced(body, [&](const kernel::Stmt &stmt) -> std::optional<kernel::Stmt> {
    if (kernel::as<kernel::Barrier>(stmt))
      return kernel::make(kernel::Barrier{});
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (added || !store || store->buffer->scope != Scope::shared)
      return std::nullopt;
    added = true;
    return kernel::make_seq({stmt, kernel::make(kernel::Barrier{})});
  });
  return product;
}

ExerciseResult judge_barrier(const std::string &answer) {
  ProductPlan product = with_needless_barrier();
  std::vector<kernel::Stmt> barriers = all_of_kind<kernel::Barrier>(product.plan);
  auto count = static_cast<std::int64_t>(barriers.size());
  auto chosen = static_cast<std::size_t>(number_in(answer, 1, count, "the number of a barrier"));
  kernel::Stmt &body = product.plan.kernels.front().body;
  body = with_replaced(body, [&](const kernel::Stmt &stmt) -> std::optional<kernel::Stmt> {
    return stmt == barriers[chosen - 1] ? std::optional(kernel::Stmt()) : std::nullopt;
  });
  ExerciseResult result = checked(product.source, product.plan);
  auto left = all_of_kind<kernel::Barrier>(product.plan).size();
  result.measured.push_back({"barriers in the kernel", static_cast<double>(left),
                             fmt::format("at most {}", count - 1), static_cast<std::int64_t>(left) < count});
  return result;
}

/// A product whose tiles are copied asynchronously, with other numbers of groups that each wait leaves in
/// flight.
ProductPlan with_waits(llvm::function_ref<std::int64_t(std::size_t number, std::int64_t pending)> change) {
  std::vector<std::string> lines = tiles32();
  for (const char *line : {"s.async_copy(A_shared);", "s.async_copy(B_shared);",
                           "s.pipeline(k_outer, {{A_shared, 0, 0}, {B_shared, 0, 1}, {AB, 3, 2}});"})
    lines.emplace_back(line);
  ProductPlan product = product_plan(lines, {32, 32, 160});
  std::size_t number = 0;
  kernel::Stmt &body = product.plan.kernels.front().body;
  body = with_replaced(body, [&](const kernel::Stmt &stmt) -> std::optional<kernel::Stmt> {
    const auto *wait = kernel::as<kernel::Wait>(stmt);
    if (!wait)
      return std::nullopt;
    return kernel::make(kernel::Wait{change(number++, wait->pending)});
  });
  return product;
}

ProductPlan with_weak_waits() {
  return with_waits([](std::size_t, std::int64_t pending) { return pending + 1; });
}

ExerciseResult judge_wait(const std::string &answer) {
  std::vector<kernel::Stmt> waits = all_of_kind<kernel::Wait>(with_weak_waits().plan);
  std::vector<std::int64_t> pending;
  llvm::StringRef rest(answer);
  for (std::size_t n = 0; n < waits.size(); ++n) {
    auto [first, after] = rest.split(',');
    pending.push_back(number_in(first, 0, 8, "a number of groups in flight"));
    rest = after;
  }
  if (!rest.trim().empty())
    throw UserError(ExitCode::usage, fmt::format("'{}' has more numbers than the kernel has waits: expected {}",
                                                 answer, waits.size()));
  ProductPlan product = with_waits([&](std::size_t n, std::int64_t) { return pending[n]; });
  ExerciseResult result = checked(product.source, product.plan);
  if (!result.wrong.empty())
    return result;
  for (std::size_t weaker = 0; weaker < waits.size(); ++weaker) {
    ProductPlan other = with_waits([&](std::size_t n, std::int64_t) { return pending[n] + (n == weaker); });
    bool fails = !checked(other.source, other.plan).wrong.empty();
    result.measured.push_back({fmt::format("groups in flight after wait {}", weaker + 1),
                               static_cast<double>(pending[weaker]),
                               fails ? "one more would be wrong" : "one more would also be right", fails});
  }
  return result;
}

} // namespace

Exercise needless_barrier() {
  return {
      .name = "barrier",
      .title = "the one barrier that is not needed",
      .task =
          "One of the barriers of this kernel orders no accesses of different threads. Find it. The answer is "
          "its number. Without it, the simulator must find no race.",
      .example = "2",
      .hints =
          {"A barrier is needed if one thread accesses an element before it, another thread accesses the same "
           "element after it, and one of them stores.",
           "Write down which array is stored and which is read between any two barriers. The loop over k "
           "continues at its first statement.",
           "The stores to A_shared and to B_shared access different arrays, and no thread reads them "
           "before both are stored."},
      .text =
          [] {
            ProductPlan product = with_needless_barrier();
            return numbered_text(product.plan, all_of_kind<kernel::Barrier>(product.plan), "barrier");
          },
      .judge = judge_barrier};
}

Exercise weak_wait() {
  return {
      .name = "wait",
      .title = "the wait that is one too weak",
      .task = "Asynchronous copies fill the tiles of the next iterations. wait_copies<n> waits until at most n "
              "groups "
              "of copies are in flight. The wait of this kernel leaves too many in flight. The answer is the "
              "number of groups that it may leave in flight: the largest one for which the simulator finds "
              "no read of a copy in flight.",
      .example = "0",
      .hints =
          {"commit_copies ends a group. Groups complete in order, so that at most n in flight means that all "
           "but the latest n are complete.",
           "Count the groups that are committed before the wait of the first iteration. The first of "
           "them has the tile that this iteration reads.",
           "Three groups are committed before the loop, and the first one must be complete: two may be in "
           "flight."},
      .text =
          [] {
            ProductPlan product = with_weak_waits();
            return numbered_text(product.plan, all_of_kind<kernel::Wait>(product.plan), "wait");
          },
      .judge = judge_wait};
}

} // namespace nestsmith::exercise
