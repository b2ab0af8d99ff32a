#!/usr/bin/env bash
# Builds .cache/kubernetes/bin/{etcd,kube-apiserver,kubectl,helm}, an API server that needs neither a cluster nor root and what one speaks to it with, from
# their Go modules: 10 to 20 minutes on two cores, 2.5 GB of memory to link it. Beside it in crds/ lie prometheus-operator's definitions of resources.
# GO_BUILD_P is the number of packages that compile at a time (2).
set -euo pipefail
source "$(dirname "$0")/once.sh"
kubernetes=1.37.2
etcd=v3.7.0 # of the go.mod of that Kubernetes
helm=$(sed -n 's/^\thelm.sh\/helm\/v3 //p' "$root/test/chart/go.mod")
operator=v0.95.2
generator=v0.22.0

# The go.mod of Kubernetes takes its libraries from folders of its repository, which the module lacks. They are modules too: version 1.N of
# Kubernetes goes with version 0.N of each.
requirements() {
  local published
  published=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",$/\1/p')
  printf 'module server\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v%s\n\tgo.etcd.io/etcd/server/v3 %s\n)\n\n' "$kubernetes" "$etcd"
  awk -v libraries="v0.${kubernetes#1.}" '$2 == "=>" && $3 ~ /^\.\/staging\// { print "replace " $1 " => " $1 " " libraries }' "$published"
}

programs() {
  local dir=$1 version=k8s.io/component-base/version name
  mkdir -p "$dir/src/server"
  cd "$dir/src/server"
  requirements >server.mod
  mv server.mod go.mod
  # A server that was not told its version takes itself for 0.0.0, and does without the features of later ones.
  for name in kube-apiserver kubectl; do
    go build -p "${GO_BUILD_P:-2}" -trimpath -o "$dir/bin/$name" -ldflags "-s -w -X $version.gitVersion=v$kubernetes \
      -X $version.gitMajor=1 -X $version.gitMinor=$(cut -d. -f2 <<<"$kubernetes")" "k8s.io/kubernetes/cmd/$name"
  done
  go build -p "${GO_BUILD_P:-2}" -trimpath -o "$dir/bin/etcd" -ldflags "-s -w" go.etcd.io/etcd/server/v3
}

# The definitions are made of the comments of the types, as prometheus-operator's releases make them.
definitions() {
  local dir=$1 types=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring
  mkdir -p "$dir/src/crds"
  cd "$dir/src/crds"
  go mod init crds
  go get "$types/v1@$operator"
  go run "sigs.k8s.io/controller-tools/cmd/controller-gen@$generator" crd:crdVersions=v1 "paths=$types/v1" "output:crd:dir=$dir/crds"
}

build() {
  export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
  programs "$1"
  GOBIN=$1/bin go install -trimpath -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@$helm"
  definitions "$1"
  cd "$root"
}
once kubernetes "$kubernetes $etcd $helm $operator $generator" build
