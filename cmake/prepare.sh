# run.sh and test.sh source this file and set `root`. It installs the tools for a build, builds nestsmith, and gets
# NVRTC, starting from a Debian machine with git and a shell. All messages go to stderr.

build=$root/build
wheels=$build/wheels

say() { printf 'nestsmith: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

# install PACKAGE...: installs the packages of Debian that this machine lacks. On other systems, it does nothing.
install() {
  command -v dpkg-query >/dev/null || return 0
  installed=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
  missing=
  for package in "$@"; do
    case $installed in
    *" installed:$package "*) ;;
    *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  else
    say "you are neither root nor have sudo; have someone run: apt-get install$missing"
    return 1
  fi
  say "installing$missing"
  log=$(mktemp)
  # shellcheck disable=SC2086 # a list of words
  if ! { $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

install_build_tools() {
  packages="cmake ninja-build g++ libfmt-dev libeigen3-dev zlib1g-dev libzstd-dev libsqlite3-dev"
  # Any LLVM from 14 on is accepted. If there are several, cmake/choose_llvm.cmake chooses one. llvm-dev is the default
  # version of this Debian.
  for library in /usr/lib/llvm-*/lib/libLLVMSupport.a /usr/lib/llvm-*/lib64/libLLVMSupport.a; do
    [ -e "$library" ] && found_llvm=yes
  done
  [ -n "${found_llvm-}" ] || packages="$packages llvm-dev"
  # shellcheck disable=SC2086 # a list of words
  install $packages "$@" || fail "cannot go on without the packages above"
}

# quietly NAME COMMAND...: shows the output of the command only if it fails.
quietly() {
  what=$1
  shift
  log=$build/$what.log
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "$what failed; all of it is in $log"
  }
}

# build_nestsmith TESTS ALL_TESTS: builds nestsmith. TESTS is ON or OFF, and so is ALL_TESTS, which adds the programs of
# the long tests. A build with tests keeps them.
build_nestsmith() {
  mkdir -p "$build"
  if ! configured "NESTSMITH_TESTS:BOOL=$1" "NESTSMITH_TESTS:BOOL=ON" ||
    ! configured "NESTSMITH_ALL_TESTS:BOOL=$2" "NESTSMITH_ALL_TESTS:BOOL=ON" || ! [ -e "$build/build.ninja" ]; then
    say "configuring build/"
    (cd "$root" && quietly configure cmake --preset release -DNESTSMITH_TESTS="$1" -DNESTSMITH_ALL_TESTS="$2")
    llvm=$(sed -n 's/^-- \(LLVM .*\)/\1/p' "$build/configure.log")
    [ -z "$llvm" ] || say "$llvm"
  fi
  target=nestsmith
  [ "$1" = OFF ] || target=all
  # Prints the message only if the build takes more than a second.
  (sleep 1 >/dev/null 2>&1 && say "building (from nothing: $([ "$1" = ON ] && echo three to nine || echo two to five) minutes)") &
  notice=$!
  trap 'kill "$notice" 2>/dev/null || true' EXIT
  quietly build cmake --build "$build" --target "$target"
  kill "$notice" 2>/dev/null || true
  trap - EXIT
}

# configured ENTRY...: returns whether the cache of the build has one of these entries.
configured() {
  for entry in "$@"; do
    ! grep -qs "^$entry" "$build/CMakeCache.txt" || return 0
  done
  return 1
}

unpack_wheels() {
  for wheel in "$1"/*.whl; do
    [ -e "$wheel" ] || fail "no wheel (*.whl) in $1"
    say "unpacking $(basename "$wheel")"
    (cd "$wheels" && cmake -E tar xf "$wheel") || fail "$wheel is not a wheel"
  done
}

# Gets the wheels of CUDA $1 (12 or 13). cuBLAS is included only if there is a GPU for the comparison.
fetch_wheels() {
  case $1 in
  12) names="nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12" cublas=nvidia-cublas-cu12 ;;
  13) names="nvidia-cuda-nvrtc==13.* nvidia-cuda-runtime==13.*" cublas="nvidia-cublas==13.*" ;;
  *) fail "--cuda is 12 or 13, got $1" ;;
  esac
  [ ! -e /dev/nvidiactl ] || names="$names $cublas"
  download_wheels "NVRTC and the CUDA headers"
}

# download_wheels NAME: downloads the wheels in the list `names` and unpacks them into build/wheels.
download_wheels() {
  if ! python3 -m pip --version >/dev/null 2>&1; then
    install python3-pip || return 1
  fi
  say "getting $1 (pip download $names)"
  # shellcheck disable=SC2086 # a list of words
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$wheels/download" $names \
    >"$build/wheels.log" 2>&1 || return 1
  unpack_wheels "$wheels/download"
  rm -rf "$wheels/download"
}

# Finds the tools that only tests need: nvcc, and CUPTI, which knows the names of metrics. They come from PATH, from a
# toolkit in its usual folder, or from wheels.
prepare_test_wheels() {
  for folder in "$wheels/nvidia/cu13/bin" /usr/local/cuda/bin; do
    command -v nvcc >/dev/null || ! [ -x "$folder/nvcc" ] || PATH=$folder:$PATH
  done
  if command -v nvcc >/dev/null || [ -n "$no_cuda" ] || [ -n "$wheels_from" ] || [ "${cuda:-13}" = 12 ]; then
    return
  fi
  mkdir -p "$wheels"
  # The compiler, its headers and the runtime are of one version. Later versions of CUPTI need a driver.
  names="nvidia-cuda-nvcc==13.* nvidia-nvvm==13.* nvidia-cuda-crt==13.* nvidia-cuda-runtime==13.* nvidia-cuda-cccl==13.* nvidia-cuda-cupti==13.0.*"
  download_wheels "nvcc and CUPTI" || {
    say "could not get nvcc and CUPTI (see build/wheels.log): the tests that need them are skipped"
    return
  }
  chmod +x "$wheels"/nvidia/cu13/bin/* "$wheels"/nvidia/cu13/nvvm/bin/*
  PATH=$wheels/nvidia/cu13/bin:$PATH
}

# Prints the newest CUDA version that the driver accepts. Without a driver, this is 13.
driver_cuda() {
  case $(nvidia-smi 2>/dev/null) in
  *"CUDA Version: 12"*) echo 12 ;;
  *) echo 13 ;;
  esac
}

# Returns whether the tool finds an NVRTC. The path is stored, because the search opens every library of CUDA.
has_nvrtc() {
  found=$build/nvrtc_path
  [ -e "$found" ] && [ -e "$(cat "$found")" ] && return 0
  "$build/bin/nestsmith" doctor --json 2>/dev/null | tr -d '\n' |
    sed -n 's/.*"key": *"nvrtc"[^}]*"path": *"\([^"]*\)".*/\1/p' >"$found"
  [ -s "$found" ]
}

# Gets the wheels into build/wheels, unless the user refused them or an earlier download failed. Prints the reason at
# most once.
get_wheels() {
  [ -z "${without_wheels-}" ] || return 0
  without_wheels=yes
  if [ -n "$no_cuda" ]; then
    say "no CUDA wanted: going on without $1"
  elif [ -e "$build/no_wheels" ]; then
    say "going on without $1 (--cuda 13 tries to get it again, --wheels DIR takes it from a folder)"
  else
    mkdir -p "$wheels"
    fetch_wheels "${cuda:-$(driver_cuda)}" || {
      rm -rf "$wheels/download"
      : >"$build/no_wheels"
      say "could not get $1 (see build/wheels.log): going on without"
    }
  fi
}

# Runs before the build, which includes a header of CUDA. Gets the wheels that the user asked for. If the machine has no
# such header, it gets the wheels with the header.
prepare_headers() {
  if [ -n "$wheels_from" ]; then
    [ -d "$wheels_from" ] || fail "--wheels: no folder $wheels_from"
    mkdir -p "$wheels"
    unpack_wheels "$(cd "$wheels_from" && pwd)"
    rm -f "$build/no_wheels"
  elif [ -n "$cuda" ]; then
    rm -f "$build/no_wheels"
    get_wheels "CUDA $cuda"
  elif ! [ -d "$wheels/nvidia" ] && ! cmake -P "$root/cmake/find_cuda_occupancy.cmake" >/dev/null 2>&1; then
    get_wheels "cuda_occupancy.h and NVRTC"
  fi
}

# Runs after the build. Uses the NVRTC that the tool finds in a toolkit, in wheels or in the system. If there is none,
# it gets one into build/wheels.
prepare_nvrtc() {
  [ -n "$wheels_from$cuda" ] || [ -d "$wheels/nvidia" ] || has_nvrtc || get_wheels NVRTC
}

script_options='  --no-cuda       do not get NVRTC and cuda_occupancy.h where this machine has none
  --cuda VERSION  get NVRTC and the CUDA headers, 12 or 13, into build/wheels, whatever else is there
  --wheels DIR    take them from the wheels (*.whl) in DIR, without a network'

# Removes the options of the scripts from "$@". The other arguments are in `arguments`, quoted for eval. Only test.sh
# has --all.
takes_all=
read_options() {
  no_cuda='' cuda='' wheels_from='' all_tests=OFF arguments=''
  while [ $# -gt 0 ]; do
    case $1 in
    --no-cuda) no_cuda=yes ;;
    --all) if [ -n "$takes_all" ]; then all_tests=ON; else arguments="$arguments --all"; fi ;;
    --cuda | --wheels)
      [ $# -gt 1 ] || fail "$1 needs a value"
      if [ "$1" = --cuda ]; then cuda=$2; else wheels_from=$2; fi
      shift
      ;;
    *) arguments="$arguments '$(printf '%s' "$1" | sed "s/'/'\\\\''/g")'" ;;
    esac
    shift
  done
}
