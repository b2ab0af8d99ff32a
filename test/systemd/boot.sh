#!/usr/bin/env bash
# Starts the systemd of a root file system as process 1 of namespaces of its own, and waits for its end: boot.sh ROOT WORK NAME
# ROOT is not written to, what changes is kept in memory. WORK is an empty folder; WORK/init has the number of process 1 once it is to be started.
# Network, host name, processes and control groups are apart; one has to be root. Whoever kills process 1 ends all of it.
set -euo pipefail
root=$1 work=$2 name=$3

# outside makes the control group of the whole and goes on inside of the namespaces.
outside() {
  mkdir -p "$work/cgroup"
  mount -t cgroup2 cgroup2 "$work/cgroup"
  mkdir -p "$work/cgroup/$name"
  echo $$ >"$work/cgroup/$name/cgroup.procs"
  exec unshare --cgroup --pid --uts --ipc --net --fork --kill-child "$0" "$root" "$work" "$name" inside
}

devices() {
  local device
  mount -t tmpfs -o nosuid,mode=755 tmpfs dev
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
  mount -t tmpfs tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
}

inside() {
  local pid
  read -r pid _ </proc/self/stat # as it is seen outside: this is its /proc still
  echo "$pid" >"$work/init.new"
  mv "$work/init.new" "$work/init"
  hostname "$name"
  mkdir -p "$work/system"
  mount -t tmpfs tmpfs "$work/system"
  mkdir "$work/system/changes" "$work/system/scratch" "$work/system/root"
  mount -t overlay -o "lowerdir=$root,upperdir=$work/system/changes,workdir=$work/system/scratch" overlay "$work/system/root"
  cd "$work/system/root"
  devices
  mount -t proc -o nosuid,noexec,nodev proc proc
  mount -t sysfs -o nosuid,noexec,nodev,ro sysfs sys
  mount -t cgroup2 -o nosuid,noexec,nodev cgroup2 sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs tmpfs tmp
  pivot_root . mnt
  umount --lazy /mnt
  mount --make-rshared / # what systemd mounts for a service aside, such as its credentials, has to arrive here
  exec env --ignore-environment container=test PATH=/usr/sbin:/usr/bin /lib/systemd/systemd --log-target=console --show-status=no multi-user.target
}

case ${4:-} in
  "") exec unshare --mount --propagation private "$0" "$root" "$work" "$name" outside ;;
  outside) outside ;;
  inside) inside ;;
esac
