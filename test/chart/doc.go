// Package chart renders the Helm chart, as Helm itself does, for its tests and for the files that are made of it.
package chart
