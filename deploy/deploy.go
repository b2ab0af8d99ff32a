// Package deploy is no code: it generates the files here that are made of others. The chart gets the rules and dashboards, its README and its schema
// are made of its values, and the files for Kustomize are what the chart renders.
package deploy

//go:generate go -C ../test/chart run ./generate ../../
