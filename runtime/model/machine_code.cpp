#include "runtime/model/machine_code.h"

#include "runtime/model/cubin_section.h"

#include <algorithm>

namespace nestsmith::model {

namespace {

constexpr std::uint64_t instruction_bytes = 16;

std::int64_t signed_value(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

/// The distance of a branch from the next instruction, in bytes. From sm_90 on, the field counts words of 4
/// bytes, and its low 8 bits are separate.
std::int64_t distance(std::uint64_t low, std::uint64_t high, std::uint32_t sm) {
  if (sm >= 90)
    return 4 * (signed_value((high & 0x3FFFF) << 30 | low >> 34, 48) * 256 +
                static_cast<std::int64_t>(low >> 16 & 0xFF));
  return signed_value((high & 0x3FFFF) << 32 | low >> 32, 50);
}

Unit unit_of(std::uint64_t opcode) {
  switch (opcode) {
  case 0x020:
  case 0x021:
  case 0x023:
    return Unit::fp32;
  case 0x037:
  case 0x03C:
  case 0x1F0: // of wgmma
    return Unit::matrix;
  case 0x03B:
    return Unit::ldmatrix;
  case 0x184:
    return Unit::shared_load;
  case 0x044: // stmatrix
  case 0x188:
    return Unit::shared_store;
  case 0x181:
  case 0x183:
    return Unit::global_load;
  case 0x186:
  case 0x187:
    return Unit::global_store;
  case 0x1AE:
    return Unit::async_copy;
  case 0x1AF:
    return Unit::commit;
  case 0x11A:
    return Unit::wait;
  case 0x11D:
    return Unit::barrier;
  case 0x147:
    return Unit::branch;
  case 0x14D:
    return Unit::exit;
  default:
    return Unit::other;
  }
}

Instruction decoded(std::uint64_t low, std::uint64_t high, std::uint32_t sm, std::int64_t offset) {
  constexpr std::array<int, 8> access_bytes = {1, 1, 2, 2, 4, 8, 16, 16};
  constexpr std::uint64_t ffma_of_registers = 0x223;
  Instruction result;
  std::uint64_t control = high >> 41;
  result.unit = unit_of(low & 0x1FF);
  result.ffma = (low & 0x1FF) == 0x023;
  result.dp4a = (low & 0x1FF) == 0x026;
  result.predicated = (low >> 12 & 15) != 7;
  result.stall = static_cast<std::uint8_t>(std::max<std::uint64_t>(control & 15, 1));
  result.written = control >> 5 & 7;
  result.read = control >> 8 & 7;
  result.waits = control >> 11 & 63;
  if (result.unit == Unit::ldmatrix || (low & 0x1FF) == 0x044)
    result.bytes = 4 << (high >> 8 & 3); // 1, 2 or 4 matrices
  else if (result.unit >= Unit::shared_load && result.unit <= Unit::async_copy)
    result.bytes = access_bytes[high >> 9 & 7];
  if (result.unit == Unit::wait)
    result.pending = static_cast<int>(low >> 38 & 63);
  if (result.ffma) {
    result.operands[0] = low >> 24 & 0xFF;
    if ((low & 0xFFF) == ffma_of_registers)
      result.operands[1] = low >> 32 & 0xFF;
    result.operands[2] = high & 0xFF;
    result.reuse = control >> 17 & 15;
  }
  if (result.unit == Unit::branch)
    result.target = (offset + distance(low, high, sm)) / static_cast<std::int64_t>(instruction_bytes) + 1;
  return result;
}

} // namespace

std::vector<Instruction> machine_code(const std::vector<char> &cubin, const std::string &name) {
  std::uint32_t sm = at<std::uint32_t>(cubin, 0x30) >> 8 & 0xFF;
  std::vector<Instruction> code;
  if (sm < 80)
    return code;
  Section text = section(cubin, ".text." + name);
  for (std::uint64_t n = 0; n + instruction_bytes <= text.size; n += instruction_bytes)
    code.push_back(decoded(at<std::uint64_t>(cubin, text.begin + n),
                           at<std::uint64_t>(cubin, text.begin + n + 8), sm, static_cast<std::int64_t>(n)));
  return code;
}

std::vector<CodeLoop> loops(const std::vector<Instruction> &code) {
  std::vector<CodeLoop> found;
  for (std::size_t n = 0; n < code.size(); ++n) {
    if (code[n].target < 0 || static_cast<std::size_t>(code[n].target) >= n)
      continue;
    CodeLoop loop{static_cast<std::size_t>(code[n].target), n};
    for (std::size_t k = loop.begin; k <= n; ++k) {
      loop.fp32 += code[k].unit == Unit::fp32;
      loop.matrix += code[k].unit == Unit::matrix;
      loop.barriers += code[k].unit == Unit::barrier;
    }
    found.push_back(loop);
  }
  std::ranges::stable_sort(found, std::greater<>{}, [](const CodeLoop &loop) { return loop.end - loop.begin; });
  return found;
}

CodeBytes bytes_of(const std::vector<Instruction> &code) {
  constexpr std::size_t least = 1024;
  auto bytes = [](const CodeLoop &loop) { return (loop.end - loop.begin + 1) * instruction_bytes; };
  std::vector<CodeLoop> large = loops(code);
  std::erase_if(large, [&](const CodeLoop &loop) { return bytes(loop) < least; });
  std::vector<CodeLoop> inner;
  for (const CodeLoop &loop : large)
    if (std::ranges::none_of(
            large, [&](const CodeLoop &other) { return loop.contains(other) && bytes(other) < bytes(loop); }))
      inner.push_back(loop);
  std::ranges::sort(inner, {}, &CodeLoop::begin);
  CodeBytes result{code.size() * instruction_bytes, {}};
  for (const CodeLoop &loop : inner)
    result.loops.push_back(bytes(loop));
  return result;
}

} // namespace nestsmith::model
