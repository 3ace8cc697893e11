#pragma once
/// The one header for users' programs: `#include <nestsmith/nestsmith.h>`. The following names are stable;
/// CHANGELOG.md announces any change. The headers behind them may change at any time.
///
///   computations, schedules   Workload, Tensor, Schedule, Target
///   instructions              Intrinsic, register_intrinsic, formal_buffer
///   programs as text          print, trace_to_cpp, to_json, replay
///   kernels                   lower, emit, emit_header, emit_standalone
///   tests of kernels          check, SimExecutor
///   schedules of rows         rows::by_thread, by_warp, by_block, in_vectors, in_registers
///   schedules of reductions   reductions::by_thread, by_tree, by_shuffles, by_blocks, in_vectors, in_one_pass,
///                             by_atomics
///   schedules of transposes   transposes::by_element, in_tiles, in_padded_tiles, in_swizzled_tiles, in_vectors
///   schedules of products     matvecs::by_thread, by_warp, in_vectors, in_registers, in_parts
///   schedules of stencils     stencils::by_rows, in_blocks, in_shared_tiles, in_columns, with_edges,
///                             step_by_step, two_steps
///   schedules of convolutions convolutions::by_element, in_tiles, in_registers, in_vectors, on_matrix_units,
///                             with_async_copies
///   any contraction           library::product, RegisterTiles, MatrixTiles
///   parts of products         library::contraction, copy_operand, bind_grid, to_lanes, fetch_tile and others,
///                             for schedules of your own: docs/guide.md lists them
///   any program               library::schedule; elementwise, transpose, reduction and fallback for one block
///   the command line          Rung, cli_main
///   errors                    UserError, ScheduleError

#include "codegen/emit.h"
#include "codegen/standalone.h"
#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/target.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/convolutions/convolutions.h"
#include "schedules/even_tail.h"
#include "schedules/fetch.h"
#include "schedules/grids.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"
#include "schedules/library/program.h"
#include "schedules/library/row_stores.h"
#include "schedules/library/rows.h"
#include "schedules/library/split_sum.h"
#include "schedules/matvecs/matvecs.h"
#include "schedules/reductions/reductions.h"
#include "schedules/rows/rows.h"
#include "schedules/rung.h"
#include "schedules/stencils/stencils.h"
#include "schedules/transposes/transposes.h"
#include "tools/cli.h"
