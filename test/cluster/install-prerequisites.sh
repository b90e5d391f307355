#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Install the Debian packages that test clusters with Kubernetes nodes need. Does nothing, and says nothing, when they
# are there already; the control plane alone needs none of them.
#
#   --tests        also what the tests look at their results with: a browser and a terminal
#   --best-effort  what cannot be installed is said, and no failure: the tests that need it are skipped aloud
set -eu

tests="" failure=1
for arg in "$@"; do
	case "$arg" in
	--tests) tests=yes ;;
	--best-effort) failure=0 ;;
	*) echo "install-prerequisites: unknown argument $arg; give --tests, --best-effort or nothing" >&2 && exit 2 ;;
	esac
done

missing=""
need() { # need PROGRAM PACKAGE
	PATH="/usr/local/sbin:/usr/sbin:/sbin:$PATH" command -v "$1" >/dev/null 2>&1 && return 0
	case " $missing " in *" $2 "*) ;; *) missing="$missing $2" ;; esac
}

need containerd containerd
need ctr containerd
need containerd-shim-runc-v2 containerd
need runc runc
need iptables iptables
need ip iproute2
found=""
for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
	[ -x "$dir/ptp" ] && [ -x "$dir/host-local" ] && [ -x "$dir/loopback" ] && [ -x "$dir/portmap" ] && found=yes
done
[ -n "$found" ] || missing="$missing containernetworking-plugins"
if [ -n "$tests" ]; then
	need tmux tmux
	need chromium chromium
fi

[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "install-prerequisites: missing packages:$missing; run this script as root to install them" >&2
	exit "$failure"
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "install-prerequisites: missing packages:$missing; this script installs them with apt-get only," >&2
	echo "install-prerequisites: so install what they are called in your distribution by hand" >&2
	exit "$failure"
fi

echo "install-prerequisites: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# policy-rc.d: a containerd service of the host is not needed, and containers often cannot start services.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$log" "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of package names
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	echo "install-prerequisites: apt-get failed; see above" >&2
	exit "$failure"
fi
