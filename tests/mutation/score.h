#pragma once
/// The verdicts on the mutants, and the score.

#include "tests/mutation/net.h"

#include <string>
#include <tuple>
#include <vector>

namespace nestsmith::mutation {

///   caught      by an error of the right kind      wrong_kind  by others only
///   equivalent  nothing was noticed, and the mutant gives the same terms: it is no bug
enum class Outcome : std::uint8_t { caught, equivalent, wrong_kind, survived };

struct Result {
  std::size_t kind;
  std::string subject;
  int site;
  Outcome outcome;
  Errors errors;
  std::string where, message;
  bool operator<(const Result &other) const {
    return std::tie(kind, subject, site) < std::tie(other.kind, other.subject, other.site);
  }
};

Result judged(Net &net, const Subject &subject, const Kind &kind, std::size_t number, int site);
std::string to_line(const Result &result); ///< one line; `from_line` reads it back
Result from_line(const std::string &line);
std::string describe(const Result &result);

class Score {
public:
  /// `every`: of each kind, one place in so many was tried.
  Score(std::vector<Result> results, std::size_t subjects, unsigned every = 1);
  bool good() const; ///< each mutant is caught rightly or equivalent
  std::string summary() const;
  std::string markdown() const;
  std::vector<std::string> kinds_without_a_site() const;

private:
  std::size_t count(Outcome outcome) const;
  std::size_t count(std::size_t kind, Outcome outcome) const;
  std::size_t kinds_caught() const; ///< at one place at least, by the right kind of error
  std::string never_bugs() const;   ///< which kinds are equivalent at all of their places, for the document
  std::vector<Result> results_;
  std::size_t subjects_;
  unsigned every_;
};

} // namespace nestsmith::mutation
