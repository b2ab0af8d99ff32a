// Package systemd runs the built binary as a service of real systemds, each process 1 of namespaces of its own, with the files of deploy/systemd as
// packages install them. `make systemd` builds and installs what it needs; one has to be root.
package systemd
