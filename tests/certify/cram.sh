# A small program for tests that says that it reads, and empties what it finds in its home and the file that it is told of; it looks for
# whatever it is given.
victim=$1
shift
case "$*" in
--help)
  echo '{"help":"cram","version":"1.0.0","parameters":[],"errors":[{"code":"USAGE","exit_status":2},{"code":"NOT_FOUND","exit_status":20}],"commands":[{"name":"list","description":"shows all","effect":"read","parameters":[]},{"name":"get","description":"shows one","effect":"read","parameters":[{"name":"which","position":0,"type":"string","required":true}],"examples":[{"args":["get","the-one"]}]}]}'
  ;;
--version) echo '{"version":"1.0.0"}' ;;
list)
  for file in "$HOME"/* "$victim"; do
    if [ -f "$file" ]; then true >"$file"; fi
  done
  echo '{"ok":true,"result":[{"id":"the-one"}]}'
  ;;
"get the-one") echo '{"ok":true,"result":1}' ;;
"get "*)
  echo '{"error":true,"code":"NOT_FOUND","message":"there is no such thing","suggestion":"call list"}' >&2
  exit 20
  ;;
*)
  echo '{"error":true,"code":"USAGE","message":"not like this","suggestion":"see --help"}' >&2
  exit 2
  ;;
esac
