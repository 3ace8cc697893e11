/// Shrinks a case that breaks a promise by repeated changes that keep the kind of the verdict.

#include "tests/fuzz/shrink.h"

#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "schedules/workloads.h"
#include "tests/fuzz/author.h"
#include "tests/fuzz/commands.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/note.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::fuzz {

namespace {

class Shrinker {
public:
  Shrinker(Case test_case, Kind kind, const Thoroughness &thoroughness)
      : smallest_(std::move(test_case)), kind_(kind), thoroughness_(thoroughness) {}

  Case run() {
    for (bool changed = true; changed && tries_ < most_tries;)
      changed = drop_directives() | shrink_shape() | shrink_numbers() | plainer();
    return std::move(smallest_);
  }

private:
  static constexpr int most_tries = 400;

  bool accept(Case other) {
    if (++tries_ > most_tries)
      return false;
    if (judge_apart(other, thoroughness_).kind != kind_)
      return false;
    smallest_ = std::move(other);
    return true;
  }

  /// Tries a case with another shape or another type. The case must be of a computation of the table.
  bool accept_remade(Case other) {
    if (!other.computation)
      return false;
    try {
      std::vector<Directive> directives = std::move(other.directives);
      other = case_of(*other.computation, other.shape, other.dtype, other.arch);
      other.directives = std::move(directives);
    } catch (const UserError &) { // the computation rejects the shape
      return false;
    }
    return accept(std::move(other));
  }

  bool drop_directives() {
    bool changed = false;
    for (std::size_t length = std::max<std::size_t>(smallest_.directives.size() / 2, 1); length > 0;
         length /= 2)
      for (std::size_t n = smallest_.directives.size(); n-- > 0;) {
        if (n + length > smallest_.directives.size())
          continue;
        Case other = smallest_;
        auto at = other.directives.begin() + static_cast<std::ptrdiff_t>(n);
        other.directives.erase(at, at + static_cast<std::ptrdiff_t>(length));
        changed = accept(std::move(other)) || changed;
      }
    return changed;
  }

  bool shrink_shape() {
    bool changed = false;
    for (std::size_t n = 0; n < smallest_.shape.size(); ++n)
      for (std::int64_t extent :
           {std::int64_t{1}, std::int64_t{2}, smallest_.shape[n] / 2, smallest_.shape[n] - 1}) {
        if (extent < 1 || extent >= smallest_.shape[n] || !smallest_.shape.is_multiple(n, 1))
          continue;
        Case other = smallest_;
        other.shape[n] = extent;
        if (accept_remade(std::move(other))) {
          changed = true;
          break;
        }
      }
    return changed;
  }

  /// Returns the factors of a directive, or null.
  static std::vector<std::int64_t> *factors_of(Case &test_case, std::size_t n) {
    for (Argument &argument : test_case.directives[n].arguments)
      if (auto *factors = std::get_if<std::vector<std::int64_t>>(&argument))
        return factors;
    return nullptr;
  }

  bool shrink_numbers() {
    bool changed = false;
    for (std::size_t n = 0; n < smallest_.directives.size(); ++n) {
      std::size_t count = factors_of(smallest_, n) ? factors_of(smallest_, n)->size() : 0;
      for (std::size_t f = 0; f < count; ++f)
        for (std::int64_t smaller : {1, 2, 4}) {
          Case other = smallest_;
          std::int64_t &factor = factors_of(other, n)->at(f);
          if (smaller >= factor)
            break;
          factor = smaller;
          if (accept(std::move(other))) {
            changed = true;
            break;
          }
        }
    }
    return changed;
  }

  bool plainer() {
    bool changed = false;
    if (smallest_.shape.stated) {
      Case other = smallest_;
      other.shape.stated.reset();
      changed = accept_remade(std::move(other)) || changed;
    }
    if (smallest_.dtype != DType::u32 && smallest_.dtype != DType::f32) {
      Case other = smallest_;
      other.dtype = DType::f32;
      changed = accept_remade(std::move(other)) || changed;
    }
    if (smallest_.arch != "sm_80") {
      Case other = smallest_;
      other.arch = "sm_80";
      changed = accept(std::move(other)) || changed;
    }
    return changed;
  }

  Case smallest_;
  Kind kind_;
  Thoroughness thoroughness_;
  int tries_ = 0;
};

} // namespace

Note &note() {
  static Note &shared = shared_object<Note>();
  return shared;
}

Verdict judge_apart(const Case &test_case, const Thoroughness &thoroughness) {
  static Kind &kind = shared_object<Kind>();
  note().write("");
  if (thoroughness.everything)
    prepare_commands();
  Ending ending = isolated([&] {
    if (thoroughness.everything)
      use_no_libraries();
    Verdict verdict = judge(test_case, thoroughness);
    kind = verdict.kind;
    note().write(verdict.message);
  });
  Verdict verdict;
  verdict.kind = ending.hung ? Kind::hung : ending.crashed ? Kind::crashed : kind;
  verdict.message = ending.hung || ending.crashed ? ending.said : note().read();
  return verdict;
}

Case draft_apart(std::uint64_t seed, std::uint64_t computations, const std::string &arch) {
  note().write(""); // creates the shared note before the fork
  isolated([&] {
    auto write = [](const Case &setting, std::vector<Directive> directives) {
      Case test_case = setting;
      test_case.directives = std::move(directives);
      note().write(to_json(trace_of(test_case)));
    };
    auto about_to = [&](const Draft &so_far, const Directive &next) {
      std::vector<Directive> directives = so_far.schedule.trace();
      directives.push_back(next);
      write(so_far.setting, std::move(directives));
    };
    Draft made = draft(seed, computations, about_to, arch);
    write(made.setting, made.schedule.trace());
  });
  return case_of(parse_trace(note().read(), "the draft"), "the draft");
}

Case shrink(Case test_case, Kind kind, const Thoroughness &thoroughness) {
  return Shrinker(std::move(test_case), kind, thoroughness).run();
}

std::string to_cpp(const Case &test_case) {
  std::string text =
      fmt::format("// {} of {}{} in {} for {}\n", test_case.source.name, to_string(test_case.shape),
                  test_case.shape.stated ? ", by one kernel for all multiples of " +
                                               std::to_string(test_case.shape.stated->multiple_of)
                                         : "",
                  name(test_case.dtype), test_case.arch);
  if (!test_case.computation)
    text += print(test_case.source);
  for (const Directive &directive : test_case.directives)
    text += to_cpp(directive) + "\n";
  return text;
}

} // namespace nestsmith::fuzz
