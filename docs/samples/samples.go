// SPDX-License-Identifier: Apache-2.0

// Package samples holds the archives of this folder: clusters that were simulated and then saved, to look at without a cluster. `make samples` writes them. It
// opens nothing and judges nothing.
package samples

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.zip
var archives embed.FS

// Prefix before a sample's name is what --from takes instead of a file.
const Prefix = "sample:"

// Sample is one archive.
type Sample struct {
	Name string
	// Shows is what is to be seen in it, in one sentence.
	Shows string
	// Try are commands that show it, without "kubectl scylla" and --from.
	Try []string
}

// All samples, in the order in which they are best looked at.
func All() []Sample {
	return []Sample{
		{Name: "healthy", Shows: "three racks, all nodes see each other UP", Try: []string{"status"}},
		{Name: "incident", Shows: "a node has failed, and a new node is waiting", Try: []string{"barrier", "replace demo-dc1-rack3-0 --dry-run --skip-check=data"}},
		{Name: "partition", Shows: "two datacenters do not see each other, although all nodes are running", Try: []string{"status"}},
		{
			Name: "replacement", Shows: "the first attempt to replace a dead node has failed, and can be resumed",
			Try: []string{"replace status", "replace resume demo-dc1-rack3-0 --dry-run --skip-check=data"},
		},
		{Name: "multi-dc", Shows: "two healthy datacenters, with a new node in one of them", Try: []string{"dashboard"}},
	}
}

// Find gives the sample of that name.
func Find(name string) (Sample, bool) {
	i := slices.IndexFunc(All(), func(s Sample) bool { return s.Name == name })
	if i < 0 {
		return Sample{}, false
	}
	return All()[i], true
}

// Open opens what follows --from, "sample:incident"; an error where there is no such sample names those that there are.
func Open(from string) (fs.File, error) {
	name := strings.TrimPrefix(from, Prefix)
	if _, ok := Find(name); !ok {
		return nil, &UnknownError{Name: name}
	}
	return archives.Open(name + ".zip")
}

// UnknownError is a name that no sample has.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return "unknown sample \"" + e.Name + "\": use one of " + strings.Join(names, ", ")
}
