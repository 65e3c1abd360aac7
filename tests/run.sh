#!/bin/sh
# The main job, for a look: starts northwalld with databases of its own, applies
# the example through nwctl, prints what was compiled, and stays up until Ctrl-C.
#
#   tests/run.sh BINDIR [DIR]
set -eu
bin=$1
dir=${2:-.northwall}
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
fresh=yes
[ -e "$dir/nb.db" ] && fresh=

"$bin/northwalld" --standalone "$dir" --log-file="$dir/northwalld.log" -vconsole:warn &
pid=$!
trap 'kill $pid 2>/dev/null || true' INT TERM EXIT
export OVN_NB_DB="unix:$dir/nb.sock" OVN_SB_DB="unix:$dir/sb.sock"
n=0
until "$bin/nwctl" --timeout=1 show >/dev/null 2>&1; do
	n=$((n + 1))
	if [ $n -gt 100 ] || ! kill -0 $pid 2>/dev/null; then
		echo "run.sh: northwalld did not start; see $dir/northwalld.log" >&2
		exit 1
	fi
	sleep 0.2
done
if [ -n "$fresh" ]; then
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$(dirname "$0")/../docs/example.nwctl" |
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
wait $pid || true
