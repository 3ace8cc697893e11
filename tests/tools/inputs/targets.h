#pragma once
/// What reads input from outside, as functions that a fuzzer drives and a test replays. Each takes any bytes:
/// they are read, or refused with a UserError, which is the end of it. Anything else is a bug and gets through.

#include "dsl/expr/error.h"

#include <cstddef>
#include <new>
#include <string>

namespace nestsmith::inputs {

/// A trace: parsed, written and parsed again, and its directives applied to a small product.
void trace(const std::string &bytes);

/// Records as text: parsed, written and parsed again.
void records(const std::string &bytes);

/// A table of the best knobs: its records, and the search for the nearest one.
void table(const std::string &bytes);

/// An entry of a cache: a compiled kernel, the result of a check and the figures of an analysis.
void entry(const std::string &bytes);

/// A command line, a word in each line after a first that is the text of a trace file: the options, RUNG
/// and the shape as `emit` takes them, and the schedule, lowered.
void command_line(const std::string &bytes);

/// Long lists only make a fuzzer slow.
inline constexpr std::size_t most_directives = 20;

/// As cli_main does: these two are the user's.
template <class F> void refused_or_done(const F &f) {
  try {
    f();
  } catch (const UserError &error) {
    internal_check(!std::string(error.what()).empty(), "a refusal says why");
  } catch (const std::bad_alloc &) {
  }
}

} // namespace nestsmith::inputs
