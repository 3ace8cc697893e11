#pragma once
/// A non-owning reference to a callable, for parameters of functions that do not store the callable. It
/// consists of two pointers and never allocates, in contrast to std::function. It is a subset of
/// std::function_ref of C++26. The callable must outlive the reference.

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
