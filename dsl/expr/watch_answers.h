#pragma once
/// Observes the answers of index arithmetic, so that a test (tests/proofs) can prove each answer with Z3.

#include "dsl/expr/simplify.h"

namespace nestsmith {

/// While an object of this class exists, it receives every answer that the functions named below return on its
/// thread. If its callbacks call these functions, the answers are not reported.
class AnswerWatcher {
public:
  AnswerWatcher();
  virtual ~AnswerWatcher();
  AnswerWatcher(const AnswerWatcher &) = delete;
  AnswerWatcher &operator=(const AnswerWatcher &) = delete;

  /// simplify, linearize and proves: `e` equals `result`.
  virtual void simplified(const Expr &e, const Expr &result, const Bounds &bounds) = 0;
  /// range_of: `e` lies in `range`.
  virtual void bounded(const Expr &e, Range range, const Bounds &bounds) = 0;
  /// highest: `most` is an upper bound of `e`.
  virtual void at_most(const Expr &e, const Expr &most, const Bounds &bounds) = 0;
  /// is_multiple: `e` is a multiple of `n`.
  virtual void multiple(const Expr &e, std::int64_t n, const Bounds &bounds) = 0;

  /// Calls `tell` with the watcher of this thread, if there is one.
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
