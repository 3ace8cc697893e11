#!/bin/sh
# skipped.sh JUNIT [LIST...]: lists the tests that a run of ctest skipped, with the reason, from the file that `ctest
# --output-junit` wrote. With lists, fails if no line of a list names a skipped test. A line is NAME or NAME*, and a
# comment.
set -eu
junit=$1
shift

skipped=$(awk '
  /<testcase / { name = $0; sub(/.* name="/, "", name); sub(/".*/, "", name); off = /status="(notrun|disabled)"/; reason = "" }
  off && reason == "" && wanted { reason = $0 }
  { wanted = /: Skipped$/ }
  off && /<\/testcase>/ {
    gsub(/&quot;/, "\"", reason); gsub(/&apos;/, "\047", reason); gsub(/&lt;/, "<", reason); gsub(/&gt;/, ">", reason)
    gsub(/&amp;/, "\\&", reason)
    print name ": " (reason == "" ? "no reason given" : reason)
  }' "$junit")
if [ -z "$skipped" ]; then
  echo "nestsmith: no test was skipped"
  exit 0
fi
echo "nestsmith: $(printf '%s\n' "$skipped" | wc -l) skipped:"
printf '%s\n' "$skipped" | sed 's/^/  /'
[ $# -gt 0 ] || exit 0
list=$1

status=0
while read -r line; do
  name=${line%%: *} known=
  while read -r pattern; do
    # shellcheck disable=SC2254 # a pattern
    case $name in ${pattern%%[ #]*}) [ -z "${pattern%%[ #]*}" ] || known=yes ;; esac
  done <<PATTERNS
$(cat "$@")
PATTERNS
  if [ -z "$known" ]; then
    echo "nestsmith: $name may not be skipped here: mend this, or add it to $list with a comment that says why"
    status=1
  fi
done <<LINES
$skipped
LINES
exit "$status"
