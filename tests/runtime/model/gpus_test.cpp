/// Tests the table of GPUs against published figures and measurements.

#include "dsl/hardware/gpus.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/target.h"
#include "tests/runtime/environment.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::says;

TEST(Gpus, ReachTheirPublishedPeaks) {
  struct Peak {
    const char *name;
    double teraflops, gb_per_s;
  };
  for (const Peak &peak : {Peak{"A100", 19.5, 1555},
                           {"RTX 3090", 35.6, 936},
                           {"H200", 67, 4800},
                           {"RTX 5090", 104.8, 1792},
                           {"RTX A500", 3.07, 192},
                           {"L4", 30.3, 300},
                           {"RTX 4090", 82.6, 1008},
                           {"H100", 67, 3350},
                           {"RTX A6000", 38.7, 768}}) {
    const Gpu &gpu = find_gpu(peak.name);
    EXPECT_NEAR(gpu.fp32_flops() / 1e12, peak.teraflops, 0.005 * peak.teraflops) << gpu.name;
    EXPECT_EQ(gpu.dram_bytes_per_s, peak.gb_per_s * 1e9) << gpu.name;
  }
}

TEST(Gpus, ReachThePublishedPeaksOfTheirMatrixUnits) {
  struct Peak {
    const char *name;
    double f16, tf32, i8; // 10^12 per second
  };
  for (const Peak &peak : {Peak{"A100", 312, 156, 624},
                           {"RTX 3090", 71, 35.6, 284},
                           {"H200", 989.4, 494.7, 1978.9},
                           {"RTX 5090", 209.5, 104.8, 838},
                           {"L4", 121, 60.5, 242.5},
                           {"RTX 4090", 165.2, 82.6, 660.6},
                           {"H100", 989.4, 494.7, 1978.9},
                           {"RTX A6000", 154.8, 77.4, 309.7}}) {
    const Gpu &gpu = find_gpu(peak.name);
    EXPECT_NEAR(gpu.dense_flops(Feature::mma_f16) / 1e12, peak.f16, 0.005 * peak.f16) << gpu.name;
    EXPECT_EQ(gpu.dense_flops(Feature::mma_bf16), gpu.dense_flops(Feature::mma_f16));
    EXPECT_NEAR(gpu.dense_flops(Feature::mma_tf32) / 1e12, peak.tf32, 0.005 * peak.tf32) << gpu.name;
    EXPECT_NEAR(gpu.dense_flops(Feature::mma_i8) / 1e12, peak.i8, 0.005 * peak.i8) << gpu.name;
    bool needs_wgmma = gpu.chip == "GH100";
    EXPECT_EQ(gpu.matrix_flops(Feature::mma_f16) == gpu.dense_flops(Feature::mma_f16), !needs_wgmma)
        << gpu.name;
  }
}

/// Measured on an H200 with products of registers, which reach 0.90 of the rate of the tensor cores.
TEST(Gpus, BoundTheMeasuredRatesOfMmaSync) {
  const Gpu &gpu = find_gpu("H200");
  for (auto [feature, measured] : {std::pair{Feature::mma_f16, 645e12},
                                   {Feature::mma_bf16, 645e12},
                                   {Feature::mma_tf32, 322e12},
                                   {Feature::mma_i8, 1292e12}}) {
    EXPECT_GE(gpu.matrix_flops(feature), measured) << name(feature);
    EXPECT_LE(gpu.matrix_flops(feature), 1.11 * measured) << name(feature);
  }
}

TEST(Gpus, HaveTheRidgesOfTheDocuments) {
  EXPECT_EQ(std::lround(find_gpu("A100").ridge()), 13); // from the post about principles
  EXPECT_NEAR(find_gpu("H200").ridge(), 13.9, 0.05);
}

