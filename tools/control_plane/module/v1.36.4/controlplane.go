//go:build binaries

// Package controlplane names the programs of a Kubernetes control plane, so that go.mod and go.sum pin all that
// building them takes. It is never compiled: `python -m tools.control_plane` builds the programs themselves.
package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
