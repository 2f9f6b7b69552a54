# A small program for tests, told where to leave a mark when it is asked to destroy something.
mark=$1
shift
case "$*" in
--help)
  echo '{"help":"tiny","version":"1.0.0","parameters":[],"errors":[],"commands":[{"name":"show","description":"shows","effect":"read","parameters":[]},{"name":"get","description":"shows one","effect":"read","parameters":[{"name":"which","position":0,"type":"string","required":true}],"examples":[{"before":[["wipe"]],"args":["get","the-one"]}]},{"name":"wipe","description":"destroys","effect":"delete","parameters":[]}]}'
  ;;
--version) echo '{"version":"1.0.0"}' ;;
show) echo '{"ok":true,"result":1}' ;;
"get the-one") echo '{"ok":true,"result":1}' ;;
*wipe*) echo wiped >"$mark" ;;
*)
  echo '{"error":true,"code":"USAGE","message":"not like this","suggestion":"see --help"}' >&2
  exit 2
  ;;
esac
