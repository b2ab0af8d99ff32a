// Package nvml reads the NVIDIA GPUs of this machine through the library of their driver, which is loaded when the program runs: it need not be
// there, may be old, and may fail. Builds without cgo, for other systems and with the tag nonvml have the same package, which says so.
//
// The library is no part of this program, so nothing of it can be taken for granted: calling a function that it lacks, or any function before
// it was initialised, ends the process. Hence every question names the function it needs (ask_linux.go) and is put only if that is there.
//
// To add a metric: a line in the tables of ask_linux.go, its series in the table of collector/gpu, and the function in test/nvmlstub/stub.c.
package nvml
