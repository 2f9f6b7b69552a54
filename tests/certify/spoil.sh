# A small program for tests that says that it reads, and leaves in its home what its first word says. A number is a process for so many
# seconds, and a moment what is kept for one where people keep that.
what=$1
shift
case "$*" in
--help)
  echo '{"help":"spoil","version":"1.0.0","parameters":[],"errors":[],"commands":[{"name":"list","description":"shows all","effect":"read","parameters":[]}]}'
  ;;
--version) echo '{"version":"1.0.0"}' ;;
list)
  case $what in
  moment) [ "$TMPDIR" = "$HOME/tmp" ] && [ -z "$(ls -A "$TMPDIR")" ] && echo moment >"$TMPDIR/file" || exit 1 ;;
  large) truncate -s 50G "$HOME/large" ;;
  [0-9]*)
    mkfifo "$HOME/pipe"
    setsid sh -c 'echo >"$HOME/pipe" && exec sleep "$1"' sh "$what" &
    read -r line <"$HOME/pipe"
    rm "$HOME/pipe"
    ;;
  esac
  for folder in "$HOME"/*/; do
    case $what in
    pipe) rm -r "$folder" && mkfifo "${folder%/}" ;;
    closed) rm -r "$folder" && mkdir -m 0 "$folder" ;;
    esac
  done
  echo '{"ok":true,"result":[{"id":"the-one"}]}'
  ;;
*)
  echo '{"error":true,"code":"USAGE","message":"not like this","suggestion":"see --help"}' >&2
  exit 2
  ;;
esac
