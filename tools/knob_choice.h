#pragma once
/// The record of a table from which a schedule takes its knobs: its choice, and its texts. Include this from
/// .cpp files only: it needs LLVM's headers.

#include "tools/json.h"
#include "tools/rung_choice.h"

namespace nestsmith::cli {

/// The dtype of the records for `dtype`: for ring mode (u32) f32, whose operations are the same, unless the
/// table has records of u32.
std::string dtype_in(const records::KnobTable &table, DType dtype);
/// The GPU of the table whose records serve a target: the GPU of the target, otherwise the one with the most
/// similar architecture and number of SMs. Empty if the table has no record of the dtype.
std::string serving_gpu(const records::KnobTable &table, const std::string &dtype, const Target &target);
/// The form of the rung and the record of the table, for a row: "scalar", "as 1024x1024x1024". May be empty.
std::string form_text(const Scheduled &scheduled);
/// "takes the knobs of 1024x1024x1024 on NVIDIA H200 (0.05421 ms, 1.077 of cuBLAS 13.1.0)".
std::string to_text(const TableUse &use);
/// "as 1024x1024x1024 on NVIDIA H200", or "default knobs".
std::string short_text(const TableUse &use);
/// Writes the attribute `table`.
void write_use(llvm::json::OStream &json, const TableUse &use);

} // namespace nestsmith::cli
