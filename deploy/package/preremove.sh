#!/bin/sh
# Runs before the files are removed, by dpkg ("remove") and by rpm (0), and before they
# are replaced ("upgrade", 1). The data in /var/lib/kith and the user stay.
set -e
case ${1-} in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now kith-edge kith-backend
