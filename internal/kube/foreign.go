// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// SaveAll is how to save a cluster's objects; its loop saves the rest if a kind is not installed or
// cannot be listed.
const SaveAll = "save them with: for k in service pod statefulset pvc pdb event node pv storageclass " +
	"scylladbdatacenternodesstatusreports scylladbstatusreports; do kubectl get $k -n NAMESPACE -o json; done " +
	"> cluster.json"

// ErrNoCluster is returned by Read if no object belongs to a cluster.
var ErrNoCluster = errors.New("no cluster in the objects")

// notObjects matches the first lines of files that people have and that are not objects, with what
// they are.
var notObjects = []struct {
	begins func() *regexp.Regexp
	what   string
}{
	{pattern.Lazy(`(?m)\A(?:.*\n){0,8}?(?:20\S+Z +)?(?:INFO|WARN|ERROR|DEBUG|TRACE) +\d{4}-\d\d-\d\d[ T]`),
		"a log of ScyllaDB; explain it with: kubectl scylla describe --log FILE"},
	{pattern.Lazy(`(?m)\A(?:.*\n){0,8}?(?:Status=Up/Down|Datacenter: \S+\s*$)`), "the output of nodetool status"},
}

// peeked is how much of a file is examined for that.
const peeked = 4 << 10

// notObject returns an error for a file that begins as one of them.
func notObject(head []byte) error {
	for _, not := range notObjects {
		if not.begins().Match(head) {
			return fmt.Errorf("not Kubernetes objects: it is %s", not.what)
		}
	}
	return nil
}

// duplicate matches the error of a strict decoder about a key that an object has twice.
var duplicate = pattern.Lazy(`line (\d+): key "([^"]+)" already set`)

// twiceError is a field that one JSON object has twice. A decoder keeps only the last of joined
// objects.
type twiceError struct {
	field string
	line  int // within the object
}

func (e *twiceError) Error() string {
	return fmt.Sprintf(
		"line %d of the object: field %s occurs twice in one object; put each object into braces of its own", e.line,
		e.field)
}

// twice returns an error about a key that an object has twice, with the fix. A decoder keeps only
// the last of objects that were joined without a separator.
func twice(err error) error {
	if m := duplicate().FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("line %s: field %s occurs twice in one object; separate objects with a line ---", m[1], m[2])
	}
	return err
}
