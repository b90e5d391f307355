// SPDX-License-Identifier: Apache-2.0

package real

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Format is the first field of a file. docs/real.md describes it.
const Format = "kubectl-scylla-recording/1"

// Recording is the file.
type Recording struct {
	Format string `json:"format"`
	// Release is what `scylla --version` prints.
	Release string `json:"release"`
	// Image has no registry and no folder; Digest is the image's ID in the engine.
	Image        string `json:"image"`
	Digest       string `json:"digest,omitempty"`
	Engine       string `json:"engine"`
	Architecture string `json:"architecture"`
	// Simulated is true if the image has scyllasim in it: then the recording is not evidence.
	Simulated  bool         `json:"simulated"`
	Situations []*Situation `json:"situations"`
}

// Situation is one row of Situations, as it went.
type Situation struct {
	Name    string   `json:"name"`
	Steps   []Step   `json:"steps"`
	Answers []Answer `json:"answers"`
	Logs    []Log    `json:"logs,omitempty"`
}

// Step is one thing that was done. At and Took are seconds, At since the recording began.
type Step struct {
	At    float64 `json:"at"`
	Took  float64 `json:"took"`
	Do    string  `json:"do"`
	Error string  `json:"error,omitempty"`
}

// Answer is what one node said from this time until its next answer of the same path.
type Answer struct {
	At   float64 `json:"at"`
	Node string  `json:"node"`
	// Path is a path of the REST API, or one of: supervisord, port N, files, container, volume WHAT, cql WHAT, or a command.
	Path string `json:"path"`
	// Status is the HTTP status, 0 without an answer; the exit code of a command.
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Log is the log of one container's life, and its exit code.
type Log struct {
	Node  string   `json:"node"`
	Exit  int      `json:"exit"`
	Lines []string `json:"lines"`
}

// Write writes the file, masked.
func (r *Recording) Write(file string, m *Mask) error {
	plain, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode the recording: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of the recording: %w", err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("create the recording: %w", err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(m.Text(string(plain)))); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// Read reads a file.
func Read(file string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var r Recording
	if err := json.NewDecoder(z).Decode(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("%s has format %q; this version reads %q", file, r.Format, Format)
	}
	return &r, nil
}

// Situation returns the situation of that name; empty if it is not in the recording.
func (r *Recording) Situation(name string) *Situation {
	for _, s := range r.Situations {
		if s.Name == name {
			return s
		}
	}
	return &Situation{Name: name}
}

// All are the answers of a node's path, in order.
func (s *Situation) All(node, path string) (out []Answer) {
	for _, a := range s.Answers {
		if a.Node == node && a.Path == path {
			out = append(out, a)
		}
	}
	return out
}

// Last is the last answer of a node's path; ok is false if there is none.
func (s *Situation) Last(node, path string) (a Answer, ok bool) {
	if all := s.All(node, path); len(all) > 0 {
		return all[len(all)-1], true
	}
	return a, false
}

// Says returns the first log line of the node that has one of the texts.
func (s *Situation) Says(node string, texts ...string) (line string, ok bool) {
	for _, l := range s.Logs {
		if l.Node != node {
			continue
		}
		for _, line := range l.Lines {
			for _, t := range texts {
				if strings.Contains(line, t) {
					return line, true
				}
			}
		}
	}
	return "", false
}
