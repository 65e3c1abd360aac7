#!/bin/sh
# Feeds the shared scenarios to a northd and compares what it writes with what
# the reference wrote. Needs a tree with OVN 26.03 in OVN_ROOT.
#
#   tests/golden.sh SHARED NORTHD [SCENARIO.nbctl...]
set -eu
shared=$(cd "$1" && pwd)
northd=$2
shift 2
if [ ! -x "$OVN_ROOT/usr/bin/ovn-nbctl" ]; then
	echo "golden.sh: skipped: no OVN in OVN_ROOT=$OVN_ROOT (see docs/architecture.md, Testing)"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd "$shared/golden/sbdump" && go build -o "$tmp/sbdump" .)
cd "$shared"
[ $# -gt 0 ] || set -- golden/switch/*.nbctl
SBDUMP="$tmp/sbdump" SHOW="${SHOW:-10}" golden/run -c golden/switch "$northd" -- "$@"
