#include "tools/results/published.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

const PublishedRow *PublishedTable::find(const std::string &rung) const {
  auto it = std::ranges::find(rows, rung, &PublishedRow::rung);
  return it == rows.end() ? nullptr : &*it;
}

const std::vector<PublishedTable> &published_tables() {
  static const std::vector<PublishedTable> tables = {
      {"deep_dive",
       "GEMM deep dive, part 1, on an RTX 5090 (1024 is our reading of its grid)",
       "ms",
       {{"naive", {{1024, 3.944}}},
        {"coalesced", {{1024, 0.518}}},
        {"shared", {{1024, 0.2487}}},
        {"tile1d", {{1024, 0.2490}}},
        {"", {{1024, 0.0453}}}},
       "RTX 5090"},
      {"tiling",
       "naive against shared tiling; the post does not name its GPU",
       "ms",
       {{"naive", {{1024, 2.163}}}, {"shared", {{1024, 1.758}}}}},
      {"tvm_steps",
       "matrix multiplication with TVM, on an RTX A500 laptop",
       "GFLOP/s",
       {{"step1", {{512, 91}, {1024, 95}}},
        {"step2", {{512, 466}, {1024, 482}, {2048, 222}}},
        {"step3", {{512, 415}, {1024, 460}, {2048, 446}}},
        {"step4", {{512, 804}, {1024, 593}}},
        {"step5", {{512, 1020}, {1024, 1029}}},
        {"step6", {{512, 1028}, {1024, 1050}}},
        {"", {{512, 1302}, {1024, 2846}}}},
       "RTX A500"},
      {"worklog",
       "S. Boehm's worklog, on an A6000",
       "GFLOP/s",
       {{"1", {{4096, 309}}},
        {"2", {{4096, 1987}}},
        {"3", {{4096, 2980}}},
        {"4", {{4096, 8475}}},
        {"5", {{4096, 15972}}},
        {"6", {{4096, 18237}}},
        {"7", {{4096, 16213}}},
        {"8", {{4096, 16459}}},
        {"9", {{4096, 19721}}},
        {"10", {{4096, 21779}}},
        {"", {{4096, 23250}}}},
       "RTX A6000"},
      {"tensor",
       "gau-nernst's learn-cuda (mma.sync, bf16), on an RTX 5090; its kernels differ from the rungs",
       "GFLOP/s",
       {{"shared", {{4096, 140700}}},
        {"swizzled", {{4096, 177400}}},
        {"ldmatrix", {{4096, 177600}}},
        {"async3", {{4096, 177700}}},
        {"grouped", {{4096, 177400}}},
        {"", {{4096, 177000}}}},
       "RTX 5090",
       false},
      {"tensor",
       "gau-nernst's learn-cuda (mma.sync, bf16), on an A100; its kernels differ from the rungs",
       "GFLOP/s",
       {{"shared", {{4096, 59900}}},
        {"swizzled", {{4096, 190900}}},
        {"ldmatrix", {{4096, 160400}}},
        {"async3", {{4096, 220800}}},
        {"grouped", {{4096, 220700}}},
        {"", {{4096, 244000}}}},
       "A100",
       false},
  };
  return tables;
}

const PublishedTable *published(const std::string &tutorial) {
  const std::vector<PublishedTable> &tables = published_tables();
  auto it = std::ranges::find(tables, tutorial, &PublishedTable::tutorial);
  return it == tables.end() ? nullptr : &*it;
}

std::string to_string(const PublishedRow &row) {
  std::string text;
  for (const PublishedFigure &figure : row.figures)
    text += fmt::format("{}{:g} ({})", text.empty() ? "" : ", ", figure.value, figure.edge);
  return text;
}

} // namespace nestsmith
