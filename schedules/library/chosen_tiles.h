#pragma once
/// The tiles of a contraction, if the user gives none.

#include "schedules/library/contraction.h"
#include "schedules/library/product.h"

#include <variant>
#include <vector>

namespace nestsmith::library {

using AnyTiles = std::variant<RegisterTiles, MatrixTiles>;

/// The tiles that a product may take, the fastest first. A contraction is a product of matrices for a kernel
/// table (schedules/kernels/kernel_table.h): M, N and K are the products of the extents of its axes for rows,
/// columns and the reduction, a batch is more tiles, and the alignment is that of its accesses. If there is a
/// table that serves the dtype and the target, its points stand in the order that `fast/best` takes. The last
/// ones are usual tiles for the number of results, which are also those without a table and of a size that is
/// known only at launch. `c` is the result of `contraction` for `s`. `units`: matrix instructions multiply.
std::vector<AnyTiles> chosen_tiles(const Schedule &s, const Contraction &c, bool units);

/// The usual tiles of results in registers, for these numbers of results.
RegisterTiles usual_register_tiles(const Schedule &s, const Contraction &c);

} // namespace nestsmith::library
