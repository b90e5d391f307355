// SPDX-License-Identifier: Apache-2.0

// Command controlplane is a whole Kubernetes in one binary: etcd, the control plane, kubelet, kube-proxy, CoreDNS and
// kubectl, each started by its name as the first argument.
//
// It is a Go module of its own so that Kubernetes' dependencies never meet those of the product. It owns nothing but
// the choice of component: certificates, flags, namespaces and lifetime belong to package test/cluster, which builds
// it (see Build there). One binary costs one link and a third of the disk of separate ones; the components are still
// separate processes, so that a test can pause or kill a single one.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps a component's name to its main function; os.Args is already that component's own.
var components = map[string]func() int{
	"coredns":                 runCoreDNS,
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-proxy":              func() int { return cli.Run(proxy.NewProxyCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
}

func main() {
	// A link named after a component (kubectl -> controlplane) is that component.
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [FLAG...]\ncomponents: %s\n",
		strings.Join(slices.Sorted(maps.Keys(components)), ", "))
	os.Exit(2)
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints as kubectl does and exits with kubectl's codes
	}
	return 0
}
