// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Change is the change of one StatefulSet in a manifest.
type Change struct {
	// Name is the result of Name. Before and After are YAML, equal if nothing changed.
	Name, Before, After string
	Notes               []string
	// Cost is what each Pod requests more; empty without an injection.
	Cost string
}

// Manifest is a changed stream of documents.
type Manifest struct {
	// Text is YAML. Unchanged documents keep their text, including comments.
	Text []byte
	// Changes has every StatefulSet of ScyllaDB, in order; Added names the appended objects.
	Changes []Change
	Added   []string
	// Secrets are needed by a managed root credential, and are not in the stream.
	Secrets []types.NamespacedName
	// HandedOver are StatefulSets that lost spec.replicas: none of them may exist yet.
	HandedOver []types.NamespacedName
}

// document is one document of a stream; items are its objects, several for a List.
type document struct {
	text    []byte
	root    *unstructured.Unstructured
	items   []*unstructured.Unstructured
	changed bool
}

// Stream injects every StatefulSet of ScyllaDB in a stream of YAML or JSON documents, or with undo
// removes the injection. The error joins the errors of all of them. Then nothing is returned, so
// that no partial cluster is applied.
//
//nolint:funlen // one loop over the documents that collects their errors
func Stream(in []byte, o Options, undo bool) (*Manifest, error) {
	docs, err := split(in)
	if err != nil {
		return nil, exit.WithHint(fmt.Errorf("read the manifest: %w", err), "correct the manifest")
	}
	var all []*unstructured.Unstructured
	for i := range docs {
		docs[i].dropAdded()
		all = append(all, docs[i].items...)
	}
	m := &Manifest{}
	var accounts []account
	var errs []error
	for i := range docs {
		d := &docs[i]
		for j, u := range d.items {
			if !Is(u) {
				continue
			}
			var next *unstructured.Unstructured
			change := Change{Name: Name(u)}
			if undo {
				next, err = Undo(u)
			} else {
				var r *Result
				if r, err = statefulSet(u, o, all); err == nil {
					next, change.Notes, change.Cost = r.Object, r.Notes, r.Cost
					if key, needs := SecretOf(next, all); needs && !slices.Contains(m.Secrets, key) {
						m.Secrets = append(m.Secrets, key)
					}
					if a := (account{u.GetNamespace(), r.ServiceAccount}); !slices.Contains(accounts, a) {
						accounts = append(accounts, a)
					}
					if o.StartWithOne {
						err = m.startWithOne(next)
					}
				}
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if change.Before, err = text(u); err != nil {
				return nil, err
			}
			if change.After, err = text(next); err != nil {
				return nil, err
			}
			if change.Before != change.After {
				d.items[j], d.changed = next, true
			}
			m.Changes = append(m.Changes, change)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i := range docs {
		if err := docs[i].write(&out); err != nil {
			return nil, err
		}
	}
	for _, a := range accounts {
		for _, u := range a.rights(all, o.Namespace) {
			t, err := text(u)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "---\n%s", t)
			m.Added = append(m.Added, Name(u))
		}
	}
	m.Text = out.Bytes()
	return m, nil
}

// notYAML returns the error of a document without the decoder's prefixes.
func notYAML(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "error converting YAML to JSON: "); ok {
		return errors.New(rest)
	}
	return err
}

// split splits a stream into documents.
func split(in []byte) ([]document, error) {
	var docs []document
	add := func(raw []byte) error {
		d := document{text: raw, root: &unstructured.Unstructured{}}
		if err := yaml.Unmarshal(raw, &d.root.Object); err != nil {
			return fmt.Errorf("document %d: %w", len(docs)+1, notYAML(err))
		}
		if items, ok := d.root.Object["items"].([]any); ok {
			for _, item := range items {
				if o, ok := item.(object); ok {
					d.items = append(d.items, &unstructured.Unstructured{Object: o})
				}
			}
		} else if len(d.root.Object) > 0 {
			d.items = append(d.items, d.root)
		}
		docs = append(docs, d)
		return nil
	}
	if utilyaml.IsJSONBuffer(in) {
		for dec := json.NewDecoder(bytes.NewReader(in)); ; {
			var raw json.RawMessage
			if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
				return docs, nil
			} else if err != nil {
				return nil, fmt.Errorf("document %d: %w", len(docs)+1, notYAML(err))
			}
			if err := add(raw); err != nil {
				return nil, err
			}
		}
	}
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(in))); ; {
		raw, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(docs)+1, notYAML(err))
		}
		if err := add(raw); err != nil {
			return nil, err
		}
	}
}

// dropAdded removes the objects that an earlier injection added. They are added again if still
// needed.
func (d *document) dropAdded() {
	kept := slices.DeleteFunc(slices.Clone(d.items), func(u *unstructured.Unstructured) bool {
		return u.GetAnnotations()[api.AnnotationInjected] == api.InjectedAdded
	})
	if len(kept) < len(d.items) {
		d.items, d.changed = kept, true
	}
}

func (d *document) write(out *bytes.Buffer) error {
	if !d.changed && !hidden(d.text) {
		if len(bytes.TrimSpace(d.text)) > 0 {
			fmt.Fprintf(out, "---\n%s\n", bytes.Trim(bytes.TrimPrefix(d.text, []byte("---\n")), "\n"))
		}
		return nil
	}
	items := d.items
	if !d.changed { // a List stays one
		items = []*unstructured.Unstructured{d.root}
	}
	for _, u := range items {
		if len(u.Object) == 0 { // a comment
			continue
		}
		t, err := text(u)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "---\n%s", t)
	}
	return nil
}

// hidden reports whether a terminal would obey or hide a character of a YAML text.
func hidden(text []byte) bool {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	return words.Visible(s) != s
}

// text returns an object as YAML. With hidden characters it is JSON, which YAML includes: they are
// escaped in it, and the values are the same.
func text(u *unstructured.Unstructured) (string, error) {
	b, err := yaml.Marshal(u.Object)
	if err != nil || hidden(b) {
		if b, err = json.MarshalIndent(u.Object, "", "  "); err == nil {
			b = append(words.VisibleYAML(b), '\n')
		}
	}
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", Name(u), err)
	}
	return string(b), nil
}

// account is the Pods' ServiceAccount.
type account struct{ namespace, name string }

// rights returns the missing RBAC objects for the agents of a ServiceAccount. all are the objects
// of the input. A subject needs a namespace: applied is the namespace of objects that name none.
func (a account) rights(all []*unstructured.Unstructured, applied string) []*unstructured.Unstructured {
	added := func(version, kind, name string, fields object) *unstructured.Unstructured {
		metadata := object{"name": name, "annotations": object{api.AnnotationInjected: api.InjectedAdded}}
		if a.namespace != "" {
			metadata["namespace"] = a.namespace
		}
		fields["apiVersion"], fields["kind"], fields["metadata"] = version, kind, metadata
		return &unstructured.Unstructured{Object: fields}
	}
	var out []*unstructured.Unstructured
	if a.name == DefaultServiceAccount && !slices.ContainsFunc(all, func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "ServiceAccount" && u.GetName() == a.name && u.GetNamespace() == a.namespace
	}) {
		out = append(out, added("v1", "ServiceAccount", a.name, object{}))
	}
	subject := object{"kind": "ServiceAccount", "name": a.name, "namespace": cmp.Or(a.namespace, applied)}
	return append(out, added("rbac.authorization.k8s.io/v1", "RoleBinding", "kubectl-scylla-member-"+a.name, object{
		"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
			"name": "kubectl-scylla-member"},
		"subjects": []any{subject},
	}))
}
