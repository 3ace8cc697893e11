/// Bugs in asynchronous copies: their waits, their groups and their tails.

#include "tests/mutation/catalogue.h"

#include <fmt/format.h>

namespace nestsmith::mutation {

using kernel::Commit;
using kernel::Fence;
using kernel::Kernel;
using kernel::Stmt;
using kernel::Wait;

namespace {

void relax(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *wait = kernel::as<Wait>(stmt);
    if (!wait)
      return std::vector<Stmt>{};
    Wait longer = *wait;
    ++longer.pending;
    return std::vector{kernel::make(std::move(longer))};
  });
}

template <class T> void drop(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser,
           [](const Stmt &stmt) { return kernel::as<T>(stmt) ? std::vector{nothing()} : std::vector<Stmt>{}; });
}

/// Exchanges a statement of type T with its neighbour.
template <class T> void move(Kernel &kernel, Chooser &chooser, int by) {
  on_seqs(kernel, chooser, [&](const std::vector<Stmt> &stmts, std::size_t at) {
    std::vector<std::vector<Stmt>> result;
    std::size_t to = at + static_cast<std::size_t>(by);
    if (kernel::as<T>(stmts[at]) && to < stmts.size() && !kernel::as<kernel::Declare>(stmts[to])) {
      result.push_back(stmts);
      std::swap(result[0][at], result[0][to]);
    }
    return result;
  });
}

/// Changes the number of arrivals that free a slot, or that fill it.
template <int by> void change_arrivals(Kernel &kernel, Chooser &chooser) {
  for (kernel::Channel &channel : kernel.channels)
    for (std::int64_t *arrivals : {&channel.filled, &channel.freed})
      if (chooser.take([&] { return fmt::format("{} arrivals for {}", *arrivals + by, *arrivals); }))
        *arrivals += by;
}

/// Changes the announced bytes of bulk copies by a row of 128 bytes.
template <int rows> void change_bytes(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *signal = kernel::as<kernel::Signal>(stmt);
    if (!signal || signal->bulk_bytes == 0)
      return std::vector<Stmt>{};
    kernel::Signal copy = *signal;
    copy.bulk_bytes += rows * 128;
    return std::vector{kernel::make(std::move(copy))};
  });
}

/// Moves a box by one element of a dimension of its source.
void move_box(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *bulk = kernel::as<kernel::BulkCopy>(stmt);
    std::vector<Stmt> moved;
    for (std::size_t d = 0; bulk && d < bulk->start.size(); ++d) {
      kernel::BulkCopy copy = *bulk;
      copy.start[d] = plus(copy.start[d], 1);
      moved.push_back(kernel::make(std::move(copy)));
    }
    return moved;
  });
}

/// A box goes to the block that copies it alone.
void to_own_block(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *bulk = kernel::as<kernel::BulkCopy>(stmt);
    if (!bulk || bulk->stores() || !bulk->fill->to_cluster)
      return std::vector<Stmt>{};
    kernel::BulkCopy copy = *bulk;
    copy.fill->to_cluster = false;
    return std::vector{kernel::make(std::move(copy))};
  });
}

void without_swizzle(Kernel &kernel, Chooser &chooser) {
  for (kernel::TensorMap &map : kernel.maps)
    if (map.swizzle != 0 && chooser.take([&] { return "boxes of " + map.source->name + " without a swizzle"; }))
      map.swizzle = 0;
}

void with_fewer_rows(Kernel &kernel, Chooser &chooser) {
  for (kernel::TensorMap &map : kernel.maps)
    if (map.box.front() > 1 &&
        chooser.take([&] { return "boxes of " + map.source->name + " of one row less"; }))
      --map.box.front();
}

/// Removes the mask of an asynchronous copy, so that it also reads elements past the end of the source.
void without_mask(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    const auto *source = store && store->async ? store->value.as<Load>() : nullptr;
    if (!source || !source->mask.exists())
      return std::vector<Stmt>{};
    kernel::Store copy = *store;
    copy.value = load(source->buffer, source->indices, {}, {}, source->lanes);
    return std::vector{kernel::make(std::move(copy))};
  });
}

/// Changes the number of elements that an asynchronous copy of a part of a vector reads.
template <int by> void change_count(Kernel &kernel, Chooser &chooser) {
  on_stmts(kernel, chooser, [](const Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    if (!store || !store->count.exists())
      return std::vector<Stmt>{};
    kernel::Store copy = *store;
    auto number = [&](std::int64_t n) { return int_imm(n, copy.count.dtype()); };
    copy.count = min(max(copy.count + number(by), number(0)), number(copy.lanes)); // as the verifier wants it
    return std::vector{kernel::make(std::move(copy))};
  });
}

} // namespace

std::vector<Kind> copy_kinds() {
  using namespace errors;
  const Errors flight = {in_flight}, late = {in_flight, race};
  return {
      {"copies", "wait_relaxed", "a wait leaves one group more in flight", flight, relax},
      {"copies", "wait_dropped", "a wait is dropped", flight, drop<Wait>},
      {"copies", "wait_later", "a wait follows the barrier that it must precede", late,
       [](Kernel &k, Chooser &c) { move<Wait>(k, c, 1); }},
      {"copies", "commit_dropped", "the copies of a step are in no group", flight, drop<Commit>},
      {"copies", "commit_earlier", "a group ends before its last copy", flight,
       [](Kernel &k, Chooser &c) { move<Commit>(k, c, -1); }},
      {"copies",
       "fence_dropped",
       "matrix units read a tile that a thread has written without a fence",
       {unfenced},
       drop<Fence>},
      {"copies",
       "await_dropped",
       "a role does not wait for a tile, or for a free slot",
       {race, unwritten_read, errors::in_flight},
       drop<kernel::Await>},
      {"copies",
       "signal_dropped",
       "a role does not signal that a tile is filled, or that its slot is free",
       {deadlock},
       drop<kernel::Signal>},
      {"copies",
       "signal_earlier",
       "a role signals before its last access",
       {race, errors::in_flight, deadlock},
       [](Kernel &k, Chooser &c) { move<kernel::Signal>(k, c, -1); }},
      {"copies", "more_arrivals", "a slot waits for one arrival more", {deadlock}, change_arrivals<1>},
      {"copies",
       "fewer_arrivals",
       "a slot waits for one arrival less",
       {race, deadlock, unwritten_read, errors::in_flight},
       change_arrivals<-1>},
      {"copies", "more_bytes", "a slot waits for the bytes of one row more", {deadlock}, change_bytes<1>},
      {"copies", "fewer_bytes", "a slot waits for the bytes of one row less", {deadlock}, change_bytes<-1>},
      {"copies", "box_moved", "a bulk copy starts one element later in its source", {wrong_value}, move_box},
      {"copies",
       "box_unswizzled",
       "a bulk copy stores its rows without their swizzle",
       {wrong_value},
       without_swizzle},
      {"copies",
       "box_to_own_block",
       "a part of a tile that a cluster shares stays in the block that copies it",
       {deadlock},
       to_own_block},
      {"copies", "box_shorter", "a bulk copy brings one row less", {deadlock, unwritten_read}, with_fewer_rows},
      {"copies",
       "copy_without_mask",
       "the tail of a tile is not filled",
       {out_of_bounds, wrong_value},
       without_mask},
      {"copies",
       "part_longer",
       "a copy of a part of a vector reads one element more",
       {out_of_bounds, wrong_value},
       change_count<1>},
      {"copies",
       "part_shorter",
       "a copy of a part of a vector reads one element less",
       {wrong_value},
       change_count<-1>},
  };
}

} // namespace nestsmith::mutation
