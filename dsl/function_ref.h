#pragma once
/// A non-owning reference to a callable, for callees that do not keep it: two pointers, where std::function may
/// allocate. A subset of C++26's std::function_ref. The callable must outlive the reference.

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace nestsmith {

template <class Signature> class FunctionRef;

template <class Result, class... Args> class FunctionRef<Result(Args...)> {
public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F &, Args...>)
      FunctionRef(F &&f)
      : callable_(reinterpret_cast<const void *>(std::addressof(f))),
        call_([](const void *callable, Args... args) -> Result {
          auto *f = reinterpret_cast<std::remove_reference_t<F> *>(const_cast<void *>(callable));
          return std::invoke(*f, std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(callable_, std::forward<Args>(args)...); }

private:
  const void *callable_; ///< the callable, which may be a function
  Result (*call_)(const void *, Args...);
};

} // namespace nestsmith
