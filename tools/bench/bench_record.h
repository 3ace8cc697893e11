#pragma once
/// `bench --record`: measures rungs at several shapes and dtypes, and keeps their times in a file, a table of
/// measured records (runtime/records/measured.h). A second run continues where the first one ended.

#include "runtime/cuda/compiled.h"
#include "runtime/records/measured.h"
#include "tools/bench/bench.h"
#include "tools/options/command.h"
#include "tools/results/record_of.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// Rungs that are measured together: in turns, with the same peers.
struct RecordBatch {
  Shape shape;
  DType dtype = DType::f32;
  std::vector<ChosenRung> rungs;
};

/// The batches of `rungs`, small shapes first. The shapes of a rung are those of --shapes that have its number
/// of extents; one number N is the shape NxNxN. A rung for which --shapes has no shape is measured at its GPU
/// shape. Without
/// --shapes, a rung of three extents is measured at 512, 1024, 2048, 4096 and its GPU shape. The dtypes of a
/// rung are that of --dtype, or the signed ones that it lists, or f32. Throws UserError (usage) if an element
/// of --shapes is malformed.
std::vector<RecordBatch> batches_of(const Context &context, const std::vector<const Rung *> &rungs);

/// Kernels that several host threads compile in advance.
class Precompiled {
public:
  using Compile = std::function<std::vector<cuda::Compiled>(const kernel::Plan &, Arch)>;
  explicit Precompiled(Compile compile) : compile_(std::move(compile)) {}
  /// Compiles the plans that are not known yet. A plan that cannot be compiled is left to `operator()`.
  void add(const std::vector<kernel::Plan> &plans, Arch arch);
  std::vector<cuda::Compiled> operator()(const kernel::Plan &plan, Arch arch) const;

private:
  Compile compile_;
  std::map<std::string, std::vector<cuda::Compiled>> known_;
};

/// The machine and the conditions of all batches.
struct RecordRun {
  std::string file;
  MeasuringMachine machine;
  std::string commit; ///< of the sources; may be empty
  Target target;
  BenchOptions options;
  /// Called before each batch with the plans that it executes.
  std::function<void(const std::vector<kernel::Plan> &)> prepare = [](const std::vector<kernel::Plan> &) {};
  std::function<BenchShape(const std::vector<Planned> &)> measure;
  /// Called with the results of each batch, after the file is written.
  std::function<void(const BenchShape &)> show = [](const BenchShape &) {};
};

struct Recorded {
  std::size_t measured = 0;       ///< new records
  std::size_t known = 0;          ///< records of the file that are of this kernel and this machine
  std::vector<std::string> notes; ///< the reasons of rungs that were not measured
  bool wrong = false;             ///< a rung had a wrong result
};

/// Measures the batches and writes the file after each of them. Skips what the file has already, and rungs that
/// are refused at a shape. A rung with a wrong result has no record. Throws UserError (usage) if the file
/// cannot be written, or if it exists and is no table of measured records.
Recorded record_batches(const Context &context, const std::vector<RecordBatch> &batches, const RecordRun &run);

} // namespace nestsmith::cli
