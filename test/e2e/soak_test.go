// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

var (
	soak     = flag.Duration("soak", 0, "run the soak test for this long, without the time that its cluster takes to form; 0 leaves it out")
	soakPods = flag.Int("soak-pods", min(60, podsPerCoreAtRest*runtime.NumCPU()/3*3), "Pods of ScyllaDB that the soak test begins with, a multiple of 3")
	soakPage = flag.String("soak-page", "", "file to which the soak test draws what it measured, as SVG")
)

// podsPerCoreAtRest is how many Pods a core serves at the speed of a real ScyllaDB: each node asks each other one every 2 s.
const podsPerCoreAtRest = 15

const (
	soakRound  = 5 * time.Minute  // one crash of the controller, one new node, one replacement
	soakCalm   = 75 * time.Second // its end, without faults
	soakSample = 10 * time.Second
	soakFlap   = time.Minute // one pause each
	// soakSpeed is how much faster than a real ScyllaDB the simulated one is. Its failure detector sees a node DOWN after 20 s at a speed of 1.
	soakSpeed = 1
	soakDown  = 20 * time.Second / soakSpeed
)

// soakAudit makes the API server log what ServiceAccounts write, and nothing else.
const soakAudit = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[
{"level":"Metadata","userGroups":["system:serviceaccounts"],"verbs":["create","update","patch","delete"]},{"level":"None"}]}`

// sampleOf is what was measured at one moment. What could not be measured is NaN.
type sampleOf struct {
	at                        time.Duration
	memory, goroutines        float64 // of the controller, MiB
	reporterMemory            float64 // of the reporter with most, on one Kubernetes node, MiB
	members, up               float64
	byController, byReporters float64 // writes in the minute before
}

// soaking is a soak test under way.
type soaking struct {
	*drill
	began   time.Time
	random  *rand.Rand
	audit   string
	spared  atomic.Pointer[string] // the member that is being replaced is not paused
	mu      sync.Mutex
	samples []sampleOf
	marks   []mark
	lost    int // joins that ScyllaDB cancelled
	again   int // attempts of replacements beyond the first
	stale   int // rows that the report has otherwise than the Pods, after a round
	erased  int // values of another writer that are gone
	written map[string]string
}

// mark is a fault or an operation on the time axis.
type mark struct {
	at   time.Duration
	what string
}

// What is marked.
const (
	crashes   = "the controller crashes"
	cancelled = "a join is cancelled"
	fails     = "a node fails"
	joined    = "a node has joined"
	replaced  = "a node has been replaced"
)

var markColour = map[string]string{crashes: "#cf222e", cancelled: "#cf222e", fails: "#888", joined: "#1a7f37", replaced: "#1a7f37"}

// TestSoak runs a cluster of 60 Pods, of fewer on a small machine, for as long as -soak says, while 5 % of its nodes flap, the controller crashes once in five minutes, and nodes are
// added and replaced one after the other. After each round all must be well: every row that a Pod has is in the report, nothing that another writer has set is
// gone, and neither memory nor goroutines grow.
func TestSoak(t *testing.T) {
	covers(t, "controller/reports", "controller/views", "controller/replacement", "controller/members", "internal/agent/barrier", "internal/agent/reporter")
	if *soak == 0 {
		t.Skip("make soak runs it")
	}
	rounds := int(*soak / soakRound)
	pods(t, 72)                                                                                                              // 60, and one more in each of 12 rounds
	s := &soaking{drill: &drill{fixture: &fixture{t: t}}, random: rand.New(rand.NewPCG(1, 1)), written: map[string]string{}} //nolint:gosec // repeatable, not secret
	if err := world(t).ControllerArgs(t.Context(), "--max-permits=4"); err != nil {                                          // the cluster forms sooner
		t.Fatal(err)
	}
	s.fixture = stageCluster(t, scenario.Cluster{Mutate: func(set *appsv1.StatefulSet) {
		small(set)
	}})
	ctx, cancel := context.WithTimeout(t.Context(), *soak+time.Hour)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.audit = auditLog
	s.forms(*soakPods)

	s.began = time.Now()
	measuring, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { s.measure(measuring) })
	for round := range rounds {
		s.round(round)
	}
	stop()
	all.Wait()
	s.judge()
}

// small makes room for many Pods on a small machine: no container asks for the processor. Reporters poll every 2 s: the simulated ScyllaDB is faster than a real one, too.
func small(set *appsv1.StatefulSet) {
	shortGrace(set)
	spec := &set.Spec.Template.Spec
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("8Mi")}
			delete(c.Resources.Limits, corev1.ResourceCPU)
			for j := range c.Args {
				if strings.HasPrefix(c.Args[j], "--status-report-interval=") {
					c.Args[j] = "--status-report-interval=2s"
				}
			}
			for j := range c.Env {
				if c.Env[j].Name == "SCYLLASIM_SPEED" {
					c.Env[j].Value = strconv.Itoa(soakSpeed)
				}
			}
			if c.ReadinessProbe != nil {
				c.ReadinessProbe.PeriodSeconds = 10
			}
		}
	}
}

// forms lets the cluster grow to n nodes, by two in each rack at a time: many barriers that wait take the machine's time.
func (s *soaking) forms(n int) {
	s.t.Helper()
	began := time.Now()
	for replicas := 1; ; replicas = min(replicas+2, n/3) {
		for _, rack := range []string{rack1, rack2, rack3} {
			s.must(s.Scale(s.ctx, s.namespace, rack, int32(replicas))) //nolint:gosec // small
		}
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		s.must(s.WaitReady(ctx, s.namespace, 3*replicas))
		cancel()
		if replicas == n/3 {
			break
		}
	}
	s.untilAllUp("demo", int32(n)) //nolint:gosec // small
	s.t.Logf("%d nodes joined in %s", n, time.Since(began).Round(time.Second))
}

func (s *soaking) mark(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, mark{time.Since(s.began), what})
	s.t.Logf("%6.0f s  %s", time.Since(s.began).Seconds(), what)
}

// round is five minutes of faults and operations, then a calm in which all must become well.
func (s *soaking) round(round int) {
	s.t.Helper()
	end := time.Now().Add(soakRound)
	faults, stop := context.WithDeadline(s.ctx, end.Add(-soakCalm))
	defer stop()
	members := s.names()
	s.writeAsAnother(members, round)
	var all sync.WaitGroup
	all.Go(func() { s.flap(faults, members) })
	s.killController()
	s.mark(crashes)

	rack := []string{rack1, rack2, rack3}[round%3]
	newcomer := fmt.Sprintf("%s-%d", rack, *soakPods/3+round/3)
	s.must(s.Scale(s.ctx, s.namespace, rack, int32(*soakPods/3+round/3+1))) //nolint:gosec // small
	all.Go(func() { s.joins(newcomer) })
	// Not the first of a rack, which the other tests' helpers ask.
	s.replaces(members[s.random.IntN(len(members))])
	all.Wait()

	healed, cancel := context.WithDeadline(s.ctx, end.Add(5*time.Minute))
	defer cancel()
	s.must(s.WaitReady(healed, s.namespace, len(members)+1))
	s.untilAllUp("demo", int32(len(members)+1)) //nolint:gosec // small
	s.compare()
	if rest := time.Until(end); rest > 0 {
		pause(s.ctx, rest)
	}
}

// pause waits: a soak test is made of time.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d): //nolint:forbidigo // the load of a soak test is spread over time
	}
}

// names are the members that may be paused or replaced.
func (s *soaking) names() []string {
	s.t.Helper()
	all, err := s.Pods(s.ctx, s.namespace)
	s.must(err)
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// flap pauses 5 % of the nodes once a minute, some for less and most for more than what ScyllaDB's failure detector takes to see a node DOWN.
func (s *soaking) flap(ctx context.Context, members []string) {
	random := rand.New(rand.NewPCG(2, uint64(len(members)))) //nolint:gosec // repeatable, not secret
	for ctx.Err() == nil {
		began, length := time.Now(), soakDown/2+time.Duration(random.Int64N(int64(2*soakDown)))
		var paused []string
		for _, i := range random.Perm(len(members))[:max(1, len(members)/20)] {
			if spared := s.spared.Load(); spared != nil && *spared == members[i] {
				continue
			}
			if err := s.Cluster.PauseContainer(s.ctx, s.namespace, members[i], api.ContainerScyllaDB); err == nil {
				paused = append(paused, members[i])
			}
		}
		pause(ctx, length)
		for _, m := range paused {
			if err := s.Cluster.ResumeContainer(s.ctx, s.namespace, m, api.ContainerScyllaDB); err != nil {
				s.t.Errorf("resume %s: %v", m, err)
			}
		}
		pause(ctx, soakFlap-time.Since(began))
	}
}

// joins waits for a new node. Its join may be cancelled by a node that fails later: then its volume is lost, and it begins anew by what status prints.
func (s *soaking) joins(newcomer string) {
	ctx, cancel := context.WithTimeout(s.ctx, soakRound+2*time.Minute)
	defer cancel()
	given := false
	err := cluster.WaitFor(ctx, newcomer+" to join", 2*time.Second, func(ctx context.Context) (bool, string, error) {
		p := &corev1.Pod{}
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: newcomer}, p); err != nil {
			return false, "", client.IgnoreNotFound(err)
		}
		if gone, _, err := s.banned(newcomer)(ctx); err == nil && gone && !given {
			given = true
			s.mu.Lock()
			s.lost++
			s.mu.Unlock()
			s.mark(cancelled)
			if err := s.begins(ctx, newcomer); err != nil {
				return false, "", cluster.Permanent(err)
			}
		}
		return scenario.Ready(p), scenario.Describe(p), nil
	})
	if err != nil {
		s.t.Errorf("%v", err)
		return
	}
	s.mark(joined)
}

// begins runs the commands that status prints for a new node whose host ID is banned: they delete its volume, and it begins anew.
func (s *soaking) begins(ctx context.Context, newcomer string) error {
	r, err := s.Plugin(ctx, "status", "-n", s.namespace)
	if err != nil {
		return err
	}
	ran := 0
	for line := range strings.Lines(r.Stdout) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "kubectl ")
		if !is || !strings.Contains(command, newcomer) {
			continue
		}
		if out, err := s.Cluster.Kubectl(ctx, strings.Fields(strings.ReplaceAll(command, "'", ""))...); err != nil {
			return fmt.Errorf("run %s: %w: %s", command, err, out)
		}
		ran++
	}
	if ran == 0 {
		return fmt.Errorf("status names no command for %s, whose host ID is banned:\n%s", newcomer, r.Stdout)
	}
	return nil
}

// replaces kills a node and replaces it, again and again where other nodes were DOWN.
func (s *soaking) replaces(victim string) {
	s.t.Helper()
	s.spared.Store(&victim)
	defer s.spared.Store(nil)
	old := s.hostID(victim)
	s.nodetool(victim, "disablebinary")
	s.must(s.Cluster.PauseContainer(s.ctx, s.namespace, victim, api.ContainerScyllaDB))
	s.mark(fails)
	s.untilNotReady(victim)
	s.longDown(victim)
	ctx, cancel := context.WithTimeout(s.ctx, soakRound+2*time.Minute)
	defer cancel()
	tries, said := 0, ""
	err := cluster.WaitFor(ctx, victim+" to be replaced", 5*time.Second, func(ctx context.Context) (bool, string, error) {
		svc := s.service(victim)
		_, open := svc.Labels[api.LabelReplace]
		if id := svc.Annotations[api.AnnotationHostID]; !open && id != old && id != "" {
			return true, "", nil
		}
		verb := []string{"replace", victim}
		if open {
			// Another attempt only where the tool prints it: it deletes the volume of the one before.
			r, err := s.Plugin(ctx, "replace", "status", victim, "-n", s.namespace)
			if err != nil || !strings.Contains(r.Stdout, "replace resume "+victim) {
				return false, r.Stdout, err
			}
			verb = []string{"replace", "resume", victim}
		}
		r, err := s.Plugin(ctx, slices.Concat(verb, []string{"--yes", "--wait=false", atOnce, "-n", s.namespace})...)
		if text := strings.TrimSpace(r.Stderr); text != said {
			said = text
			s.t.Logf("%6.0f s  %s: exit %d: %s", time.Since(s.began).Seconds(), strings.Join(verb, " "), r.Code, tail(text, 3))
		}
		if err == nil && r.Code == 0 {
			tries++
		}
		return false, r.Stderr, err
	})
	if err != nil {
		s.t.Errorf("%v", err)
		return
	}
	s.mu.Lock()
	s.again += tries - 1
	s.mu.Unlock()
	s.mark(replaced)
}

// writeAsAnother sets an annotation of every member's Service, as another controller would.
func (s *soaking) writeAsAnother(members []string, round int) {
	s.t.Helper()
	for _, m := range members {
		svc := s.service(m)
		before := client.MergeFrom(svc.DeepCopy())
		value := fmt.Sprintf("%s of round %d", m, round)
		metav1.SetMetaDataAnnotation(&svc.ObjectMeta, "example.com/soak", value)
		s.must(s.Client.Patch(s.ctx, svc, before))
		s.written[m] = value
	}
}

// compare holds the report against the rows of the Pods, and counts what another writer has set and is gone.
func (s *soaking) compare() {
	s.t.Helper()
	differs := 0
	s.waitFor("the report to have the rows of the Pods", func(ctx context.Context) (bool, string, error) {
		r, err := s.report(ctx, "demo")
		if err != nil {
			return false, "", err
		}
		pods, err := s.Pods(ctx, s.namespace)
		if err != nil {
			return false, "", err
		}
		reported := map[string]string{}
		for _, row := range matrix.FromStatusReport(r) {
			reported[row.Reporter.Member] = cells(row)
		}
		differs = 0
		for i := range pods {
			row, err := api.DecodeNodeStatusReport(pods[i].Annotations[api.AnnotationNodeStatusReport])
			if err != nil {
				return false, "", err
			}
			if own := cells(matrix.FromCells([][]api.ObservedNodeStatusReport{row.ObservedNodes})[0]); own != reported[pods[i].Name] {
				differs++
			}
		}
		return differs == 0, fmt.Sprintf("%d of %d rows differ", differs, len(pods)), nil
	})
	s.stale += differs
	for member, value := range s.written {
		if s.service(member).Annotations["example.com/soak"] != value {
			s.erased++
		}
	}
}

// notUp counts the nodes that a row has otherwise than UP.
func notUp(r *api.ScyllaDBStatusReport) int {
	found := map[hostid.ID]bool{}
	for _, row := range matrix.FromStatusReport(r) {
		for o := range row.Each() {
			if o.Status != matrix.Up {
				found[o.HostID] = true
			}
		}
	}
	return len(found)
}

// cells are a row's, as one text.
func cells(row matrix.Row) string {
	var all []string
	for o := range row.Each() {
		all = append(all, fmt.Sprintf("%s %s", o.HostID, o.Status))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// measure samples until ctx ends.
func (s *soaking) measure(ctx context.Context) {
	log, err := os.Open(s.audit)
	if err != nil {
		s.t.Errorf("read the audit log: %v", err)
		return
	}
	defer func() { _ = log.Close() }()
	var writes []write
	lines := bufio.NewReader(log)
	for ctx.Err() == nil {
		writes = append(writes, readWrites(lines)...)
		m := sampleOf{at: time.Since(s.began), memory: math.NaN(), goroutines: math.NaN(), members: math.NaN(), up: math.NaN(), reporterMemory: s.reporters(ctx)}
		for _, w := range writes {
			switch age := time.Since(w.at); {
			case age > time.Minute:
			case w.controller:
				m.byController++
			default:
				m.byReporters++
			}
		}
		if r, err := s.report(ctx, "demo"); err == nil {
			m.members, m.up = float64(r.Status.Nodes), float64(r.Status.Nodes)-float64(notUp(r))
		}
		var l corev1.PodList
		if err := s.Client.List(ctx, &l, client.InNamespace("kubectl-scylla")); err == nil && len(l.Items) == 1 {
			if own := s.ownMetrics(ctx, &l.Items[0]); own != nil {
				m.memory, m.goroutines = own["process_resident_memory_bytes"]/(1<<20), own["go_goroutines"]
			}
		}
		s.mu.Lock()
		s.samples = append(s.samples, m)
		s.mu.Unlock()
		pause(ctx, soakSample-(time.Since(s.began)-m.at))
	}
}

// ownMetrics are those of the controller; nil where it does not answer.
func (s *soaking) ownMetrics(ctx context.Context, p *corev1.Pod) map[string]float64 {
	ctx, cancel := context.WithTimeout(ctx, soakSample/2)
	defer cancel()
	text, err := s.Core.Pods(p.Namespace).ProxyGet("http", p.Name, portOf(p, "metrics"), "/metrics", nil).DoRaw(ctx)
	if err != nil {
		return nil
	}
	found := map[string]float64{}
	for line := range strings.SplitSeq(string(text), "\n") {
		name, value, _ := strings.Cut(line, " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = v
		}
	}
	return found
}

// reporters is the memory of the reporter with most of those on the first Kubernetes node, by its kubelet.
func (s *soaking) reporters(ctx context.Context) float64 {
	ctx, cancel := context.WithTimeout(ctx, soakSample/2)
	defer cancel()
	text, err := s.Core.RESTClient().Get().AbsPath("/api/v1/nodes", s.Cluster.NodeNames()[0], "proxy/stats/summary").DoRaw(ctx)
	var summary struct {
		Pods []struct {
			Containers []struct {
				Name   string
				Memory struct{ WorkingSetBytes float64 }
			}
		}
	}
	if err != nil || json.Unmarshal(text, &summary) != nil {
		return math.NaN()
	}
	most := math.NaN()
	for _, p := range summary.Pods {
		for _, c := range p.Containers {
			if v := c.Memory.WorkingSetBytes / (1 << 20); c.Name == api.ContainerReporter && !(v <= most) {
				most = v
			}
		}
	}
	return most
}

// write is a request of the audit log that changes an object.
type write struct {
	at         time.Time
	controller bool
	what       string
}

// readWrites reads on. The last line may not be whole yet: it is read with the next call.
func readWrites(lines *bufio.Reader) (found []write) {
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, os.ErrClosed) || len(line) == 0 {
			return found
		}
		var e struct {
			Verb                     string
			User                     struct{ Username string }
			ObjectRef                struct{ Resource, Subresource string }
			RequestReceivedTimestamp metav1.MicroTime
		}
		if json.Unmarshal(line, &e) != nil || !strings.HasPrefix(e.User.Username, "system:serviceaccount:") || strings.HasPrefix(e.User.Username, "system:serviceaccount:kube-system") {
			continue
		}
		found = append(found, write{
			at: e.RequestReceivedTimestamp.Time, controller: strings.HasPrefix(e.User.Username, "system:serviceaccount:kubectl-scylla:"),
			what: e.Verb + " " + strings.Trim(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/"),
		})
	}
}

// judge fails the test where something was lost or grew, and draws the page.
func (s *soaking) judge() {
	s.t.Helper()
	if s.stale > 0 || s.erased > 0 {
		s.t.Errorf("%d rows of Pods and %d values of another writer were lost", s.stale, s.erased)
	}
	third := s.samples[len(s.samples)/6 : len(s.samples)/3] // what comes before is the start
	last := s.samples[len(s.samples)*2/3:]
	for what, of := range map[string]func(sampleOf) float64{
		"the controller's memory":     func(m sampleOf) float64 { return m.memory },
		"the controller's goroutines": func(m sampleOf) float64 { return m.goroutines },
		"the memory of reporters":     func(m sampleOf) float64 { return m.reporterMemory },
	} {
		first, now := middle(third, of), middle(last, of)
		s.t.Logf("%s: %.0f in the first third, %.0f in the last", what, first, now)
		if first == 0 || now > 1.3*first+5 {
			s.t.Errorf("%s has grown from %.0f to %.0f", what, first, now)
		}
	}
	if *soakPage != "" {
		s.must(os.WriteFile(*soakPage, []byte(s.draw()), 0o600))
	}
}

// middle is the median of what was measured.
func middle(samples []sampleOf, of func(sampleOf) float64) float64 {
	var all []float64
	for _, m := range samples {
		if v := of(m); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// auditLog is the file of the API server's log, once soakFlags has been asked.
var auditLog string

// soakFlags are the API server's, for a soak test.
func soakFlags(dir string) ([]string, error) {
	policy := filepath.Join(dir, "audit-policy.json")
	if err := os.WriteFile(policy, []byte(soakAudit), 0o600); err != nil {
		return nil, err
	}
	auditLog = filepath.Join(dir, "audit.log")
	if err := os.WriteFile(auditLog, nil, 0o600); err != nil {
		return nil, err
	}
	return []string{"--audit-log-path=" + auditLog, "--audit-policy-file=" + policy}, nil
}
