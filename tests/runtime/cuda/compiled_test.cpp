#include "runtime/cuda/compiled.h"

#include <gtest/gtest.h>

namespace nestsmith::cuda {
namespace {

Compiled compiled() {
  Compiled result;
  result.kernel_name = "f";
  result.arch = *Arch::parse("sm_90a");
  result.log = "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
               "ptxas info    : Function properties for f\n"
               "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
               "ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem\n";
  result.registers = 32, result.stack_bytes = 8, result.spill_stores = 12, result.spill_loads = 16;
  result.shared_bytes = 1024;
  const std::string cubin("\x7f"
                          "ELF\0\n{\"",
                          8);
  result.cubin.assign(cubin.begin(), cubin.end());
  return result;
}

TEST(CompiledEntry, IsReadAsItWasWritten) {
  Compiled written = compiled();
  auto read = read_entry(write_entry(written), "f", written.arch);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kernel_name, "f");
  EXPECT_EQ(read->arch, written.arch);
  EXPECT_EQ(read->log, written.log);
  EXPECT_EQ(read->cubin, written.cubin);
  EXPECT_EQ(read->registers, 32);
  EXPECT_EQ(read->stack_bytes, 8);
  EXPECT_EQ(read->spill_stores, 12);
  EXPECT_EQ(read->spill_loads, 16);
  EXPECT_EQ(read->shared_bytes, 1024);
}

TEST(CompiledEntry, OfAnotherKernelOrArchitectureIsNone) {
  const std::string entry = write_entry(compiled());
  EXPECT_FALSE(read_entry(entry, "g", compiled().arch));
  EXPECT_FALSE(read_entry(entry, "f", *Arch::parse("sm_90")));
  Compiled renamed = compiled();
  renamed.kernel_name = "g"; // the log is that of another kernel
  EXPECT_FALSE(read_entry(write_entry(renamed), "g", renamed.arch));
}

TEST(CompiledEntry, OtherTextIsNone) {
  Compiled bad = compiled();
  bad.cubin = {'E', 'L', 'F'};
  EXPECT_FALSE(read_entry(write_entry(bad), "f", bad.arch));
  bad = compiled();
  bad.log = "Used 99999999999999999999 registers";
  EXPECT_FALSE(read_entry(write_entry(bad), "f", bad.arch));
  for (const std::string &text :
       {std::string(), std::string("\n"),
        std::string("{}\n\x7f"
                    "ELF"),
        std::string("[1]\n\x7f"
                    "ELF"),
        std::string(300000, '[') + "\n\x7f"
                                   "ELF",
        std::string(300000, '{') + "\n", "{\"kernel\": \"f\", \"arch\": [" + std::string(300000, '[') + "\n"})
    EXPECT_FALSE(read_entry(text, "f", compiled().arch)) << text.substr(0, 50);
}

} // namespace
} // namespace nestsmith::cuda
