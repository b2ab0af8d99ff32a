//go:build amd64 || arm64

package transport_test

const kernelStamps = true
