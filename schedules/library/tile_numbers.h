#pragma once
/// Refuses numbers that no tiles can have, before a schedule is begun.

#include "schedules/library/product.h"

namespace nestsmith::library {

/// Throws UserError (illegal_schedule): which member has which number, and what is expected.
void check_numbers(BlockRef sum, const RegisterTiles &tiles);
void check_numbers(BlockRef sum, const MatrixTiles &tiles);

} // namespace nestsmith::library
