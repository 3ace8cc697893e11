#include "tools/tune/shard.h"

#include "dsl/expr/error.h"

#include <cstdlib>
#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith::cli {

namespace {

struct Launcher {
  const char *name, *rank, *size, *local_rank;
};
constexpr Launcher launchers[] = {
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

std::int64_t number_of(const std::string &text, const std::string &what) {
  std::int64_t number = 0;
  if (llvm::StringRef(text).getAsInteger(10, number) || number < 0)
    throw UserError(ExitCode::usage, fmt::format("{} is '{}', expected a number from 0", what, text));
  return number;
}

Shard checked(Shard shard, const std::string &what) {
  if (shard.count < 1 || shard.index >= shard.count)
    throw UserError(ExitCode::usage,
                    fmt::format("{} is process {} of {}, expected I/N with I from 0 to N-1, such "
                                "as 0/4",
                                what, shard.index, shard.count));
  return shard;
}

} // namespace

std::filesystem::path Shard::file(const std::filesystem::path &path) const {
  if (count == 1)
    return path;
  std::filesystem::path name = path.stem();
  name += fmt::format(".{}-of-{}", index, count);
  name += path.extension();
  return path.parent_path() / name;
}

Environment process_environment() {
  return [](const char *name) -> std::optional<std::string> {
    const char *value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Shard chosen_shard(const std::optional<std::string> &given, const Environment &environment) {
  Shard shard;
  for (const Launcher &launcher : launchers) {
    auto rank = environment(launcher.rank), size = environment(launcher.size);
    if (!rank || !size)
      continue;
    shard.index = number_of(*rank, launcher.rank);
    shard.count = number_of(*size, launcher.size);
    if (auto local = environment(launcher.local_rank))
      shard.local_rank = number_of(*local, launcher.local_rank);
    shard.source = launcher.name;
    shard = checked(shard, launcher.name);
    break;
  }
  if (!given)
    return shard;
  auto [index, count] = llvm::StringRef(*given).split('/');
  shard.index = number_of(index.str(), "the I of --shard I/N");
  shard.count = number_of(count.str(), "the N of --shard I/N");
  shard.source = "--shard";
  return checked(shard, "--shard");
}

std::optional<std::string> visible_device(const Shard &shard, const Environment &environment) {
  if (!shard.local_rank)
    return std::nullopt;
  auto visible = environment("CUDA_VISIBLE_DEVICES");
  if (!visible || visible->empty())
    return std::to_string(*shard.local_rank);
  llvm::SmallVector<llvm::StringRef, 8> devices;
  llvm::StringRef(*visible).split(devices, ',');
  if (devices.size() == 1)
    return std::nullopt;
  return devices[static_cast<std::size_t>(*shard.local_rank) % devices.size()].trim().str();
}

} // namespace nestsmith::cli
