#pragma once
/// Builds a kernel body statement by statement, as a post prints it.

#include "lowering/kernel.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith {

class KernelBody {
public:
  /// `const int name = value;`
  Expr let(const std::string &name, const Expr &value) {
    Var var = make_var(name, DType::i32);
    stmts_.push_back(kernel::make(kernel::Declare{var, value}));
    return var;
  }
  void store(const Buffer &to, const Expr &at, const Expr &value) {
    stmts_.push_back(kernel::make(kernel::Store{to, {at}, value}));
  }
  void add(const Buffer &to, const Expr &at, const Expr &value) { store(to, at, load(to, {at}) + value); }
  void barrier() { stmts_.push_back(kernel::make(kernel::Barrier{})); }
  void loop(const std::string &name, std::int64_t extent,
            const std::function<void(KernelBody &, const Expr &)> &f) {
    Var var = make_var(name, DType::i32);
    KernelBody inside;
    f(inside, var);
    stmts_.push_back(
        kernel::make(kernel::Loop{var, int_imm(extent, DType::i32), kernel::Serial{}, inside.stmt()}));
  }
  void when(const Expr &condition, const std::function<void(KernelBody &)> &f) {
    KernelBody inside;
    f(inside);
    stmts_.push_back(kernel::make(kernel::If{condition, inside.stmt()}));
  }
  kernel::Stmt stmt() const { return kernel::make_seq(stmts_); }

private:
  std::vector<kernel::Stmt> stmts_;
};

/// Adds a thread index to the kernel.
inline Expr thread_index(kernel::Kernel &kernel, Axis axis, const std::string &name, std::int64_t extent) {
  kernel.indices.push_back({axis, make_var(name, DType::i32), extent});
  return kernel.indices.back().var;
}
/// Adds an f32 array in shared or local memory to the kernel.
inline Buffer array(kernel::Kernel &kernel, Scope scope, const std::string &name, std::int64_t elements) {
  auto buffer = std::make_shared<const BufferNode>(
      BufferNode{name, DType::f32, {Expr(elements)}, scope, Role::temporary});
  auto &list = scope == Scope::shared ? kernel.shared : kernel.local;
  list.push_back({buffer, scope == Scope::shared ? kernel.shared_bytes : 0, {elements}});
  if (scope == Scope::shared)
    kernel.shared_bytes += elements * byte_size(DType::f32);
  return buffer;
}
/// A kernel without a body that has the parameters of the computation.
inline kernel::Kernel kernel_for(const Program &computation, const std::string &name) {
  kernel::Kernel kernel;
  kernel.name = name;
  kernel.params = computation.params;
  kernel.scalars = computation.scalars;
  return kernel;
}

} // namespace nestsmith
