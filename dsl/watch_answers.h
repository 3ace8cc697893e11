#pragma once
/// What index arithmetic answers, for those who prove each answer again (tests/proofs).

#include "dsl/simplify.h"

namespace nestsmith {

/// Sees, while it lives, every answer that its thread gets of the functions it is named after. What it does on
/// seeing one is not watched.
class AnswerWatcher {
public:
  AnswerWatcher();
  virtual ~AnswerWatcher();
  AnswerWatcher(const AnswerWatcher &) = delete;
  AnswerWatcher &operator=(const AnswerWatcher &) = delete;

  /// `e` has the value of `result`: of simplify, linearize and proves.
  virtual void simplified(const Expr &e, const Expr &result, const Bounds &bounds) = 0;
  /// `e` lies in `range`: of range_of.
  virtual void bounded(const Expr &e, Range range, const Bounds &bounds) = 0;
  /// `e` is at most `most`: of highest.
  virtual void at_most(const Expr &e, const Expr &most, const Bounds &bounds) = 0;
  /// `e` is a multiple of `n`: of is_multiple.
  virtual void multiple(const Expr &e, std::int64_t n, const Bounds &bounds) = 0;

  /// Calls `tell` with the watcher of this thread, where there is one.
  template <class F> static void show(const F &tell) {
    AnswerWatcher *watcher = current;
    if (!watcher)
      return;
    current = nullptr;
    tell(*watcher);
    current = watcher;
  }

private:
  static thread_local AnswerWatcher *current;
  AnswerWatcher *outer_;
};

} // namespace nestsmith
