//go:build !linux || !(amd64 || arm64)

package transport_test

const kernelStamps = false
