#pragma once
/// More examples, as in examples.h. The default value of a parameter is that of the post; with another value,
/// the example is correct.

#include "tools/pages/mistakes/examples.h"

namespace nestsmith::mistake {

/// The register kernel of transposed with WID = 64 for H rows. Its guards test the row of the thread, or the
/// row of the element that is loaded or stored.
HandWritten guard_of_thread(bool of_element = false);
/// The tiled kernel of transposed. Its leading dimension `w` is read as W, or as K.
HandWritten undeclared_w(bool as_k = false);
/// The kernel of deep_dive with a 1-D tile, TM = 8 and BN = 64, and BM = TM as the post says, or BM = BN.
HandWritten bm_equals_tm(std::int64_t BM = 8);
/// The vectorized kernel of transposed with BTSZ = 8: the last store, and the loads of the registers, take 4
/// elements, or BTSZ.
HandWritten btsz_of_8(bool mended = false);

/// Wrong figures of tvm_steps about its GPU.
std::vector<Mistake> wrong_gpu_figures();

} // namespace nestsmith::mistake
