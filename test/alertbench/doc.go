// Alertbench measures how often the alerts of this program fire without a reason and how long they take when there is one. It simulates
// what canaries export, months of it, and has the rules of the directory alerts evaluated over it by Prometheus's own rule engine, in virtual
// time, beside two sets of rules that others use. `make alert-bench` runs it; docs/alert-benchmark.md says what it found.
package main
