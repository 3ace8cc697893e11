#include "dsl/ir/arch.h"

#include "dsl/expr/error.h"

#include <charconv>
#include <climits>

namespace nestsmith {

namespace {

/// The architectures that have a feature: those from `first` to `last`. If `specific` is set, only code with a
/// suffix, for one architecture or its family, may use it.
struct FeatureRow {
  Feature feature;
  std::string_view name;
  int first, last = INT_MAX;
  bool specific = false;
};

/// Source: PTX ISA 9.0, the "Target ISA Notes" of the instructions in the comments. A test compiles each of
/// them with NVRTC.
constexpr FeatureRow feature_rows[] = {
    {Feature::vector_access, "vector_access", 50},          // ld.v4, st.v4: all that CUDA 12 compiles for
    {Feature::dp4a, "dp4a", 61},                            // dp4a
    {Feature::ldmatrix, "ldmatrix", 75},                    // ldmatrix
    {Feature::mma_f16_k8, "mma_f16_k8", 75},                // mma: .m16n8k8 with .f16
    {Feature::mma_f16, "mma_f16", 80},                      // mma: .m16n8k16 with .f16
    {Feature::mma_bf16, "mma_bf16", 80},                    // mma: .bf16
    {Feature::mma_tf32, "mma_tf32", 80},                    // mma: .tf32
    {Feature::mma_i8, "mma_i8", 80},                        // mma: .m16n8k32
    {Feature::cp_async, "cp_async", 80},                    // cp.async
    {Feature::mbarrier, "mbarrier", 80},                    // mbarrier.init
    {Feature::mbarrier_expect, "mbarrier_expect", 90},      // mbarrier.expect_tx, mbarrier.try_wait
    {Feature::tma, "tma", 90},                              // cp.async.bulk, cp.async.bulk.tensor
    {Feature::clusters, "clusters", 90},                    // barrier.cluster
    {Feature::stmatrix, "stmatrix", 90},                    // stmatrix
    {Feature::wgmma, "wgmma", 90, 90, true},                // wgmma.mma_async
    {Feature::setmaxnreg, "setmaxnreg", 90, INT_MAX, true}, // setmaxnreg
    {Feature::griddepcontrol, "griddepcontrol", 90},        // griddepcontrol.wait
};

const FeatureRow &row_of(Feature feature) {
  for (const FeatureRow &row : feature_rows)
    if (row.feature == feature)
      return row;
  internal_error("a feature that is not in the table");
}

} // namespace

bool Arch::has(Feature feature) const {
  const FeatureRow &row = row_of(feature);
  return row.first <= number && number <= row.last && (!row.specific || suffix != '\0');
}

std::optional<Arch> Arch::parse(std::string_view text) {
  if (!text.starts_with("sm_"))
    return std::nullopt;
  text.remove_prefix(3);
  Arch arch;
  if (text.ends_with('a') || text.ends_with('f')) {
    arch.suffix = text.back();
    text.remove_suffix(1);
  }
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text[0] != '0' && arch.number >= 10 ? std::optional(arch) : std::nullopt;
}

std::string to_string(Arch arch) {
  return "sm_" + std::to_string(arch.number) + (arch.suffix == '\0' ? "" : std::string(1, arch.suffix));
}

std::vector<std::string> names(const std::vector<Arch> &arches) {
  std::vector<std::string> result;
  for (Arch arch : arches)
    result.push_back(to_string(arch));
  return result;
}

bool has_suffix(int number, char suffix) { return suffix == 'a' ? number >= 90 : number >= 100; }

std::string_view name(Feature feature) { return row_of(feature).name; }

std::optional<Feature> feature_of(std::string_view name) {
  for (const FeatureRow &row : feature_rows)
    if (row.name == name)
      return row.feature;
  return std::nullopt;
}

} // namespace nestsmith
