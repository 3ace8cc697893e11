#pragma once
/// Decides whether other users of this machine can change a file or a folder.

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace nestsmith {

/// The reason why users other than root and this user can replace or change the file or folder at `path`, or an
/// empty string. The function follows symbolic links and checks everything on the way from `/`: each folder,
/// link and file must belong to root, to this user, or to `owner`, and other users must not have the permission
/// to write to it. They may write to a folder with the sticky bit, such as /tmp, because they cannot replace
/// what belongs to others there. A relative path is not trusted.
std::string why_untrusted(const std::filesystem::path &path, std::optional<uid_t> owner = std::nullopt);

/// Whether users other than root and this user have the permission to write to the file or folder `path`, which
/// `info` describes. The private group of this user, and a group of the system without other members, are no
/// others.
bool others_can_write(const std::filesystem::path &path, const struct stat &info);

/// A library of this name that the system loader would take from a relative folder of LD_LIBRARY_PATH; an empty
/// entry of this list is the current folder.
std::optional<std::filesystem::path> relative_library(const std::string &name);

} // namespace nestsmith
