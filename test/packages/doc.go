// Package packages installs what a release consists of in systems that have nothing but their distribution: the packages for Debian and Red Hat and
// the archive. Each is started as the user and with the rights that its unit gives it, measures the demo's server, is updated, removed and purged.
// `make packages` installs what it needs; one has to be root.
package packages
