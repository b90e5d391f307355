// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const (
	oldID  = "dddddddd-0000-4000-8000-000000000004"
	deadID = "cccccccc-0000-4000-8000-000000000003"
)

func TestArguments(t *testing.T) {
	type m = map[string]string
	for name, tc := range map[string]struct {
		labels, annotations m
		want                []string
		waits, malformed    string
	}{
		"nothing asked":                     {},
		"by host ID":                        {labels: m{api.LabelReplace: "", api.LabelReplacingNodeHostID: oldID}, want: []string{"--replace-node-first-boot=" + oldID}},
		"by host ID, request label removed": {labels: m{api.LabelReplacingNodeHostID: oldID}, want: []string{"--replace-node-first-boot=" + oldID}},
		"internal label removed, recorded beside it": {labels: m{api.LabelReplace: ""}, annotations: m{api.AnnotationReplaceOriginalHostID: oldID, api.AnnotationReplaceAccepted: "x"},
			want: []string{"--replace-node-first-boot=" + oldID}},
		"upper case": {labels: m{api.LabelReplacingNodeHostID: strings.ToUpper(oldID)}, want: []string{"--replace-node-first-boot=" + oldID}},
		"with other dead nodes": {labels: m{api.LabelReplace: "", api.LabelReplacingNodeHostID: oldID}, annotations: m{api.AnnotationReplaceIgnoreDead: " " + deadID + ","},
			want: []string{"--replace-node-first-boot=" + oldID, "--ignore-dead-nodes-for-replace=" + deadID}},
		"by address": {labels: m{api.LabelReplace: "10.0.0.4"}, want: []string{"--replace-address-first-boot=10.0.0.4"}},
		"by address, recorded, label removed": {annotations: m{api.AnnotationReplaceAddress: "10.0.0.4", api.AnnotationReplaceAccepted: "x", api.AnnotationReplaceOriginalHostID: oldID},
			want: []string{"--replace-address-first-boot=10.0.0.4"}},
		"an address in the label, and a host ID recorded": {labels: m{api.LabelReplace: "10.0.0.4", api.LabelReplacingNodeHostID: oldID},
			want: []string{"--replace-node-first-boot=" + oldID}},
		"asked, not recorded":      {labels: m{api.LabelReplace: ""}, waits: "not recorded"},
		"empty host ID":            {labels: m{api.LabelReplace: "", api.LabelReplacingNodeHostID: ""}, malformed: "is empty"},
		"malformed host ID":        {labels: m{api.LabelReplacingNodeHostID: "dddddddd"}, malformed: "not a host ID"},
		"zero host ID":             {labels: m{api.LabelReplacingNodeHostID: "00000000-0000-0000-0000-000000000000"}, malformed: "zero UUID"},
		"nonsense":                 {labels: m{api.LabelReplace: "yes"}, malformed: "neither empty nor an IP address"},
		"address of nobody":        {labels: m{api.LabelReplace: "0.0.0.0"}, malformed: "not the address"},
		"malformed ignore list":    {labels: m{api.LabelReplacingNodeHostID: oldID}, annotations: m{api.AnnotationReplaceIgnoreDead: "10.0.0.1"}, malformed: "not a host ID"},
		"accepted and all is lost": {annotations: m{api.AnnotationReplaceAccepted: "x"}, waits: "not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Arguments(tc.labels, tc.annotations)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			_, waits := errors.AsType[waiting](err)
			_, bad := errors.AsType[malformed](err)
			if waits != (tc.waits != "") || bad != (tc.malformed != "") || (err != nil) != (waits || bad) ||
				err != nil && !strings.Contains(err.Error(), tc.waits+tc.malformed) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A replace label of any value gives an argument or an error, never a plain start.
func TestALabelNeverStartsAPlainNewNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels, annotations := map[string]string{}, map[string]string{}
		value := rapid.OneOf(rapid.Just(""), rapid.Just(oldID), rapid.Just("10.0.0.4"), rapid.String())
		which := rapid.IntRange(1, 3).Draw(t, "labels")
		if which&1 != 0 {
			labels[api.LabelReplace] = value.Draw(t, "replace")
		}
		if which&2 != 0 {
			labels[api.LabelReplacingNodeHostID] = value.Draw(t, "replacing")
		}
		for _, k := range []string{api.AnnotationReplaceAccepted, api.AnnotationReplaceAddress, api.AnnotationReplaceOriginalHostID, api.AnnotationReplaceIgnoreDead} {
			if rapid.Bool().Draw(t, k) {
				annotations[k] = value.Draw(t, "value")
			}
		}
		args, err := Arguments(labels, annotations)
		if err == nil && len(args) == 0 {
			t.Fatalf("plain start with %v %v", labels, annotations)
		}
	})
}

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		command, args, want []string
		fails               bool
	}{
		"appended":             {[]string{"x", "--a=1"}, []string{"--replace-node-first-boot=1"}, []string{"x", "--a=1", "--replace-node-first-boot=1"}, false},
		"there already":        {[]string{"x", "--replace-node-first-boot", "1"}, []string{"--replace-node-first-boot=1"}, []string{"x", "--replace-node-first-boot", "1"}, false},
		"there, another":       {[]string{"x", "--replace-node-first-boot=2"}, []string{"--replace-node-first-boot=1"}, nil, true},
		"there, the other way": {[]string{"x", "--replace-address-first-boot=10.0.0.1"}, []string{"--replace-node-first-boot=1"}, nil, true},
		"plain":                {[]string{"x"}, nil, []string{"x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := merge(tc.command, tc.args)
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type reply = func() (*corev1.Service, error)

// answers is an API server with one answer per request for the member Service; the last one repeats. No other member, and
// no barrier, is there.
func answers(list ...reply) client.WithWatch {
	own, _ := service(nil)()
	asked := 0
	get := func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		out, ok := o.(*corev1.Service)
		if !ok {
			return c.Get(ctx, key, o, opts...)
		}
		svc, err := list[min(asked, len(list)-1)]()
		if asked++; err == nil {
			svc.DeepCopyInto(out)
		}
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: own.Name, Namespace: own.Namespace}}
	return clients([]client.Object{own, pod}).WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build()
}

func service(labels map[string]string) reply {
	svc := stage.Bare("scylla", "demo").NewService("demo-d-0", "dc1", "d", 0)
	maps.Copy(svc.Labels, labels)
	return func() (*corev1.Service, error) { return svc, nil }
}

func failing(err error) reply { return func() (*corev1.Service, error) { return nil, err } }

// options are those of a member; nil: it has no client.
func options(c client.WithWatch, service string, command ...string) Options {
	return Options{Namespace: "scylla", Service: service, Command: command, Clock: clock.RealClock{}, Resolve: nowhere,
		Log: slog.New(slog.DiscardHandler), Client: func() (client.WithWatch, error) {
			if c == nil {
				return nil, errors.New("no client")
			}
			return c, nil
		}}
}

// queried has the query give that answer; without one it never ran.
func (o *Options) queried(t *testing.T, answer string) {
	t.Helper()
	o.QueryFile = filepath.Join(t.TempDir(), "bootstrapped.json")
	if answer == "" {
		return
	}
	for name, text := range map[string]string{o.QueryFile: answer, o.QueryFile + ".code": "0\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// nowhere resolves no name.
func nowhere(_ context.Context, host string) ([]string, error) {
	return nil, errors.New("no such host " + host)
}

const completed, unset = `[{"bootstrapped":"COMPLETED"}]`, `[{"bootstrapped":null}]`

func TestRun(t *testing.T) {
	refused := errors.New("connection refused")
	replacing := map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: oldID}
	plain, replaces := []string{"sh", "--seeds=x"}, []string{"sh", "--seeds=x", "--replace-node-first-boot=" + oldID}
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "demo-d-0")
	type as = []reply
	for name, tc := range map[string]struct {
		answers  as
		query    string
		patience time.Duration
		argv     []string
		code     int
		logged   string
	}{
		"a restart needs no API server":              {nil, completed, 0, plain, 0, "bootstrapped data directory"},
		"a new node starts plainly":                  {as{service(nil)}, unset, 0, plain, 0, "no replacement"},
		"a new node replaces":                        {as{service(replacing)}, unset, 0, replaces, 0, "as a replacement"},
		"without the query's answer it asks":         {as{service(replacing)}, "", 0, replaces, 0, ""},
		"it waits for the API server":                {as{failing(refused), failing(refused), service(replacing)}, unset, 0, replaces, 0, "connection refused"},
		"it waits for the Service":                   {as{failing(missing), service(nil)}, unset, time.Millisecond, plain, 0, "does not exist"},
		"it waits for the record":                    {as{service(map[string]string{api.LabelReplace: ""}), service(replacing)}, unset, time.Millisecond, replaces, 0, "not recorded"},
		"it starts plainly once the request is gone": {as{service(map[string]string{api.LabelReplace: ""}), service(nil)}, unset, 0, plain, 0, ""},
		"it gives up for a restart":                  {as{failing(refused)}, unset, time.Minute, nil, replace.ExitLaunchRetry, ""},
		"it names the right":                         {as{failing(forbidden), service(nil)}, unset, 0, plain, 0, "verb get on services"},
		"an empty label starts nothing":              {as{service(map[string]string{api.LabelReplacingNodeHostID: ""})}, unset, 0, nil, replace.ExitLaunchMalformed, ""},
		"an empty label does not hold up a restart":  {as{service(map[string]string{api.LabelReplacingNodeHostID: ""})}, completed, 0, plain, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c client.WithWatch
				if tc.answers != nil {
					c = answers(tc.answers...)
				}
				var log bytes.Buffer
				var argv []string
				o := options(c, "demo-d-0", plain...)
				o.Patience, o.Log = tc.patience, slog.New(slog.NewTextHandler(&log, nil))
				o.Exec = func(_ string, started, _ []string) error { argv = started; return nil }
				o.queried(t, tc.query)
				err := Run(t.Context(), o)
				if got := exit.Code(err); got != tc.code {
					t.Fatalf("exit code %d (%v), want %d", got, err, tc.code)
				}
				if diff := cmp.Diff(tc.argv, argv); diff != "" {
					t.Error(diff)
				}
				if !strings.Contains(log.String(), tc.logged) {
					t.Errorf("log lacks %q:\n%s", tc.logged, log.String())
				}
			})
		})
	}
}

func TestCommandWantsADash(t *testing.T) {
	for name, args := range map[string][]string{"nothing": nil, "no dash": {"sh"}, "dash alone": {"--"}, "before the dash": {"x", "--", "sh"}} {
		t.Run(name, func(t *testing.T) {
			cmd := NewCommand()
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(args)
			if err := cmd.ExecuteContext(t.Context()); exit.Code(err) != exit.CodeUsage {
				t.Errorf("%v", err)
			}
		})
	}
}
