#!/bin/sh
# Runs the two commands of README.md on a machine that has only git: in a minimal root of Debian, on a clone of the
# committed tree. Needs root privileges and installs mmdebstrap on the host. On every exit, the script removes the root
# and its mounts.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/prepare.sh"

usage() {
  cat <<HELP
usage: tests/fresh_machine.sh [OPTIONS] [12|13]
Makes a minimal root of Debian 12 (or 13) with git and nothing else, clones the committed tree into it, and runs the
two commands of README there, with their times. Fails where the compiler warns, and where a test is skipped that is not
listed in tests/may_skip.txt, in tests/may_skip_quick.txt (without --all) or in tests/may_skip_user.txt (with --user).
  --all          ./test.sh --all in place of ./test.sh
  --user         as an ordinary user with sudo, not as root
  --llvm VERSION with the package llvm-VERSION-dev installed before
  --matrix       Debian 12, Debian 13, an ordinary user, and Debian 12 with LLVM 19, one after the other
  --keep         keep the root, and print its folder
HELP
}

release=12 all='' user='' llvm='' matrix='' keep=''
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) usage && exit 0 ;;
  --all) all=' --all' ;;
  --user) user=builder ;;
  --llvm)
    [ $# -gt 1 ] || fail "--llvm needs a version, such as 19"
    llvm=$2
    shift
    ;;
  --matrix) matrix=yes ;;
  --keep) keep=yes ;;
  12 | 13) release=$1 ;;
  *) fail "fresh_machine.sh: '$1' is neither an option nor 12 or 13; see --help" ;;
  esac
  shift
done
[ "$(id -u)" = 0 ] || fail "fresh_machine.sh makes a root of Debian: run it as root"

# Runs each line of the matrix and measures its time. A failure does not stop the matrix.
if [ -n "$matrix" ]; then
  status=0 table=''
  for case in "12" "13" "12 --user" "12 --llvm 19"; do
    say "matrix: $case$all"
    begin=$(date +%s)
    # shellcheck disable=SC2086 # words
    if "$0" $case $all; then result=passed; else result=FAILED status=1; fi
    table="$table$(printf '%-16s %s in %d s' "$case$all" "$result" $(($(date +%s) - begin)))
"
  done
  printf '%s' "$table"
  exit "$status"
fi

