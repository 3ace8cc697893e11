#pragma once
/// Removes the barriers of a kernel one at a time, and compares the reported hazards with those that the
/// barrier states.

#include "lowering/notes.h"
#include "runtime/check/check.h"
#include "runtime/sim/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <set>
#include <utility>
#include <vector>

namespace nestsmith::test {

using kernel::Hazard;

/// Removes the n-th statement of the kind. If it exists, n is negative afterwards.
template <class T> kernel::Stmt without(const kernel::Stmt &stmt, int &n, T &removed) {
  if (const auto *found = kernel::as<T>(stmt); found && n-- == 0) {
    removed = *found;
    return kernel::make_seq({});
  }
  return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return without<T>(child, n, removed); });
}

/// A kernel without one of its statements.
template <class T> struct Without {
  kernel::Kernel kernel;
  T removed;
};

/// For each statement of the kind, in order: the kernel without it.
template <class T> std::vector<Without<T>> without_each(const kernel::Kernel &kernel) {
  std::vector<Without<T>> all;
  for (;;) {
    Without<T> changed{kernel, {}};
    int n = static_cast<int>(all.size());
    changed.kernel.body = without(kernel.body, n, changed.removed);
    if (n >= 0)
      return all;
    all.push_back(std::move(changed));
  }
}

inline std::vector<sim::Diagnostic> diagnostics_of(const Program &source, const kernel::Kernel &kernel,
                                                   const sim::WeakArrivals &weak = {}) {
  Inputs inputs = make_inputs(source, CheckRun::ring, 1);
  std::vector<sim::Argument> arguments;
  for (Array &array : inputs.arrays)
    arguments.push_back({&array});
  std::list<Array> workspaces; // the last parameters; zeros, as counters require
  for (std::size_t n = arguments.size(); n < kernel.params.size(); ++n)
    arguments.push_back({&workspaces.emplace_back(kernel.params[n]->dtype,
                                                  std::vector{kernel::element_count(kernel.params[n])}),
                         false});
  return sim::run(kernel, arguments, inputs.scalars, {.max_diagnostics = 100, .weak = weak}).diagnostics;
}

inline std::vector<Hazard> hazards_found(const Program &source, const kernel::Kernel &kernel) {
  std::vector<Hazard> found;
  for (const sim::Diagnostic &diagnostic : diagnostics_of(source, kernel))
    if (diagnostic.hazard)
      found.push_back(*diagnostic.hazard);
  return found;
}

using HazardKinds = std::set<std::pair<Buffer, Hazard::Kind>>;
inline HazardKinds kinds_of(const std::vector<Hazard> &hazards) {
  HazardKinds kinds;
  for (const Hazard &hazard : hazards)
    kinds.emplace(hazard.buffer, hazard.kind);
  return kinds;
}

/// Returns the number of barriers.
inline int expect_certificates(const Program &source, const kernel::Kernel &kernel) {
  const auto all = without_each<kernel::Barrier>(kernel);
  for (const auto &[changed, removed] : all) {
    std::vector<Hazard> found = hazards_found(source, changed);
    std::string note = note_of(kernel::make(removed));
    EXPECT_EQ(kinds_of(found), kinds_of(removed.hazards)) << note;
    for (const Hazard &promised : removed.hazards)
      EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                              [&](Hazard hazard) {
                                if (!hazard.reader) // into a vector, which is taken apart later
                                  hazard.reader = promised.reader;
                                return hazard == promised;
                              }))
          << note << "\n  promised: " << name(promised.kind) << " " << promised.buffer->name << " + "
          << promised.distance;
  }
  return static_cast<int>(all.size());
}

/// Removes the awaits of a kernel with roles one at a time. The simulator must report the hazards that the
/// await prevents. If slots are filled again, others follow, because warps that do not wait signal too early;
/// `exact` otherwise. Returns the number of awaits.
inline int expect_await_certificates(const Program &source, const kernel::Kernel &kernel, bool exact = false) {
  const auto all = without_each<kernel::Await>(kernel);
  for (const auto &[changed, removed] : all) {
    const HazardKinds found = kinds_of(hazards_found(source, changed)), promised = kinds_of(removed.hazards);
    EXPECT_TRUE(exact ? found == promised : std::ranges::includes(found, promised))
        << note_of(kernel::make(removed)) << ": " << promised.size() << " hazards, found " << found.size();
  }
  return static_cast<int>(all.size());
}

/// Lets the n-th wait leave `more` more groups in flight, or removes it if `more` is negative. If it exists, n
/// is -1 afterwards.
inline kernel::Stmt with_wait(const kernel::Stmt &stmt, int &n, std::int64_t more, kernel::Wait &changed) {
  if (const auto *wait = kernel::as<kernel::Wait>(stmt); wait && n-- == 0) {
    changed = *wait;
    return more < 0 ? kernel::make_seq({}) : kernel::make(kernel::Wait{wait->pending + more});
  }
  return kernel::map_children(stmt,
                              [&](const kernel::Stmt &child) { return with_wait(child, n, more, changed); });
}

/// Removes each wait, and lets each wait leave one more group in flight. The simulator must report exactly the
/// reads of data in flight that the certificate states. Data may also be overwritten, or may arrive while other
/// threads read it, so other hazards of the same tiles may follow. If the copies have several stages, a relaxed
/// wait leaves only the latest copies in flight. Returns the number of waits.
inline int expect_wait_certificates(const Program &source, const kernel::Kernel &kernel,
                                    bool one_stage = true) {
  using Read = std::pair<Buffer, Buffer>; // buffer, reader
  for (int n = 0;; ++n)
    for (std::int64_t more : {1, -1}) {
      kernel::Kernel changed = kernel;
      kernel::Wait wait;
      int left = n;
      changed.body = with_wait(changed.body, left, more, wait);
      if (left >= 0)
        return n;
      std::set<Read> found, promised;
      std::set<Buffer> tiles;
      for (const Hazard &hazard : wait.hazards) {
        promised.emplace(hazard.buffer, hazard.reader);
        tiles.insert(hazard.buffer);
      }
      for (Hazard &hazard : hazards_found(source, changed)) {
        EXPECT_TRUE(tiles.contains(hazard.buffer)) << hazard.buffer->name;
        for (const auto &[buffer, reader] : promised)
          if (!hazard.reader && buffer == hazard.buffer) // into a vector, which is taken apart later
            hazard.reader = reader;
        if (hazard.kind == Hazard::Kind::read_after_write || hazard.kind == Hazard::Kind::end_after_write)
          found.emplace(hazard.buffer, hazard.reader);
      }
      if (more > 0 && !one_stage)
        EXPECT_TRUE(!found.empty() && std::ranges::includes(promised, found)) << note_of(kernel::make(wait));
      else
        EXPECT_EQ(found, promised) << note_of(kernel::make(wait)) << (more < 0 ? ", removed" : ", relaxed");
    }
}

} // namespace nestsmith::test
