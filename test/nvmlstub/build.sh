#!/usr/bin/env bash
# Compiles stub.c, a driver of NVIDIA GPUs without any, into DIRECTORY/libnvidia-ml.so.1; further arguments go to the compiler.
#
#   test/nvmlstub/build.sh /tmp/stub
#   NVMLSTUB=mig=1 LD_LIBRARY_PATH=/tmp/stub bin/aiperf-exporter …     # or collectors.gpu.nvml.library_path: /tmp/stub/libnvidia-ml.so.1
set -euo pipefail

directory=${1:?directory}
shift
here=$(cd "$(dirname "$0")" && pwd)
headers=$(cd "$here" && go list -m -f '{{.Dir}}' github.com/NVIDIA/go-nvml)/pkg/nvml
mkdir -p "$directory"
exec "${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -Wno-deprecated-declarations -O1 -shared -fPIC -DNVML_NO_UNVERSIONED_FUNC_DEFS \
	-I "$headers" -o "$directory/libnvidia-ml.so.1" "$here/stub.c" "$@"
