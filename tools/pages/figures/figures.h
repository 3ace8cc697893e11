#pragma once
/// Figures in the tutorials' posts, and nestsmith's figures for the same rungs: counted, modelled, or predicted
/// from the bounds. Nothing is fitted to the published values.

#include "tools/pages/figures/posts.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// reproduced  ours equals the published value
/// corrected   ours is right and the published value is wrong
/// agrees      a prediction has the direction of the measurement: up, down, or neither (within 5 %)
/// disagrees   a prediction does not
/// beside      the rate of another kernel, which decides nothing
/// wrong       ours differs from the correct value
enum class FigureVerdict : std::uint8_t { reproduced, corrected, agrees, disagrees, beside, wrong };
std::string_view name(FigureVerdict verdict);
FigureVerdict verdict(const Figure &figure);

/// The figures of one tutorial, or of all in their order.
std::vector<Figure> figures(const std::string &tutorial = "");
/// Ratios of published times and of ours, for the posts' GPUs if they are listed, and rates of other authors'
/// kernels beside ours. If a prediction disagrees, or the post is faster than our least time, the note has the
/// cause that the counts and the machine code show, or says that it is not known. Takes seconds.
std::vector<Figure> predictions(const std::string &tutorial = "");
/// The tutorials that have figures.
std::vector<std::string> tutorials_with_figures();

} // namespace nestsmith
