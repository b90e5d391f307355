// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// mayConvert are the files that make a host ID of a text without reading it, each with why.
var mayConvert = map[string]string{
	"internal/scylla/row.go": "checkHostIDs has read all of them",
}

var (
	conversion = regexp.MustCompile(`\bhostid\.ID\([^)]`)
	recased    = regexp.MustCompile(`strings\.(EqualFold|ToLower)\([^()\n]*([hH]ostID|\bid\b)`)
)

// TestHostIDsAreMadeAtTheEdges: hostid.Parse alone makes a host ID of a text, so that everywhere else two of them are the same node where they are equal.
func TestHostIDsAreMadeAtTheEdges(t *testing.T) {
	used := map[string]bool{}
	for _, p := range load(t) {
		rel := strings.TrimPrefix(p.ImportPath, own)
		if !covers([]string{"cmd", "controller", "plugin", "internal"}, p.ImportPath) || rel == "internal/api/hostid" {
			continue
		}
		for _, name := range p.GoFiles {
			file := rel + "/" + name
			text, err := os.ReadFile(path.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				switch {
				case recased.MatchString(line):
					t.Errorf("%s:%d changes the case of a host ID: it is canonical since hostid.Parse made it", file, i+1)
				case !conversion.MatchString(line):
				case mayConvert[file] != "":
					used[file] = true
				default:
					t.Errorf("%s:%d makes a host ID of a text without reading it: use hostid.Parse, Optional or Known", file, i+1)
				}
			}
		}
	}
	for file, why := range mayConvert {
		if !used[file] {
			t.Errorf("%s converts no text any more (%s): take it out of the table", file, why)
		}
	}
}
