#!/bin/sh
# The main job, for a look: starts northwalld with databases of its own, applies
# the example through nwctl, prints what was compiled, and stays up until Ctrl-C,
# showing the daemon's log.
#
#   tests/run.sh BINDIR [DIR]
set -eu
bin=$1
dir=${2:-.northwall}
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
example=$(dirname "$0")/../docs/example.nwctl
fresh=yes
[ -e "$dir/nb.db" ] && fresh=

# Returns when both databases and the daemon serve, or says why they cannot.
"$bin/northwalld" --standalone "$dir" --detach --pidfile="$dir/northwalld.pid" --log-file="$dir/northwalld.log"
pid=$(cat "$dir/northwalld.pid")
stop() {
	kill "$pid" 2>/dev/null || return 0
	tail --pid="$pid" -f /dev/null # until it has ended
	echo "northwalld and its databases have ended"
}
trap stop EXIT
trap 'exit 0' INT TERM HUP

export OVN_NB_DB="unix:$dir/nb.sock" OVN_SB_DB="unix:$dir/sb.sock"
if [ -n "$fresh" ]; then
	sed -e 's/^#.*//' -e '/^[[:space:]]*$/d' "$example" |
		while IFS= read -r line; do eval "\"$bin/nwctl\" --wait=sb $line"; done
fi
"$bin/nwctl" flows
echo
echo "northwalld is running with the configuration that 'nwctl show' prints:"
"$bin/nwctl" show
cat <<END

Try, in another terminal (stock ovn-nbctl and ovn-sbctl work as well):

  export OVN_NB_DB=unix:$dir/nb.sock OVN_SB_DB=unix:$dir/sb.sock
  $bin/nwctl acl-list sw0
  $bin/nwctl --wait=sb acl-add sw1 to-lport 900 'udp.dst == 53' allow-related
  $bin/nwctl flows sw1
  ovn-nbctl --db=\$OVN_NB_DB ls-add another

Ctrl-C ends it; the databases stay in $dir.

END
tail --pid="$pid" -n 0 -f "$dir/northwalld.log"
echo "northwalld has ended by itself; see $dir/northwalld.log" >&2
exit 1
