#pragma once
/// The examples, one file each. The default value of a parameter is the value in the post. With another value,
/// the example is correct.

#include "tools/pages/mistakes/mistakes.h"

namespace nestsmith::mistake {

HandWritten row_modulo_n(std::int64_t M = 64);
HandWritten inner_row_b(bool mended = false);
HandWritten narrow_tile(std::int64_t WID = 16);
Schedule thread_extents();
Schedule vector_rows();
Schedule writeback_in_pipeline();
Schedule column_of_b();
Schedule consecutive_elements();

/// Wrong figures in posts.
std::vector<Mistake> wrong_figures();

} // namespace nestsmith::mistake
