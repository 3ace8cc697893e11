#include "runtime/model/losses.h"

#include "dsl/expr/error.h"

#include <algorithm>

namespace nestsmith {

std::string_view name(Loss loss) {
  switch (loss) {
  case Loss::imbalance:
    return "imbalance";
  case Loss::latency:
    return "latency";
  case Loss::barriers:
    return "barriers";
  case Loss::fetch:
    return "instruction fetch";
  case Loss::banks:
    return "register banks";
  }
  internal_error("unknown loss");
}

double &Losses::of(Loss loss) {
  switch (loss) {
  case Loss::imbalance:
    return imbalance;
  case Loss::latency:
    return latency;
  case Loss::barriers:
    return barriers;
  case Loss::fetch:
    return fetch;
  case Loss::banks:
    return banks;
  }
  internal_error("unknown loss");
}

Loss Losses::largest() const {
  return *std::ranges::max_element(all_losses, {}, [this](Loss loss) { return of(loss); });
}

} // namespace nestsmith
