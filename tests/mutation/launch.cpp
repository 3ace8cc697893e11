/// Bugs in the launch of a kernel: the extents of its axes, its indices, its arguments, and the order of
/// kernels.

#include "tests/mutation/catalogue.h"

namespace nestsmith::mutation {

using kernel::Kernel;
using kernel::ThreadIndex;

namespace {

std::function<void(Kernel &, Chooser &)> extents(bool threads, std::int64_t by) {
  return [threads, by](Kernel &kernel, Chooser &chooser) {
    for (ThreadIndex &index : kernel.indices)
      if (is_thread(index.axis) == threads && chooser.take([&] { return index.var->name; }))
        index.extent = simplify(index.extent + Expr(by));
  };
}

std::function<void(Kernel &, Chooser &)> swapped(bool threads) {
  return [threads](Kernel &kernel, Chooser &chooser) {
    for (std::size_t m = 1; m < kernel.indices.size(); ++m)
      for (std::size_t n = 0; n < m; ++n) {
        ThreadIndex &a = kernel.indices[n], &b = kernel.indices[m];
        if (is_thread(a.axis) == threads && is_thread(b.axis) == threads &&
            chooser.take([&] { return a.var->name + " and " + b.var->name; }))
          std::swap(a.var, b.var);
      }
  };
}

/// Exchanges a thread index and a block index.
void block_for_thread(Kernel &kernel, Chooser &chooser) {
  for (ThreadIndex &a : kernel.indices)
    for (ThreadIndex &b : kernel.indices)
      if (is_thread(a.axis) && !is_thread(b.axis) &&
          chooser.take([&] { return a.var->name + " and " + b.var->name; })) {
        std::swap(a.var, b.var);
        return;
      }
}

/// Exchanges two parameters of the same type in the kernel's list, so that the kernel is called with exchanged
/// arguments.
template <class T> void arguments(Kernel &kernel, Chooser &chooser, std::vector<T> Kernel::*list) {
  auto &all = kernel.*list;
  for (std::size_t m = 1; m < all.size(); ++m)
    for (std::size_t n = 0; n < m; ++n)
      if (all[m]->dtype == all[n]->dtype &&
          chooser.take([&] { return all[n]->name + " and " + all[m]->name; })) {
        T a = all[n], b = all[m];
        // The list determines the arguments of the call. So this function exchanges the names in the body
        // instead.
        auto in = [&](const T &x) { return x == a ? b : x == b ? a : x; };
        std::function<Expr(const Expr &)> expr = [&](const Expr &e) -> Expr {
          if constexpr (std::is_same_v<T, Var>) {
            const Var *var = e.as<Var>();
            return var ? Expr(in(*var)) : map_children(e, expr);
          } else {
            Expr result = map_children(e, expr);
            const auto *access = result.as<Load>();
            return access ? load(in(access->buffer), access->indices, access->mask, access->fill, access->lanes)
                          : result;
          }
        };
        std::function<kernel::Stmt(const kernel::Stmt &)> stmt = [&](const kernel::Stmt &s) -> kernel::Stmt {
          return kernel::map_children(kernel::map_exprs(s, expr), stmt);
        };
        kernel.body = stmt(kernel.body);
        return;
      }
}

void kernels_swapped(kernel::Plan &plan, Chooser &chooser) {
  for (std::size_t n = 1; n < plan.kernels.size(); ++n)
    if (chooser.take([&] { return plan.kernels[n].name; }))
      std::swap(plan.kernels[n - 1], plan.kernels[n]);
}

void kernel_dropped(kernel::Plan &plan, Chooser &chooser) {
  for (std::size_t n = 0; n < plan.kernels.size(); ++n)
    if (plan.kernels.size() > 1 && chooser.take([&] { return plan.kernels[n].name; })) {
      plan.kernels.erase(plan.kernels.begin() + static_cast<std::ptrdiff_t>(n));
      return;
    }
}

} // namespace

std::vector<Kind> launch_kinds() {
  using namespace errors;
  const Errors fewer = {unwritten_read, wrong_value, race}, more = {out_of_bounds, race, wrong_value},
               any = {race, out_of_bounds, unwritten_read, wrong_value, misaligned, breach};
  // An incomplete warp cannot execute a call.
  Errors fewer_threads = fewer, more_threads = more;
  fewer_threads.insert(divergent_barrier);
  more_threads.insert(divergent_barrier);
  return {
      {"launch", "threads_fewer", "a block has fewer threads", fewer_threads, extents(true, -1)},
      {"launch", "threads_more", "a block has more threads", more_threads, extents(true, 1)},
      {"launch", "blocks_fewer", "the grid has fewer blocks: the edge is lost", fewer, extents(false, -1)},
      {"launch", "blocks_more", "the grid has more blocks", more, extents(false, 1)},
      {"launch", "thread_axes_swapped", "threadIdx.x and threadIdx.y are swapped", any, swapped(true)},
      {"launch", "block_axes_swapped", "blockIdx.x and blockIdx.y are swapped", any, swapped(false)},
      {"launch", "block_for_thread", "a thread index and a block index are swapped", any, block_for_thread},
      {"launch", "matrices_swapped", "two parameters are swapped", any,
       [](Kernel &k, Chooser &c) { arguments(k, c, &Kernel::params); }},
      {"launch",
       "scalars_swapped",
       "alpha and beta are swapped",
       {wrong_value},
       [](Kernel &k, Chooser &c) { arguments(k, c, &Kernel::scalars); }},
      {"launch",
       "kernels_swapped",
       "two kernels run in the wrong order",
       {unwritten_read, wrong_value},
       {},
       Stage::final,
       kernels_swapped},
      {"launch",
       "kernel_dropped",
       "a kernel is not launched",
       {unwritten_read, wrong_value},
       {},
       Stage::final,
       kernel_dropped},
  };
}

} // namespace nestsmith::mutation
