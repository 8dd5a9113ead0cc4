"""What `mount -t efs` does on a machine: it binds a folder of this host that stands for the disk.

python mount.py -t efs -o tls,... fs-...[:/] TARGET     below the folder $DISKS, by the disk's id
python mount.py -t efs -o tls,... FOLDER TARGET         any folder
"""

import os
import subprocess
import sys
from pathlib import Path


def main(options: str, source: str, target: str) -> None:
    """Bind a disk to a folder."""
    folder = Path(source)
    if source.startswith("fs-"):
        pairs = dict(option.partition("=")[::2] for option in options.split(","))
        folder = _folder(source.partition(":")[0], pairs.get("accesspoint"))
    subprocess.run(["/bin/mount", "--bind", str(folder), target], check=True)


def _folder(disk: str, point: str | None) -> Path:
    """Return the folder that a disk's id and access point stand for."""
    from machine import client, this_machine  # boto3 takes its time

    efs, zone = client("efs"), this_machine()["Placement"]["AvailabilityZone"]
    targets = efs.describe_mount_targets(FileSystemId=disk)["MountTargets"]
    if not [each for each in targets if each["AvailabilityZoneName"] == zone]:
        sys.exit(f'Failed to resolve "{disk}.efs.us-west-2.amazonaws.com": no target in {zone}')
    folder = Path(os.environ["DISKS"], disk)
    folder.mkdir(parents=True, exist_ok=True)
    if not point:
        return folder
    (found,) = efs.describe_access_points(AccessPointId=point)["AccessPoints"]
    if found["FileSystemId"] != disk:
        sys.exit(f"{point} is no access point of {disk}")
    root = folder / found["RootDirectory"]["Path"].strip("/")
    if "CreationInfo" in found["RootDirectory"]:  # else AWS makes no folder
        root.mkdir(parents=True, exist_ok=True)
    return root


if __name__ == "__main__":
    kind, name, _, options, *places = sys.argv[1:]
    if (kind, name) != ("-t", "efs") or "tls" not in options.split(","):
        sys.exit("mount: only EFS with TLS is emulated")
    main(options, *places)
