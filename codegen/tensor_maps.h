#pragma once
/// The host code that makes the tensor maps of bulk copies (lowering/kernel.h).

#include "codegen/launcher.h"
#include "codegen/text.h"

namespace nestsmith {

/// Whether a kernel of the plan has tensor maps, so that the text needs `tensor_map_include` and
/// `tensor_map_function`.
bool has_tensor_maps(const kernel::Plan &plan);
/// The header of the driver API, for its types. The text does not link to the driver.
extern const std::string_view tensor_map_include;
/// `encode_map`, which finds the function of the driver at run time.
extern const std::string_view tensor_map_function;

/// The names of the launcher's variables for the maps of the kernel, in order.
std::vector<std::string> tensor_map_names(const kernel::Kernel &kernel);
/// Declares and encodes the maps. If the driver refuses one, the launcher returns its error.
void make_tensor_maps(TextWriter &out, const Launcher &launcher, const kernel::Kernel &kernel);

} // namespace nestsmith
