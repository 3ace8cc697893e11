#pragma once
/// The readers of external input, as functions for a fuzzer and for a test that replays its inputs. Each
/// function accepts any bytes. It reads them, or ends after a UserError. Any other exception is a bug and
/// propagates.

#include "dsl/expr/error.h"

#include <cstddef>
#include <new>
#include <string>

namespace nestsmith::inputs {

/// Parses a trace, writes it and parses it again, and applies its directives to a small product.
void trace(const std::string &bytes);

/// Parses records as text, writes them and parses them again.
void records(const std::string &bytes);

/// Reads a table of the best knobs, and searches its nearest record.
void table(const std::string &bytes);

/// Reads the entries of the caches: a compiled kernel, the result of a check, and the figures of an analysis.
void entry(const std::string &bytes);

/// Reads a command line. The first line is the text of a trace file, and each further line is a word. Parses
/// the options, RUNG and the shape as `emit` does, and lowers the schedule.
void command_line(const std::string &bytes);

/// Longer lists only make a fuzzer slow.
inline constexpr std::size_t most_directives = 20;

/// Catches the two exceptions of user errors, as cli_main does.
template <class F> void refused_or_done(const F &f) {
  try {
    f();
  } catch (const UserError &error) {
    internal_check(!std::string(error.what()).empty(), "a refusal says why");
  } catch (const std::bad_alloc &) {
  }
}

} // namespace nestsmith::inputs