TEST(Gpus, NameASourceForEachFigure) {
  const std::set<std::string> figures = {"sms",
                                         "clock_hz",
                                         "fp32_lanes",
                                         "fp64_lanes",
                                         "matrix_f16",
                                         "matrix_tf32",
                                         "matrix_i8",
                                         "dense_clock_hz",
                                         "schedulers",
                                         "dram_bytes_per_s",
                                         "dram_bytes",
                                         "l2_bytes",
                                         "l2_partitions",
                                         "l2_bytes_per_clock",
                                         "l1_bytes",
                                         "shared_per_sm",
                                         "shared_per_block",
                                         "shared_reserved_per_block",
                                         "threads_per_sm",
                                         "blocks_per_sm",
                                         "registers_per_sm"};
  for (const Gpu &gpu : gpus()) {
    std::set<std::string> cited;
    for (const auto &[field, source] : gpu.sources) {
      cited.insert(field);
      EXPECT_FALSE(source.empty()) << gpu.name << " " << field;
    }
    EXPECT_EQ(cited, figures) << gpu.name;
  }
}

TEST(Gpus, HoldTheLimitsOfTheirArchitecture) {
  for (const Gpu &gpu : gpus()) {
    Target target = make_target(gpu.arch);
    EXPECT_GT(target.threads_per_sm, 1024) << to_string(gpu.arch) << " is in the table";
    EXPECT_EQ(gpu.threads_per_sm, target.threads_per_sm);
    EXPECT_EQ(gpu.shared_per_block + gpu.shared_reserved_per_block, gpu.shared_per_sm) << gpu.name;
    EXPECT_LT(gpu.shared_per_sm, gpu.l1_bytes) << gpu.name;
    EXPECT_EQ(gpu.warps_per_sm() * 32, gpu.threads_per_sm);
    // L2 is faster than DRAM, and not faster than the sum of the L1 caches, each of which receives 64 bytes per
    // clock.
    EXPECT_GT(gpu.l2_bytes_per_clock * gpu.clock_hz, gpu.dram_bytes_per_s) << gpu.name;
    EXPECT_LE(gpu.l2_bytes_per_clock, 64.0 * gpu.sms) << gpu.name;
  }
}

TEST(Gpus, AreListedWithThoseOfTheDocumentsFirst) {
  std::vector<std::string> names;
  for (const Gpu &gpu : gpus())
    names.push_back(gpu.name);
  EXPECT_EQ(names, (std::vector<std::string>{"A100", "RTX 3090", "H200", "RTX 5090", "RTX A500", "L4",
                                             "RTX 4090", "H100", "RTX A6000"}));
}

TEST(Gpus, AreFoundByWhatPeopleCallThem) {
  for (const Gpu &gpu : gpus()) {
    EXPECT_EQ(&find_gpu(gpu.name), &gpu);
    EXPECT_EQ(&find_gpu(gpu.product), &gpu);
  }
  for (const char *name : {"3090", "rtx3090", "RTX-3090", "rtx_3090", "GeForce RTX 3090", "nvidia 3090"})
    EXPECT_EQ(find_gpu(name).name, "RTX 3090") << name;
  EXPECT_EQ(find_gpu("a500").name, "RTX A500");
  EXPECT_EQ(find_gpu("A6000").name, "RTX A6000");
  EXPECT_EQ(find_gpu("NVIDIA L4").name, "L4");
}

TEST(Gpus, RefuseAnUnknownOneWithTheList) {
  for (const char *name : {"V100", "", "RTX", "H20", "A100-80GB"})
    try {
      find_gpu(name);
      ADD_FAILURE() << name << " is none of ours";
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(error.what(),
                "no GPU '" + std::string(name) +
                    "' is known; these are: A100, RTX 3090, H200, RTX 5090, RTX A500, L4, RTX 4090, H100, "
                    "RTX A6000");
    }
}

TEST(Gpus, KnowADeviceByItsProductOnly) {
  ASSERT_TRUE(known_gpu("NVIDIA H200"));
  EXPECT_EQ(known_gpu("NVIDIA H200")->name, "H200");
  // GPUs with similar names have other clocks and memories.
  for (const char *product :
       {"NVIDIA A100-SXM4-80GB", "NVIDIA H200 NVL", "NVIDIA GeForce RTX 3090 Ti", "H200", ""})
    EXPECT_EQ(known_gpu(product), nullptr) << product;
}

} // namespace
} // namespace nestsmith
