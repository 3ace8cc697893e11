#include "dsl/schedule/primitives/loop_names.h"

#include <algorithm>
#include <cctype>

namespace nestsmith {

namespace {

/// The last word of a name that tells what it counts: "i" for ax_A_shared_i, "k" for k_inner.
std::string last_word(const std::string &name) {
  std::string word = name;
  for (std::size_t end = name.size(); end > 0;) {
    std::size_t begin = name.rfind('_', end - 1);
    begin = begin == std::string::npos ? 0 : begin + 1;
    std::string part = name.substr(begin, end - begin);
    bool counts = !part.empty() && part != "outer" && part != "inner" && part != "init" &&
                  !std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); });
    if (counts)
      return part;
    if (begin == 0)
      break;
    end = begin - 1;
  }
  return word;
}

/// The variable of result number n, whose name the user may have chosen.
Var made_result(Schedule::Edit &edit, std::size_t n, const std::string &wanted, const std::string &brief) {
  std::string name = edit.result_name(n, wanted);
  return edit.chosen_names().empty() ? make_derived_var(name, brief) : make_var(name);
}

/// The brief name of `whole` with the suffix. If both are long, the last word of the brief name with the
/// suffix.
std::string with_suffix(const Var &whole, const std::string &suffix) {
  const std::string &stem = whole->brief.empty() ? whole->name : whole->brief;
  return (stem.size() + suffix.size() <= longest_name_in_kernel ? stem : last_word(stem)) + suffix;
}

} // namespace

Var part_of_loop(Schedule::Edit &edit, const Var &whole, const std::string &suffix, std::size_t result) {
  return made_result(edit, result, whole->name + suffix, with_suffix(whole, suffix));
}

Var fused_loop(Schedule::Edit &edit, const Var &outer, const Var &inner) {
  return made_result(edit, 0, outer->name + "_" + inner->name, "n");
}

Var loop_of_axis(Schedule::Edit &edit, const std::string &axis, const std::string &suffix) {
  return make_derived_var(edit.name("ax_" + axis + suffix), last_word(axis) + suffix);
}

Var copied_loop(Schedule::Edit &edit, const Var &copied, const std::string &suffix) {
  return make_derived_var(edit.name(copied->name + suffix), with_suffix(copied, suffix));
}

} // namespace nestsmith
