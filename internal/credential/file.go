// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/atomicfile"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// Files in the folder that the container shares with the reporter of its Pod.
const (
	ReportFile = "result.json"
	OrderFile  = "order.json"
)

// Report is the content of ReportFile. The container writes it; the reporter reads its
// CredentialReport.
type Report struct {
	api.CredentialReport
	// Rounds is the number of rounds since the code became the present one, this one included.
	Rounds int `json:"rounds"`
}

// Note dates the result of a round, and counts the rounds with its code.
func (r *Report) Note(is api.RootCredential, now time.Time) {
	at := metav1.NewTime(now)
	is.At, is.Since = &at, &at
	if r.Rounds++; is.Code == r.Credential.Code {
		is.Since = r.Credential.Since
	} else {
		r.Rounds = 1
	}
	r.Credential = is
}

// Order is the content of OrderFile. The reporter writes it periodically while the controller view
// names its member.
type Order struct {
	// At is when the reporter wrote it. Reporter and container have the same clock.
	At time.Time `json:"at"`
	api.StatusReportViewCredential
}

// orderLimit is the greatest age of a valid order: a reporter that has ended cannot withdraw it.
const orderLimit = 30 * time.Second

// Stands reports whether the order is valid now.
func (o Order) Stands(now time.Time) bool { return !o.At.IsZero() && now.Sub(o.At) <= orderLimit }

var limitFile = bounded.Limit{Bytes: 256 << 10, Cure: "delete the file; it is written again"}

// Write writes a report or an order. Its reader has another uid.
func Write(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	write := func(w io.Writer) error { _, err := w.Write(b); return err }
	return atomicfile.Write(name, 0o644, write, os.Rename)
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
