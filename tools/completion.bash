# Completion of nestsmith's command line for bash: `. tools/completion.bash` turns it on. The program itself says what may
# come next, so that the same function serves your own program that has cli_main: complete -F _nestsmith my_schedule

_nestsmith() {
  local candidate typed=${COMP_WORDS[COMP_CWORD]} patterns=() files=()
  [ "$typed" != = ] || typed=
  COMPREPLY=()
  while read -r candidate; do
    case $candidate in
    *'*'*) patterns+=("$candidate") ;; # of file names
    *) COMPREPLY+=("$candidate") ;;
    esac
  done < <("${1/#\~/$HOME}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [ ${#patterns[@]} -gt 0 ] || return 0
  mapfile -t files < <(
    for candidate in "${patterns[@]}"; do compgen -f -X "!$candidate" -- "$typed"; done
    [ ${#COMPREPLY[@]} -gt 0 ] || compgen -d -- "$typed" # the file may be in one
  )
  [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o filenames 2>/dev/null
  COMPREPLY+=("${files[@]}")
}
complete -F _nestsmith nestsmith
