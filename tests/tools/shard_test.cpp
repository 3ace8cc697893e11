/// Tests how the part of a search for one process is selected, by option and by the environment of launchers.

#include "tools/tune/shard.h"

#include "dsl/expr/error.h"

#include <gmock/gmock.h>
#include <map>

namespace nestsmith::cli {
namespace {

Environment with(std::map<std::string, std::string> variables) {
  return [=](const char *name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

void refused(const std::optional<std::string> &given, const Environment &environment,
             const std::string &message) {
  try {
    chosen_shard(given, environment);
    ADD_FAILURE() << "expected " << message;
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr(message));
  }
}

TEST(Shard, IsTheWholeSearchOtherwise) {
  Shard shard = chosen_shard(std::nullopt, with({}));
  EXPECT_EQ(shard.count, 1);
  for (std::size_t n = 0; n < 5; ++n)
    EXPECT_TRUE(shard.has(n));
  EXPECT_EQ(shard.file("a/tune.db"), "a/tune.db");
  EXPECT_FALSE(visible_device(shard, with({})));
}

TEST(Shard, PartsAreDisjointExceptForTheDefault) {
  int tried[10] = {};
  for (const char *given : {"0/3", "1/3", "2/3"})
    for (std::size_t n = 0; n < 10; ++n)
      tried[n] += chosen_shard(given, with({})).has(n);
  EXPECT_THAT(tried, testing::ElementsAre(3, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(chosen_shard("1/3", with({})).file("a/tune.db"), "a/tune.1-of-3.db");
}

TEST(Shard, IsThatOfTheLauncher) {
  Environment slurm = with({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}});
  Shard shard = chosen_shard(std::nullopt, slurm);
  EXPECT_EQ(shard.index, 5);
  EXPECT_EQ(shard.count, 8);
  EXPECT_EQ(shard.source, "Slurm");
  EXPECT_EQ(visible_device(shard, slurm), "1");
  Shard mpi = chosen_shard(std::nullopt, with({{"OMPI_COMM_WORLD_RANK", "2"},
                                               {"OMPI_COMM_WORLD_SIZE", "4"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}}));
  EXPECT_EQ(mpi.index, 2);
  EXPECT_EQ(mpi.source, "Open MPI");
  EXPECT_EQ(visible_device(mpi, with({{"CUDA_VISIBLE_DEVICES", "4, 5,6,7"}})), "6");
  EXPECT_FALSE(visible_device(mpi, with({{"CUDA_VISIBLE_DEVICES", "3"}}))) << "the launcher chose";
  Shard pmi = chosen_shard(std::nullopt, with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}));
  EXPECT_EQ(pmi.index, 1);
  EXPECT_FALSE(pmi.local_rank);
  Shard given = chosen_shard("0/2", slurm);
  EXPECT_EQ(given.count, 2);
  EXPECT_EQ(given.local_rank, 1) << "the GPU is still that of the launcher";
}

TEST(Shard, RefusesOtherValues) {
  refused("4/4", with({}), "--shard is process 4 of 4, expected I/N with I from 0 to N-1, such as 0/4");
  refused("0/0", with({}), "--shard is process 0 of 0");
  refused("1", with({}), "the N of --shard I/N is '', expected a number from 0");
  refused("-1/2", with({}), "the I of --shard I/N is '-1'");
  refused(std::nullopt, with({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}),
          "PMI_RANK is 'x', expected a number from 0");
}

} // namespace
} // namespace nestsmith::cli
