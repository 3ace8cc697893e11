#pragma once
/// Measurements that the tutorials' authors published. nestsmith prints them next to its own figures, but does
/// not compare them, because the machines differ.

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

struct PublishedFigure {
  std::int64_t edge; ///< M = N = K
  double value;
};

/// The figures of one rung, or of the library of the tutorial: cuBLAS.
struct PublishedRow {
  std::string rung; ///< "step1"; empty: the library.
  std::vector<PublishedFigure> figures;
};

struct PublishedTable {
  std::string tutorial; ///< "tvm_steps"
  std::string source;   ///< author and hardware: "TVM series, RTX A500 laptop"
  std::string unit;     ///< "GFLOP/s" or "ms"
  std::vector<PublishedRow> rows;
  std::string gpu = {};     ///< "RTX A500"; empty: not named
  bool same_kernels = true; ///< false: the kernels use the techniques of the rungs, but differ from them

  /// The row of a rung, or null.
  const PublishedRow *find(const std::string &rung) const;
};

/// The tables of all tutorials, in their order. A tutorial may have one for each of several GPUs.
const std::vector<PublishedTable> &published_tables();
/// The first table of the tutorial, or null if nobody published times of its rungs.
const PublishedTable *published(const std::string &tutorial);

/// "91 (512), 95 (1024)".
std::string to_string(const PublishedRow &row);

} // namespace nestsmith
