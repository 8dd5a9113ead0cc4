#!/bin/bash
# Makes a fresh Ubuntu machine a node of the cluster: the shared disk, capsweep in a virtual
# environment, and what every shell on it has to know. Run again, it mends what is missing.
set -euo pipefail
. ~/capsweep-settings.sh

# the token lets its owner run code on every node
chmod 700 ~/.ray
chmod 600 ~/.ray/auth_token

# at boot, Ubuntu's own updates hold apt's lock for a while
apt_get() { sudo DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
dpkg -s nfs-common python3-venv >/dev/null 2>&1 ||
  { apt_get update; apt_get install --no-install-recommends nfs-common python3-venv; }

# Whether a cell is filled or locked is read on other nodes than it was written on, so nothing about
# files may be remembered: actimeo=0 and lookupcache=positive. `hard` waits where the disk is away.
sudo mkdir -p /mnt/capsweep
if ! mountpoint -q /mnt/capsweep; then
  if [ -n "${ACCESS_POINT:-}" ]; then # AWS's own client encrypts; it sets the other options as below
    dpkg -s amazon-efs-utils >/dev/null 2>&1 ||
      curl -fsS https://amazon-efs-utils.aws.com/efs-utils-installer.sh | sudo sh -s -- --install
    sudo mount -t efs -o "tls,accesspoint=$ACCESS_POINT,actimeo=0,lookupcache=positive" "$SHARE" /mnt/capsweep
  else
    sudo mount -t nfs4 -o \
      nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport,actimeo=0,lookupcache=positive \
      "$SHARE" /mnt/capsweep
  fi
fi
[ -w /mnt/capsweep ] || sudo chown "$USER" /mnt/capsweep
mkdir -p /mnt/capsweep/store /mnt/capsweep/data

[ -x ~/venv/bin/pip ] || python3 -m venv --clear ~/venv
cd ~/capsweep
install() { ~/venv/bin/pip install --quiet --disable-pip-version-check "$@"; }
install --require-hashes --requirement requirements.txt
install --no-deps --no-build-isolation --editable .

cat > ~/capsweep-env.sh <<'END'
export PATH="$HOME/venv/bin:$PATH"
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
export CAPSWEEP_STORAGE=/mnt/capsweep/store CAPSWEEP_TRACKING_URI=http://127.0.0.1:5000
export CAPSWEEP_DATA=/mnt/capsweep/data
END
grep -qs capsweep-env ~/.bashrc || echo '. ~/capsweep-env.sh' >> ~/.bashrc
