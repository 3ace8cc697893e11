#pragma once
/// Registers launchers as numbered cases. The program in jobs.cpp runs them.

#include "cuda_runtime.h"

#include <utility>

namespace host {

struct Case {
  cudaError_t (*call)(const uint64_t *words) = nullptr;
  unsigned char *shared_begin = nullptr, *shared_end = nullptr; ///< the bounds of its `__shared__` arrays
};
void add_case(uint64_t number, const Case &test_case);

/// Calls a launcher with arguments that are stored as 64-bit words. An argument is in the low bytes of its
/// word.
template <auto launcher> struct Call;
template <class... Arguments, cudaError_t (*launcher)(Arguments...)> struct Call<launcher> {
  static cudaError_t with(const uint64_t *words) {
    return with(words, std::index_sequence_for<Arguments...>());
  }

private:
  template <class T> static T from_word(uint64_t word) {
    T value;
    memcpy(&value, &word, sizeof(T));
    return value;
  }
  template <size_t... n> static cudaError_t with(const uint64_t *words, std::index_sequence<n...>) {
    return launcher(from_word<Arguments>(words[n])...);
  }
};

} // namespace host
