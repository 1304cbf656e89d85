#!/bin/sh
# Runs after the files were installed or replaced, by dpkg and by rpm.
set -e
getent group kith >/dev/null || groupadd --system kith
getent passwd kith >/dev/null ||
	useradd --system --gid kith --home-dir /var/lib/kith --no-create-home --shell /usr/sbin/nologin kith
# Settings may have keys.
chown root:kith /etc/kith /etc/kith/*.env
chmod 0750 /etc/kith
chmod 0640 /etc/kith/*.env
[ -d /var/lib/kith ] || install -d -o kith -g kith -m 0700 /var/lib/kith
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
# Running processes keep the old version: the operator decides when the schema changes.
if systemctl --quiet is-active kith-backend || systemctl --quiet is-active kith-edge; then
	echo "kith: back up, then: systemctl restart kith-backend && systemctl restart kith-edge"
else
	echo "kith: to start: systemctl enable --now kith-backend kith-edge"
fi
