# Functions that gpu_check.sh, nvrtc_all.sh and long_run.sh source.

# refuse CODE MESSAGE: prints one line and exits with the code.
refuse() {
  echo "$(basename "$0"): $2" >&2
  exit "$1"
}

# rungs_of BINARY [RUNG...]: prints a line "NAME RANK" for each of these rungs, or for all rungs.
rungs_of() {
  list=$("$1" list --json) || return 1
  shift
  printf '%s\n' "$list" | awk -v wanted="$*" '
    /"name":/ { split($0, part, "\""); name = part[4] }
    /"default_shape":/ { within = 1; rank = 0; next }
    within && /[0-9]/ { rank++ }
    within && /\]/ { within = 0; ranks[name] = rank; order[++count] = name }
    END {
      if (wanted == "") {
        for (n = 1; n <= count; n++)
          print order[n], ranks[order[n]]
        exit count == 0
      }
      n = split(wanted, names, " ")
      for (i = 1; i <= n; i++)
        if (names[i] in ranks)
          print names[i], ranks[names[i]]
        else {
          print "no rung " names[i] ": nestsmith list has them all" >"/dev/stderr"
          bad = 1
        }
      exit bad
    }'
}
