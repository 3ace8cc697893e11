#include "runtime/model/quality.h"

#include "dsl/expr/error.h"

namespace nestsmith {

std::string_view name(Quality quality) {
  switch (quality) {
  case Quality::exact:
    return "exact";
  case Quality::modelled:
    return "modelled";
  case Quality::bound:
    return "bound";
  case Quality::unknown:
    return "n/a";
  }
  internal_error("unknown quality of a figure");
}

} // namespace nestsmith
