#!/bin/sh
# Installs what Northwall needs to run and to be tested, where it is missing:
# ovsdb-server and ovsdb-tool, from the distribution's package.
#
#   tests/install.sh        what running needs
#   tests/install.sh test   what the tests need, too
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo; then sudo "$@"; else
		echo "install.sh: not root, and no sudo: run as root: $*" >&2
		exit 1
	fi
}

missing=
have ovsdb-server && have ovsdb-tool || missing="openvswitch-common"
if [ "${1:-}" = test ]; then
	have pgrep || missing="$missing procps"
	have gcc || missing="$missing gcc libc6-dev" # for the race detector
fi
[ -n "$missing" ] || exit 0
if have apt-get; then
	echo "install.sh: installing $missing" >&2
	as_root apt-get update -qq
	# shellcheck disable=SC2086 # a list of packages
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
elif have dnf; then
	as_root dnf install -y openvswitch procps-ng gcc >&2
else
	echo "install.sh: no apt-get and no dnf here: please install $missing (ovsdb-server, ovsdb-tool) and run again" >&2
	exit 1
fi
