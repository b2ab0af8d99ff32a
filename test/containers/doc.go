// Package containers builds the images of the Dockerfile as it is, runs them as a cluster would, and runs what the Compose file describes, without an
// engine: buildah builds, runc runs. Base images are stand-ins of the same names and packages, see test/install/containers.sh. Images of others
// cannot be had: Prometheus and Alertmanager are built from their modules and stand in a plain Debian, Grafana is left out. `make containers` installs
// what it needs; one has to be root.
package containers
