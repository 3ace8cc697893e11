#pragma once
/// The verdicts on the mutants, and the score.

#include "tests/mutation/net.h"

#include <string>
#include <tuple>
#include <vector>

namespace nestsmith::mutation {

/// caught      an error of the expected kind is reported
/// equivalent  no error is reported, and the mutant gives the same terms, so it is no bug
/// wrong_kind  only errors of other kinds are reported
/// survived    no error is reported, and the terms differ
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
  /// `every`: one in this many places of each kind was tried.
  Score(std::vector<Result> results, std::size_t subjects, unsigned every = 1);
  bool good() const; ///< each mutant is caught or equivalent
  std::string summary() const;
  std::string markdown() const;
  std::vector<std::string> kinds_without_a_site() const;

private:
  std::size_t count(Outcome outcome) const;
  std::size_t count(std::size_t kind, Outcome outcome) const;
  std::size_t kinds_caught() const; ///< caught in at least one place
  std::string never_bugs() const;   ///< the kinds that are equivalent in all of their places, for the document
  std::vector<Result> results_;
  std::size_t subjects_;
  unsigned every_;
};

} // namespace nestsmith::mutation
