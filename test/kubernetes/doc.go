// Package kubernetes runs the built binary against a real API server of Kubernetes, and holds what it makes of pods, endpoint slices and
// InferencePools against what the servers behind them saw. There is no cluster: nobody schedules or starts a pod, the tests themselves say what a
// kubelet would say of it. `make kubernetes` builds and installs what it needs.
package kubernetes
