// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// Files in the folder that the container shares with the reporter of its Pod.
const (
	ReportFile = "result.json"
	OrderFile  = "order.json"
)

// Report is what the container leaves for the reporter: codes, numbers and names of datacenters; no
// role, no password and no CQL.
type Report struct {
	Credential Result    `json:"credential"`
	Settings   *Settings `json:"settings,omitempty"`
}

// Order is what the reporter leaves for the container, again and again while the controller's view
// names its member: act.
type Order struct {
	// At is when the reporter wrote it, by the clock that the container has as well.
	At time.Time `json:"at"`
	Topology
	// Settings are those in the status of the cluster, from whichever member acted before.
	Settings *Settings `json:"settings,omitempty"`
}

// orderLimit is the greatest age of an order: a reporter that has ended withdraws none.
const orderLimit = 30 * time.Second

// Stands is true while the order is to be followed.
func (o Order) Stands(now time.Time) bool { return !o.At.IsZero() && now.Sub(o.At) <= orderLimit }

var limitFile = bounded.Limit{Bytes: 256 << 10, Cure: "delete the file; it is written again"}

// Write writes a report or an order in one step: a reader sees the file before or after, never a
// part of it.
func Write(name string, v any) error {
	fail := func(err error) error { return fmt.Errorf("write %s: %w", name, err) }
	b, err := json.Marshal(v)
	if err != nil {
		return fail(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fail(err)
	}
	_, err = tmp.Write(b)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()) // the reader has another uid
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// Load reads a file of Write into v. Errors: fs.ErrNotExist before the first one.
func Load(name string, v any) error {
	b, err := limitFile.ReadFile("a file of the credential", name)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
