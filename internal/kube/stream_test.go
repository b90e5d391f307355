// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
)

// A List gives the same however it is written: as JSON, as kubectl's YAML (which is decoded an item at a time), as YAML in another style (which
// is not).
func TestListIsTheSameHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"plain", "two\nlines", "- a dash", "a\n- b\nkind: Pod", " # hash", "items:", "x: &a *a", "\ttab\n", "ends in space \n", "---", "a\n---\nb", ""})
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{}}
		for i := range rapid.IntRange(1, 4).Draw(t, "pods") {
			list.Items = append(list.Items, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("demo-%d", i), Labels: map[string]string{api.LabelCluster: "demo"},
					Annotations: map[string]string{"note": text.Draw(t, "note"), text.Draw(t, "key"): "x"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB, Args: []string{text.Draw(t, "argument"), text.Draw(t, "argument")}}}},
			})
		}
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := yaml.JSONToYAML(data)
		if err != nil {
			t.Fatal(err)
		}
		if _, items := splitList(asYAML); len(items) != len(list.Items) {
			t.Errorf("%d items of %d are found in\n%s", len(items), len(list.Items), asYAML)
		}
		want, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		// What was saved twice counts once in a Cluster.
		pods := func(o []cluster.Objects) []corev1.Pod { return cluster.New(o[0], cluster.SourceAuto, time.Time{}).Pods }
		for name, text := range map[string][]byte{"kubectl's YAML": asYAML, "YAML with items in a flow": append([]byte("# a comment\n"), data...), "JSON twice": append(append(data, '\n'), data...)} {
			got, err := Read(bytes.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if diff := cmp.Diff(pods(want), pods(got)); diff != "" {
				t.Errorf("JSON and %s differ:\n%s", name, diff)
			}
		}
	})
}

// What --from may take of a person's machine, whatever is in the file: one gigabyte.
func TestReadTakesLittleMemory(t *testing.T) {
	pods := func(containers int) io.Reader {
		pod := `{"kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{}` + strings.Repeat(",{}", containers) + `]}}`
		return io.MultiReader(strings.NewReader(`{"kind":"List","items":[`+pod), &endless{text: "," + pod})
	}
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"zeroes":                  {&endless{text: "\x00"}, "the input is larger than 128 MiB; remove the objects of other clusters"},
		"a JSON List":             {io.MultiReader(strings.NewReader(`{"kind":"List","items":[0`), &endless{text: ",0"}), "the input is larger than 128 MiB"},
		"small objects":           {io.MultiReader(strings.NewReader("{}"), io.LimitReader(&endless{text: "\n---\n{\"kind\":\"X\"}"}, 16<<20)), "no kind"},
		"YAML that is not a List": {io.MultiReader(strings.NewReader("a:\n"), io.LimitReader(&endless{text: "- {}\n"}, 10<<20)), "save it as JSON"},
		"many objects":            {io.MultiReader(strings.NewReader(`{"kind":"X"}`), io.LimitReader(&endless{text: "{\"kind\":\"X\"}\n"}, 16<<20)), "the input is larger than 100000 objects"},
		"cut off":                 {io.LimitReader(pods(90_000), 16<<20), "the file is truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			memory.Under(t, 1<<30, func(t *testing.T) {
				if _, err := Read(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
			})
		})
	}
	t.Run("an object of too many values", func(t *testing.T) {
		memory.Under(t, 1<<30, func(t *testing.T) {
			_, err := Read(strings.NewReader(`{"kind":"Pod","metadata":{"name":"a","namespace":"ns"},"spec":{"containers":[{}` + strings.Repeat(",{}", 1_000_000) + `]}}`))
			if want := "document 1: Pod ns/a is larger than 100000 values; remove the objects of other clusters"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	})
	t.Run("containers", func(t *testing.T) {
		memory.Under(t, 1<<30, func(t *testing.T) {
			pod := `{"kind":"Pod","metadata":{"name":"a","namespace":"ns"},"spec":{"containers":[{}` + strings.Repeat(",{}", 90_000) + `]}}`
			_, err := Read(strings.NewReader(`{"kind":"List","items":[` + pod + strings.Repeat(","+pod, 60) + "]}"))
			if !bounded.IsTooLarge(err) || !strings.Contains(err.Error(), "Pod ns/a is larger than 512 MiB in memory") {
				t.Error(err)
			}
		})
	})
}

// The YAML reader of apimachinery drops a last line of such a length when no line break follows.
func TestReadOfAWholeBuffer(t *testing.T) {
	t.Parallel()
	set := `{"kind":"StatefulSet","metadata":{"name":"a","namespace":"ns","labels":{"scylla/cluster":"demo"},"annotations":{"x":"%s"}}}`
	for _, n := range []int{4096, 8192} {
		text := fmt.Sprintf(set, strings.Repeat("x", n-len(set)+2))
		if s, err := Read(strings.NewReader(text)); err != nil || len(s) != 1 || len(text) != n {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

// endless repeats a text.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		k := copy(p[n:], e.text[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.text)
	}
	return len(p), nil
}
