#pragma once
/// The results of a check and of an analysis as text, for the cache of results (tools/results/result_cache.h).
/// A number that is read equals the number that was written.

#include "runtime/check/check.h"
#include "runtime/model/analyse.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// None if the result has a wrong element, an infinity or NaN.
std::optional<std::string> check_text(const CheckResult &check);
std::optional<std::string> figures_text(const std::vector<KernelFigures> &figures);

/// None if `text` is not the text of such a result.
std::optional<CheckResult> read_check(const std::string &text);
std::optional<std::vector<KernelFigures>> read_figures(const std::string &text);

} // namespace nestsmith::cli
