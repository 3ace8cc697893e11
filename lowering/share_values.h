#pragma once
/// One local for an operand that many places of a large value share: text that spells it out each time would
/// grow with the tree, which may have 2^40 nodes where the expression has 40.

#include "lowering/kernel.h"

#include <functional>

namespace nestsmith::kernel {

struct SharedValues {
  std::vector<Declare> declares; ///< in order
  std::vector<Expr> exprs;       ///< in their terms
};

/// The expressions of one statement with shared operands declared before it; as they are where that saves
/// little. `fresh_name` names each local. What a condition protects stays behind it: loads under a mask or
/// behind && and
/// ||, and integer divisions also in the sides of a select. Throws UserError (illegal_schedule) where these are
/// shared so often that the text would still be too long; `what` says whose it would be.
SharedValues share_values(const std::vector<Expr> &exprs, const std::function<std::string()> &fresh_name,
                          const std::string &what);

/// The same for the parts of a tuple that one statement stores, which share most of their operands: also if the
/// values are short. Index arithmetic and loads from registers stay as they are.
SharedValues share_values_of_parts(const std::vector<Expr> &parts);

/// The same for every statement of a body.
Stmt share_values(const Stmt &body);

} // namespace nestsmith::kernel
