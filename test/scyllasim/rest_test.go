// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/golden"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func TestRESTBodies(t *testing.T) {
	inBubble(t, 2, Options{StreamTime: 60 * time.Second, Version: "2026.1.3"}, func(t *testing.T, c *Cluster) {
		joiner := add(t, c, nil)
		eventually(t, "it streams", func() bool { return joiner.Mode() == rules.ModeBootstrap })
		for _, n := range []*Node{c.Node(0), joiner} {
			eventually(t, "all are live", func() bool { return len(list(t, n, "/gossiper/endpoint/live")) == 3 })
		}
		eventually(t, "the joiner has the schema", func() bool {
			_, body := get(t, c.Node(0), "/storage_proxy/schema_versions")
			return strings.Count(body, "key") == 1
		})
		names := []string{}
		for i, n := range []*Node{c.Node(0), c.Node(1), joiner} {
			names = append(names, n.HostID(), fmt.Sprintf("<id-%d>", i+1), n.Address(), fmt.Sprintf("10.0.0.%d", i+1))
			for _, tok := range n.g0.state().node(n.HostID()).Tokens {
				names = append(names, itoa(tok), "<token>")
			}
		}
		names = append(names, c.Node(0).g0.state().Schema, "<schema>")
		for i, x := range c.Node(0).g0.state().Tasks {
			names = append(names, x.ID, fmt.Sprintf("<task-%d>", i+1))
		}
		rep := strings.NewReplacer(names...)
		times := regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
		numbers := regexp.MustCompile(`("(?:generation|version|update_time)"): \d+`)
		loads := regexp.MustCompile(`("application_state": 1, "value"): "\d+"|("key": "10[^"]+", "value"): \d+`)
		tokens := regexp.MustCompile(`("<token>", )+"<token>"`)
		// The order of arrays over unordered containers is not part of the answer.
		items := regexp.MustCompile(`^\[(\{.*\})\]$`)
		var b strings.Builder
		show := func(who string, n *Node, method, path string) {
			t.Helper()
			path = rep.Replace(path)
			real := path
			for i := 1; i < len(names); i += 2 {
				real = strings.ReplaceAll(real, names[i], names[i-1])
			}
			code, body, err := n.Request(testContext(t), method, real)
			if err != nil {
				t.Fatal(err)
			}
			body = rep.Replace(body)
			body = times.ReplaceAllString(body, "<time>")
			body = numbers.ReplaceAllString(body, "$1: <n>")
			body = loads.ReplaceAllString(body, "$1$2: <load>")
			body = tokens.ReplaceAllString(body, `"<token>", ...`)
			if m := items.FindStringSubmatch(body); m != nil && strings.HasPrefix(path, "/storage_service/host_id") {
				l := strings.Split(m[1], "},{")
				for i := range l {
					l[i] = strings.Trim(l[i], "{}")
				}
				slices.Sort(l)
				body = "[{" + strings.Join(l, "},{") + "}]"
			}
			fmt.Fprintf(&b, "%s %s %s\n%d %s\n\n", who, method, path, code, body)
		}
		for _, p := range []string{
			"/storage_service/host_id", "/storage_service/hostid/local", "/storage_service/hostid/local/",
			"/gossiper/endpoint/live", "/gossiper/endpoint/live/", "/gossiper/endpoint/down/",
			"/storage_service/nodes/joining", "/storage_service/nodes/leaving",
			"/storage_service/tokens/10.0.0.1", "/storage_service/tokens/10.0.0.3", "/storage_service/tokens/10.9.9.9", "/storage_service/tokens/nonsense",
			"/storage_service/operation_mode",
			"/storage_service/scylla_release_version", "/storage_service/release_version",
			"/storage_service/schema_version", "/storage_proxy/schema_versions",
			"/storage_service/native_transport",
			"/storage_service/raft_topology/upgrade", "/storage_service/keyspaces", "/storage_service/keyspaces?type=user",
			"/failure_detector/endpoints/",
			"/raft/leader_host", "/task_manager/list_module_tasks/node_ops", "/task_manager/list_module_tasks/nope",
			"/task_manager/task_status/<task-3>", "/task_manager/task_status/" + unknownID,
			"/v2/config/failure_detector_timeout_in_ms", "/v2/config/replace_node_first_boot", "/v2/config/nope", "/nope",
		} {
			show("normal", c.Node(0), "GET", p)
		}
		for _, p := range []string{
			"/storage_service/remove_node", "/storage_service/remove_node?host_id=<id-2>", "/storage_service/keyspace_flush/system?cf=local",
			"/storage_service/keyspace_flush/nope",
			"/task_manager/abort_task/<task-3>",
		} {
			show("normal", c.Node(0), "POST", p)
		}
		for _, p := range []string{
			"/storage_service/host_id", "/gossiper/endpoint/live", "/storage_service/operation_mode", "/storage_service/native_transport",
			"/storage_service/tokens/10.0.0.3",
		} {
			show("bootstrapping", joiner, "GET", p)
		}
		golden.Text(t, "rest.golden", b.String())
	})
}

func TestAPIAppearsInStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{
			Dir: t.TempDir(), ListenAddress: address(0), Network: NewNetwork(), Version: "2026.1.0",
			Seeds: []string{address(1)}, // no node answers there: this one stays where it starts to join
		}
		o.APIAddress = o.ListenAddress
		n, err := StartNode(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Kill)
		for stage, want := range []string{
			"0 0 0 0 0 0", // no process listens
			"200 404 404 404 404 404",
			"200 200 500 404 404 404", // the gossiper object is there and not ready
			"200 200 500 200 404 404",
			"200 200 500 200 200 404",
		} {
			synctest.Wait()
			if got := n.stage.Load(); got != int32(stage) {
				t.Errorf("stage %d, want %d", got, stage)
			}
			var got []string
			for _, p := range []string{"/system/uptime_ms", "/storage_service/hostid/local", "/storage_service/host_id", "/raft/leader_host",
				"/storage_service/operation_mode", "/storage_service/native_transport"} {
				code, _ := get(t, n, p)
				got = append(got, fmt.Sprint(code))
			}
			if g := strings.Join(got, " "); g != want {
				t.Errorf("stage %d: %s, want %s", stage, g, want)
			}
			time.Sleep(map[bool]time.Duration{true: 4, false: 1}[stage == 0] * n.o.StageTime)
		}
		if m := text(t, n, "/storage_service/operation_mode"); m != rules.ModeStarting {
			t.Errorf("mode %s", m)
		}
		if _, body := get(t, n, "/storage_service/host_id"); body != `{"message": "std::runtime_error (The gossiper is not ready yet)", "code": 500}` {
			t.Error(body)
		}
		// SIGTERM during startup is a clean end.
		n.Stop()
		if n.ExitCode() != 0 || !strings.Contains(n.Log(), "Startup interrupted") {
			t.Errorf("exit code %d", n.ExitCode())
		}
	})
}
