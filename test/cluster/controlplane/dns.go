// SPDX-License-Identifier: Apache-2.0

package main

import (
	// The plugins linked in here are all that the test clusters' Corefile uses.
	_ "github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func runCoreDNS() int {
	coremain.Run()
	return 0
}
