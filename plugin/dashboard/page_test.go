// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	verb "github.com/kubectl-scylla/kubectl-scylla/plugin/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/describe"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// The page of a node is what the verb describe prints: one source.
func TestThePageIsWhatDescribePrints(t *testing.T) {
	var out, errOut bytes.Buffer
	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, clock.RealClock{}, nil,
		func() cli.Terminal { return cli.Terminal{In: true} })
	ns, given := "demo", "test"
	d.Flags.Namespace, d.Flags.Context = &ns, &given
	c := plugintest.New(3, 1).Down("demo-dc1-rack3-0")
	fake := plugintest.NewClient(c.Objects(), interceptor.Funcs{})
	d.NewClient = func() (client.WithWatch, error) { return fake, nil }
	d.RESTConfig = func() (*rest.Config, error) { return nil, errors.New("no logs here") }
	page, err := verb.PageOf(t.Context(), d, cli.ReadFlags{Source: cli.SourceFlag(cluster.SourceAuto)}, "demo-dc1-rack3-0")
	if err != nil {
		t.Fatal(err)
	}
	verb := describe.NewCmd(d)
	verb.SetArgs([]string{"demo-dc1-rack3-0"})
	if err := verb.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	ages := regexp.MustCompile(`\d+[dhms][0-9dhms]*`)
	if diff := cmp.Diff(ages.ReplaceAllString(out.String(), "AGE"), ages.ReplaceAllString(ansi.Strip(show.Facts(page.Lines, 0)), "AGE")); diff != "" {
		t.Errorf("the page differs (-verb +page):\n%s", diff)
	}
	if want := "kubectl --context=test logs demo-dc1-rack3-0 -c scylla --previous -n demo"; page.Command != want || !strings.Contains(out.String(), "\n                 "+want+"\n") {
		t.Errorf("y copies %q, and the verb prints\n%s", page.Command, out.String())
	}
	if errOut.Len() > 0 {
		t.Errorf("the screen belongs to the dashboard, and somebody wrote %q", errOut.String())
	}
}

// TestNodetoolHandsOverToKubectl: the user's kubectl gets the dashboard's own flags, and how it ends is shown.
func TestNodetoolHandsOverToKubectl(t *testing.T) {
	here, err := filepath.Abs("../nodetool/testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", here+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("RECORD", dir)
	fake := plugintest.NewClient(plugintest.New(3, 1).Objects(), interceptor.Funcs{})
	run := func() (string, error) {
		t.Helper()
		d := cli.New(genericiooptions.IOStreams{In: strings.NewReader("\n"), Out: io.Discard, ErrOut: io.Discard}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
		d.NewClient = func() (client.WithWatch, error) { return fake, nil }
		cmd, _, err := plugin.NewCmd(d, "kubectl-scylla").Find([]string{"dashboard"})
		if err == nil {
			err = cmd.ParseFlags([]string{"-n", "demo", "--context=prod", "--as=ada"})
		}
		if err != nil {
			t.Fatal(err)
		}
		failed := verb.ActionsOf(t, d, cmd).Nodetool("rack1/0")
		b, err := os.ReadFile(filepath.Join(dir, "demo-dc1-rack1-0"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " "), failed
	}
	const want = "exec --as=ada --context=prod --namespace=demo --container=scylla demo-dc1-rack1-0 -- nodetool status"
	if got, err := run(); got != want || err != nil {
		t.Errorf("got  %s\nwant %s, %v", got, want, err)
	}
	t.Setenv("ENDS", "demo-dc1-rack1-0=7")
	if _, err := run(); err == nil || err.Error() != "the command ended with exit code 7" {
		t.Errorf("got %v", err)
	}
}

// TestChangesBeginWithEvents: what Events and conditions tell is among the changes, of an archive and of a cluster that is watched; what every Pod has when it
// starts is not.
func TestChangesBeginWithEvents(t *testing.T) {
	event := func(name, reason, kind, message string, ago time.Duration) client.Object {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "demo-dc1-rack3-0", Namespace: "demo"},
			Type:           kind, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(plugintest.Now.Add(-ago)),
		}
	}
	objects := append(plugintest.New(3, 1).Down("demo-dc1-rack3-0").Objects(),
		event("one", "BackOff", "Warning", "Back-off restarting failed container\x1b[2J", 8*time.Second), event("two", "Scheduled", "Normal", "assigned", time.Hour))
	archive := filepath.Join(t.TempDir(), "a.zip")
	if r := (plugintest.Run{Args: []string{"report", "-n", "demo", "--archive", archive}, Objects: objects}).Do(t); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	r := plugintest.Run{Args: []string{"dashboard", "--from", archive, "--once", "--width", "200", "--height", "60"}}.Do(t)
	changes := r.Stdout[strings.Index(r.Stdout, "Changes "):]
	if !strings.Contains(changes, "Pod demo-dc1-rack3-0: BackOff: Back-off restarting failed container") || strings.Contains(changes, "assigned") || strings.Contains(r.Stdout, "\x1b[2J") {
		t.Errorf("the changes are\n%s", changes)
	}
	if strings.Index(changes, "BackOff:") > strings.Index(changes, "DOWN by") {
		t.Errorf("the newest is not first:\n%s", changes)
	}

	d := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, clock.RealClock{}, nil, func() cli.Terminal { return cli.Terminal{} })
	fake := plugintest.NewClient(objects, interceptor.Funcs{})
	d.NewClient = func() (client.WithWatch, error) { return fake, nil }
	ns := "demo"
	d.Flags.Namespace = &ns
	var texts []string
	for _, c := range verb.PastOf(t.Context(), t, d).Changes {
		texts = append(texts, c.Text)
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "BackOff") || strings.Contains(all, "assigned") || strings.Contains(all, "DOWN by") {
		t.Errorf("the past of a cluster that is watched is\n%s", all)
	}
}
