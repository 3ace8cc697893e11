#pragma once
/// A kernel table: the times of some kernels of one rung on one GPU, at sizes that separate what a model of
/// any size needs (kernel_model.h). `tune --table` makes it, and it travels with the program as text.

#include "schedules/grids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::records {

using nestsmith::Extents;

struct KernelTime {
  Extents extents = {};
  double ms = 0; ///< median time of one launch
};

/// At which addresses the rows of the operands begin. It decides how many elements one access may take, and how
/// many sectors and lines of memory a row of a tile touches.
enum class Rows {
  any,     ///< N and K are odd
  vectors, ///< N and K are multiples of the elements of a vector of 16 bytes
  lines,   ///< N and K are multiples of the elements of a line of 128 bytes
};
inline constexpr std::array<Rows, 3> all_rows = {Rows::any, Rows::vectors, Rows::lines};
/// "any", "vectors" or "lines".
const char *name(Rows rows);

inline constexpr double most_any_size = 100; ///< of `KernelForm::any_size`
/// A *form* is a kernel as it is for such rows.
struct KernelForm {
  Rows rows = Rows::vectors;
  std::int64_t parts = 1;    ///< blocks that share a tile, each with a part of K
  std::string with = {};     ///< the knobs that exist only with parts, as --set takes them
  std::int64_t resident = 1; ///< blocks that a multiprocessor holds at the same time
  std::vector<KernelTime> times;
  /// The time of the kernel whose sizes are known at launch, divided by the time of the kernel for one size, in
  /// the geometric mean over some of the sizes, at most `most_any_size`. The model takes 1 for a smaller one.
  /// 1: the same, or not measured. `most_any_size`: its measurement failed.
  double any_size = 1;
};

/// The values of all knobs except the one for the parts, and the kernels that they give.
struct KernelPoint {
  KnobValues knobs;
  Extents tile = {}; ///< of one block
  std::vector<KernelForm> forms;
  std::int64_t warps = 0; ///< of one block; 0: not known
};

struct KernelTable {
  std::string rung;          ///< full name: "fast/gemm"
  std::string parts_knob;    ///< the knob for the number of parts: "split_k"; may be empty
  std::string even_knob;     ///< the knob for even tails (schedules/even_tail.h): "even"; may be empty
  std::string dtype;         ///< "f32"
  std::string gpu;           ///< product name: "NVIDIA H200"
  std::int64_t sms = 0;      ///< multiprocessors of the GPU
  std::int64_t elements = 1; ///< of a vector: 4 for f32
  std::int64_t l2_bytes = 0; ///< capacity of L2
  double bytes_per_ms = 0;   ///< of global memory, at most
  std::string driver, nvrtc, launch, nestsmith, measured_at; ///< as in `Record`
  std::vector<KernelPoint> points;
};

/// Whether the text is that of a kernel table, also of another version, malformed or cut off.
bool is_kernel_table(const std::string &text);
/// Text of a table: JSON with one line for each point, so that it can be committed and compared.
std::string to_text(const KernelTable &table);
/// Throws UserError (usage) for text that is malformed, cut off, or of another version. `where` names the text
/// in messages.
KernelTable parse_kernel_table(const std::string &text, const std::string &where);

} // namespace nestsmith::records