case $release in
12) suite=bookworm ;;
13) suite=trixie ;;
esac
commands=$(awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 }
  inside && /^\.\/(run|test)\.sh/ { sub(/ *#.*/, ""); print }' "$root/README.md")
[ "$commands" = "$(printf './run.sh\n./test.sh')" ] || fail "README.md gives other commands than ./run.sh and ./test.sh: $commands"

install mmdebstrap git util-linux || fail "cannot make a root without the packages above"
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/nestsmith-fresh.XXXXXX")
chmod 755 "$folder"
child=
finish() {
  status=$?
  trap - EXIT INT TERM HUP
  # Each child is the first process of its own namespaces, so its end also ends its descendants and its mounts.
  if [ -n "$child" ]; then
    kill -s KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    sleep 1
  fi
  if [ -n "$keep" ]; then say "kept: $folder"; else rm -rf --one-file-system "$folder"; fi
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# wait_for COMMAND...: runs the command in the background, so that a signal ends the script at once.
wait_for() {
  "$@" </dev/null &
  child=$!
  status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

# Settings for packages that the root takes from the host: the archives of Debian for the release, the proxies of apt,
# additional certificates, and the configuration of pip.
host_suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
  sed -n "s/^Debian \(deb .*\) $host_suite\([-a-z]*\) main\$/\1 $suite\2 main/p" | sort -u >"$folder/archives"
archives=$folder/archives
[ -s "$archives" ] || archives= # mmdebstrap knows Debian's own archives
apt-config dump | grep -E '^Acquire::https?::Proxy' >"$folder/proxies" || true

machine=$folder/machine packages=git
[ -z "$user" ] || packages=$packages,sudo
say "Debian $release: making a minimal root with $packages"
log=$folder/mmdebstrap.log
wait_for unshare --mount --pid --fork --kill-child --mount-proc mmdebstrap --variant=minbase --include="$packages" --aptopt="$folder/proxies" "$suite" "$machine" ${archives:+"$archives"} \
  >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  fail "mmdebstrap failed"
}
mkdir -p "$machine/usr/local/share/ca-certificates"
for file in /usr/local/share/ca-certificates/*.crt; do
  [ ! -e "$file" ] || cp "$file" "$machine/usr/local/share/ca-certificates/"
done
for file in /etc/resolv.conf /etc/pip.conf; do
  [ ! -e "$file" ] || cp -L "$file" "$machine$file"
done
place=/root/nestsmith
if [ -n "$user" ]; then
  place=/home/$user/nestsmith
  chroot "$machine" useradd --create-home --shell /bin/sh "$user"
  echo "$user ALL=(ALL) NOPASSWD: ALL" >"$machine/etc/sudoers.d/$user"
fi

# inside COMMAND: runs a shell command in the clone, with the mounts of an ordinary machine. They are in a namespace of
# their own, which ends with the command. /dev has only the devices that each machine has, so no GPU.
inside() {
  # shellcheck disable=SC2016 # expanded in the namespace
  wait_for unshare --mount --pid --fork --kill-child sh -euc '
    root=$1 user=$2 place=$3 command=$4
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 devices "$root/dev"
    for device in null zero full random urandom tty; do
      : >"$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/shm" "$root/dev/pts"
    mount -t tmpfs shm "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 pts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    set -- sh -euc "cd $place && $command"
    [ -z "$user" ] || set -- su --shell /bin/sh "$user" -c "cd $place && $command"
    for name in $(env | sed -n "s/^\([A-Za-z_]*_proxy\|[A-Z_]*_PROXY\|PIP_[A-Z_]*\)=.*/\1/p"); do
      eval "value=\$$name"
      set -- "$name=$value" "$@"
    done
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="${place%/nestsmith}" \
      LANG=C.UTF-8 CI=true chroot "$root" env "$@"' sh "$machine" "$user" "$place" "$1"
}

git -c safe.directory='*' clone -q --no-local "$root" "$machine$place" || fail "cannot clone $root"
commit=$(git -c safe.directory='*' -C "$machine$place" log -1 --format='%h %s')
[ -z "$user" ] || chroot "$machine" chown -R "$user:$user" "$place"
if [ -n "$llvm" ]; then
  say "installing llvm-$llvm-dev before"
  wait_for unshare --mount --pid --fork --kill-child chroot "$machine" sh -ec "apt-get update -qq && apt-get install -qq -y --no-install-recommends llvm-$llvm-dev" >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2 && fail "cannot install llvm-$llvm-dev"; }
fi

say "Debian $release${user:+, an ordinary user}${llvm:+, LLVM $llvm}: $commit"
status=0 times=''
for command in ./run.sh "./test.sh$all"; do
  say "\$ $command"
  begin=$(date +%s)
  result=passed
  inside "$command" || {
    result="FAILED with exit code $?" status=1
  }
  # A warning is an error here, and only here, because a user's compiler may be newer than the tested ones.
  if grep -n 'warning: ' "$machine$place/build/build.log" >&2; then
    say "$command: the compiler warns, see above"
    result="$result with warnings" status=1
  fi
  times="$times$command $result in $(($(date +%s) - begin)) s; "
done
junit=$machine$place/build/tests.xml may_skip_too=
[ -n "$all" ] || may_skip_too=$root/tests/may_skip_quick.txt
[ -z "$user" ] || may_skip_too="$may_skip_too $root/tests/may_skip_user.txt"
# shellcheck disable=SC2086 # names
[ ! -e "$junit" ] || "$root/tests/skipped.sh" "$junit" "$root/tests/may_skip.txt" $may_skip_too >&2 || status=1
[ ! -e "$junit" ] || "$root/tests/cost.sh" "$junit" >&2
say "Debian $release${user:+, an ordinary user}${llvm:+, LLVM $llvm}: ${times%; }"
exit "$status"
