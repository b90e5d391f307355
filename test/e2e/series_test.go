// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

var series = flag.String("series", "", "with -rehearse: folder to which the series of outages are written, as Prometheus scrapes them")

const (
	scrapes = 15 * time.Second // apart, as docs/monitoring/podmonitors.yaml has it
	calm    = 4                // scrapes before the outage
)

// recordSeries records for test/house/monitoring what Prometheus scrapes while the controller restarts, and while it is gone.
func recordSeries(t *testing.T) {
	freshController(t)
	f := deploy(t, scenario.Cluster{Mutate: asShipped})
	f.healthy()
	d := &drill{fixture: f}
	f.record("controller-restarts", 12, func() { d.killController() })
	resume := func() {}
	f.record("controller-is-gone", 14, func() { resume = f.stopController() })
	resume()
	f.healthy()
}

// record writes the series that the alerts are made of: calm, then the outage for a number of scrapes.
func (f *fixture) record(name string, outage int, inject func()) {
	f.t.Helper()
	rules, err := os.ReadFile("../../docs/monitoring/prometheusrule.yaml")
	f.must(err)
	wanted := map[string]bool{}
	for _, metric := range regexp.MustCompile(`kubectl_scylla_\w+`).FindAllString(string(rules), -1) {
		wanted[metric] = true
	}
	all, began := map[string][]string{}, time.Now()
	for i := range calm + outage {
		if i == calm {
			inject()
		}
		due, next := context.WithDeadline(f.ctx, began.Add(time.Duration(i)*scrapes))
		<-due.Done()
		next()
		found := f.scrape(wanted, began)
		for s, value := range found {
			for len(all[s]) < i {
				all[s] = append(all[s], "_")
			}
			all[s] = append(all[s], value)
		}
		for s := range all { // a target that does not answer, or a series that it has no more
			if len(all[s]) == i && all[s][i-1] != "_" && all[s][i-1] != "stale" {
				all[s] = append(all[s], "stale")
			} else if len(all[s]) == i {
				all[s] = append(all[s], "_")
			}
		}
	}
	text := fmt.Sprintf("# Scraped in real Pods by make rehearse; the outage begins before scrape %d.\nload %s\n", calm, scrapes)
	for _, s := range slices.Sorted(maps.Keys(all)) {
		text += "  " + s + " " + strings.Join(all[s], " ") + "\n"
	}
	f.must(os.WriteFile(filepath.Join(*series, name+".txt"), []byte(text), 0o600))
}

var sample = regexp.MustCompile(`(?m)^(kubectl_scylla_\w+)(?:\{(.*)\})? (\S+)$`)

// scrape gives each series' value, with the labels that a PodMonitor adds where they are missing. Moments count from began, as the time of test/house/monitoring does.
func (f *fixture) scrape(wanted map[string]bool, began time.Time) map[string]string {
	f.t.Helper()
	found := map[string]string{}
	for namespace, port := range map[string]string{"kubectl-scylla": "metrics", f.namespace: "reporter"} {
		var pods corev1.PodList
		f.must(f.Client.List(f.ctx, &pods, client.InNamespace(namespace)))
		for _, p := range pods.Items {
			text, err := f.Core.Pods(namespace).ProxyGet("http", p.Name, portOf(&p, port), "/metrics", nil).DoRaw(f.ctx)
			if err != nil {
				continue // a target that is down
			}
			for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
				labels, value := m[2], m[3]
				if !wanted[m[1]] {
					continue
				}
				for _, l := range []string{`namespace="` + namespace + `"`, `pod="` + p.Name + `"`} {
					if name, _, _ := strings.Cut(l, "="); !strings.Contains(","+labels, ","+name+"=") {
						labels = strings.TrimPrefix(labels+","+l, ",")
					}
				}
				if v, err := strconv.ParseFloat(value, 64); err == nil && strings.HasSuffix(m[1], "_timestamp_seconds") && v > 0 {
					value = strconv.FormatFloat(v-float64(began.Unix()), 'f', 0, 64)
				}
				found[m[1]+"{"+labels+"}"] = value
			}
		}
	}
	return found
}

// portOf is the number of a Pod's port, which the API server's proxy needs.
func portOf(p *corev1.Pod, name string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.Name == name {
				return strconv.Itoa(int(port.ContainerPort))
			}
		}
	}
	return name
}
