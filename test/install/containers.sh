#!/usr/bin/env bash
# Sees to it that there are buildah and runc, which build and run images without a daemon, and QEMU, which runs programs of the other processor; and makes
# stand-ins for the base images of the Dockerfile under their own names, in .cache/containers: two minutes. The packages of Debian in them are those that
# the real ones are made of. That of Go has no Go in it: whoever builds with it mounts this machine's to /usr/local/go. For the other processor there is
# localhost/debian:arm64, whose packages are only unpacked. One has to be root.
set -euo pipefail
# shellcheck source=once.sh
source "$(dirname "$0")/once.sh"
missing=()
for tool in buildah runc qemu-aarch64-static; do
  command -v "$tool" >/dev/null || missing+=("${tool/qemu-aarch64-static/qemu-user-static}")
done
if ((${#missing[@]})); then
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends "${missing[@]}"
fi
"$root/test/install/debian.sh"
go=$(sed -n 's/^ARG GO=//p' "$root/Dockerfile") base=$(sed -n 's/^ARG BASE=//p' "$root/Dockerfile")

build() {
  export TMPDIR=$1/tmp
  mkdir -p "$TMPDIR" "$1/context"
  tar --directory "$cache/debian/bookworm" --exclude=./usr/share/doc/* --exclude=./usr/share/man/* --create --file "$1/context/debian.tar" .
  cat >"$1/context/Dockerfile" <<'END'
FROM scratch AS debian
ADD debian.tar /
CMD ["bash"]
FROM debian AS golang
ENV GOPATH=/go GOTOOLCHAIN=local PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /go
RUN apt-get -qq update && apt-get -qq install --no-install-recommends ca-certificates gcc libc6-dev && rm -rf /var/lib/apt/lists/*
END
  for target in "debian $base" "golang $go"; do
    buildah --root "$1/storage" --runroot "$1/run" --storage-driver vfs build --isolation chroot --layers --quiet \
      --target "${target%% *}" --tag "docker.io/library/${target#* }" "$1/context"
  done
  mmdebstrap --quiet --variant=extract --include=base-files,libc6 --architectures=arm64 --format=tar --skip=cleanup/apt bookworm "$1/context/arm64.tar" http://deb.debian.org/debian
  printf 'FROM scratch\nADD arm64.tar /\n' >"$1/context/Dockerfile"
  buildah --root "$1/storage" --runroot "$1/run" --storage-driver vfs build --isolation chroot --quiet --platform linux/arm64 --tag localhost/debian:arm64 \
    "$1/context"
  rm -rf "$1/context"
}
once containers "$go $base arm64 with libc" build
