// Part of lanes_impl.h: loops, conditions and the end.

NESTSMITH_LANES void enter(const Warp &w, std::uint32_t region) {
  w.machine->region_threads[region] += static_cast<std::uint64_t>(std::popcount(w.active));
  ++w.machine->region_warps[region];
}

NESTSMITH_LANES const Instr *block_index(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = w.machine->block_index[static_cast<std::size_t>(ip->imm)];
  return ip + 1;
}

NESTSMITH_LANES const Instr *loop_begin(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = 0;
  if (reg<Uniform>(w, ip->a) <= 0)
    return ip + ip->imm;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *loop_next(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) += ip->c;
  if (reg<Uniform>(w, ip->dst) >= reg<Uniform>(w, ip->a))
    return ip + 1;
  enter(w, ip->b);
  return ip + ip->imm;
}

NESTSMITH_LANES const Instr *if_lanes(const Instr *ip, Warp &w) {
  Mask mask = w.active & reg<Mask>(w, ip->a);
  if (mask == 0)
    return ip + ip->imm;
  reg<Mask>(w, ip->dst) = w.active;
  w.active = mask;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *if_uniform(const Instr *ip, Warp &w) {
  if (reg<Uniform>(w, ip->a) == 0)
    return ip + ip->imm;
  enter(w, ip->b);
  return ip + 1;
}

NESTSMITH_LANES const Instr *end_if(const Instr *ip, Warp &w) {
  w.active = reg<Mask>(w, ip->a);
  return ip + 1;
}

NESTSMITH_LANES const Instr *end(const Instr *, Warp &w) {
  w.state = Warp::State::finished;
  return nullptr;
}
