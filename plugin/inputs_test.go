// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// wrong are inputs that people got wrong, by what is wrong with them. They run against one cluster whose member demo-dc1-rack3-0 is DOWN
// and whose member demo-dc1-rack2-1 waits.
const wrong = `
statsu
frobnicate
--frobnicate
force-boostrap x
help statsu
remote lst
init rest
version x
version -o xml
completion
completion tcsh
demo x
demo --scene x
status a b
status -n
status -n nope
status nope
status demo-dc1-rack3-0
status --namespace
status --sever x
status --watch --wait
status --wait --timeout 5
status --wait=perhaps
status --color sometimes
status --source nope
status --sort-by nope
status --sort-by
status -o nope
status -o jsonpath={.x
status -o go-template={{.x
status -o go-template-file=none.tmpl
status -o wide,json
status --from
status --from=
status --from none.yaml
status --from sample:nope
status --from words.txt
status --from empty.yaml
status --from broken.yaml
status --from other.yaml
status --from cut.zip
status --from joined.yaml
status --from log.txt
status --from nodetool.txt
status --from sample:incident nope
status --from sample:incident --watch
status --from sample:incident --source live
barrier a b
barrier nope
barrier rack9/0
barrier 10.0.0.1
barrier x --wathc
barrier --wait --timeout forever
describe
describe nope
describe a b
describe 1234
describe demo-dc1-rack3
describe --log none.log
report --html none/page.html
report --archive none/a.zip
report --archive
report --since yesterday
report nope
dashboard
dashboard --once --width wide
dashboard --once --height 0
dashboard --interval 0s
check --for nope
check --for=restart
check --for=drain
check --for=drain worker-9
check --for=decommission
check --for=decommission --rack rack9
check --for=scale demo-dc1-rack3-0
check nope
force-proceed
force-proceed nope
force-proceed demo-dc1-rack2-1 --dry-run=perhaps
force-proceed demo-dc1-rack2-1
force-proceed demo-dc1-rack1-0 --reason x --yes
force-proceed --datacenter nope --reason x
force-proceed --cluster demo --datacenter dc1
replace
replace nope
replace demo-dc1-rack3-0 --skip-check=nope
replace demo-dc1-rack3-0 --dry-run=maybe
replace status nope
replace resume demo-dc1-rack1-0
replace cancel demo-dc1-rack1-0
init reset
init reset nope
install
install --image
install --image foo bar:1
install --image example.com/scylla-agent:latest -o yaml
install --image UPPER/x:1 -o yaml
install --no-controller -n demo -o yaml
install --image example.com/a:1 --replicas many
install --image example.com/a:1 --policy nope -o yaml
uninstall demo
inject
inject -f none.yaml --image example.com/a:1
inject -f broken.yaml --image example.com/a:1
inject -f other.yaml --image example.com/a:1
inject -f empty.yaml --image example.com/a:1
inject demo
inject nope --image example.com/a:1
inject demo -f other.yaml --image example.com/a:1
remote add
remote add eu
remote add eu demo --from none.yaml
nodetool
nodetool demo-dc1-rack3-0
nodetool nope -- status
exec demo-dc1-rack3-0 -- ls
logs demo-dc1-rack3-0
cqlsh demo-dc1-rack3-0
`

// TestWrongInputs: each wrong input ends with an exit code that is not 0, its reason in one line, and what to do in the next one. It writes
// nothing to standard output.
func TestWrongInputs(t *testing.T) {
	waits := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	waits.Newcomer("dc1", "rack2", 1)
	objects := waits.Objects()
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"
	for file, text := range map[string]string{
		"words.txt": "hello", "empty.yaml": "", "broken.yaml": "not: [yaml", "other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "cut.zip": "PK broken",
		"joined.yaml": fmt.Sprintf(pod+pod, "a", "b"), "log.txt": "INFO  2026-11-23 12:22:00,000 [shard 0] init - serving\n",
		"nodetool.txt": "Datacenter: dc1\n===============\nStatus=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n--  Address   Load\nUN  10.0.0.1  1 GB\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	rows := 0
	for line := range strings.Lines(strings.TrimPrefix(wrong, "\n")) {
		args := strings.Fields(line)
		if i := strings.Index(line, "foo bar"); i >= 0 {
			args = []string{"install", "--image", "foo bar:1"}
		}
		if verb := args[0]; !strings.HasPrefix(verb, "-") && verb != "install" && verb != "uninstall" && verb != "demo" && verb != "version" && verb != "completion" && verb != "help" && !strings.Contains(line, " -n") &&
			!strings.Contains(line, "--from") && verb != "remote" {
			args = append([]string{verb, "-n", "demo"}, args[1:]...)
		}
		r := plugintest.Run{Args: args, Objects: objects, Live: answers}.Do(t)
		rows++
		said := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
		if text, hint := errorOf(r.Stderr); r.Code == 0 || r.Stdout != "" || len(said) < 2 || stutters(text) != "" || !cured.MatchString(hint) {
			t.Errorf("%sexit %d\n%s%s", line, r.Code, r.Stdout, r.Stderr)
		}
		fmt.Fprintf(&b, "$ kubectl scylla %s", line)
		for _, l := range said[max(0, len(said)-2):] {
			fmt.Fprintf(&b, "%d   %s\n", r.Code, l)
		}
	}
	if rows < 100 {
		t.Errorf("%d inputs", rows)
	}
	t.Chdir(home)
	plugintest.Golden(t, "wrong-inputs.txt", b.String())
}
