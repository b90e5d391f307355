// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/credential"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func report(c *api.RootCredential, items ...api.InitialSetting) *api.ScyllaDBStatusReport {
	return &api.ScyllaDBStatusReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", OwnerReferences: []metav1.OwnerReference{{Name: "demo-rack1"}}},
		Status:     api.ScyllaDBStatusReportStatus{RootCredential: c, InitialSettings: &api.InitialSettings{Hash: "abc", Items: items}},
	}
}

func TestOf(t *testing.T) {
	tests := map[string]struct {
		is     *api.RootCredential
		status metav1.ConditionStatus
		text   string
	}{
		"no result": {&api.RootCredential{Mode: "verify"}, "", ""},
		"verified":  {&api.RootCredential{Code: "Verified", Member: "demo-rack1-0"}, "True", "demo-rack1-0 verified the root credential: the default superuser does not log in"},
		"open": {&api.RootCredential{Code: "DefaultSuperuserOpen", Mode: "verify"}, "False", "the default superuser cassandra logs in with its default password: create a superuser of your own, log in as it, then run " +
			"ALTER ROLE cassandra WITH SUPERUSER = false AND LOGIN = false; or let the cluster do both: kubectl scylla inject demo --root-credential=managed -n ns"},
		"open, managed": {&api.RootCredential{Code: "DefaultSuperuserOpen", Reason: "SecretIsDefault", Mode: "managed"}, "False", "the default superuser cassandra logs in with its default password, and " +
			"Secret demo-root-credential names the default superuser, which cannot close its own log-in: create a superuser of your own, log in as it, then run ALTER ROLE cassandra WITH SUPERUSER = false AND LOGIN = false"},
		"open, another password": {&api.RootCredential{Code: "DefaultSuperuserOpen", Reason: "Incorrect", Mode: "managed"}, "False", "the default superuser cassandra logs in with its default password, and " +
			"ScyllaDB refuses the username and password of Secret demo-root-credential: create a superuser of your own, log in as it, then run ALTER ROLE cassandra WITH SUPERUSER = false AND LOGIN = false"},
		"missing": {&api.RootCredential{Code: "Missing", Reason: "SecretAbsent"}, "False", "there is no usable root credential: Secret demo-root-credential does not exist, or lacks username or password. " +
			"Restore Secret demo-root-credential from your secret store. A new password does not open an existing role"},
		"wrong password": {&api.RootCredential{Code: "WrongPassword"}, "False", "ScyllaDB refuses the username and password of Secret demo-root-credential. " +
			"Store the role's own password in it, or set the role's password as another superuser"},
		"pending":              {&api.RootCredential{Code: "Pending", Reason: "Refused", Server: "0x2100", Member: "m"}, "Unknown", "the root credential is not complete yet: ScyllaDB answered with an error (0x2100). m tries again"},
		"of a newer container": {&api.RootCredential{Code: "Odd", Reason: "Other", Member: "m"}, "Unknown", "the root credential is not verified: Other. m tries again"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			status, m, ok := Of(report(tc.is))
			if status != tc.status || words.Text(m) != tc.text || ok != (tc.text != "") {
				t.Errorf("%t %s %q\nwant %s %q", ok, status, words.Text(m), tc.status, tc.text)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	wanted := map[string]int32{"dc1": 3}
	tests := map[string]struct {
		is   api.InitialSetting
		text string
	}{
		"applied": {api.InitialSetting{Name: "system_traces", State: "Applied"}, ""},
		"to do": {api.InitialSetting{Name: "system_traces", State: "ToDo", Replication: "SimpleStrategy replication_factor=2", Wanted: wanted},
			"system_traces has SimpleStrategy replication_factor=2, which ignores the present datacenters and racks. Run ALTER KEYSPACE system_traces WITH replication = " +
				"{'class': 'NetworkTopologyStrategy', 'dc1': '3'}, then nodetool repair system_traces on each node"},
		"not readable": {api.InitialSetting{Name: "system_traces", State: "Waiting", Reason: "SocketClosed", Wanted: wanted}, "the replication of system_traces is unchanged: it needs the maintenance socket: " +
			"set maintenance_socket: workdir in scylla.yaml. If it still has SimpleStrategy, run ALTER KEYSPACE system_traces WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}"},
		"not quiet": {api.InitialSetting{Name: "system_traces", State: "Waiting", Reason: "NotQuiet", Replication: "x"}, "the replication of system_traces is unchanged (x): a node is DOWN, joining or leaving"},
		"foreign":   {api.InitialSetting{Name: "system_traces", State: "Foreign", Replication: "x"}, "system_traces has x, which was set by another user, and stays unchanged"},
		"repair": {api.InitialSetting{Name: "system_traces", State: "Applied", RepairDue: true}, "the replicas of system_traces moved: run nodetool repair -pr on each node for it, then record it: " +
			"kubectl annotate --overwrite statefulset demo-rack1 kubectl-scylla.scylladb.com/repaired=abc -n ns"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(words.Texts(Settings(report(nil, tc.is))), "; "); got != tc.text {
				t.Errorf("%q\nwant %q", got, tc.text)
			}
		})
	}
}

// Every reason of package credential has its words, and none of them names a step that deletes.
func TestEveryReasonHasWords(t *testing.T) {
	n := 0
	for _, file := range []string{"../code.go", "../settings.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			v, ok := node.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "Reason" {
				return true
			}
			n++
			code := credential.Reason(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			if text := words.Text(words.New(reasons[code], "secret", "s")); reasons[code] == "" && code != credential.Exists || strings.Contains(strings.ToLower(text), "delete") {
				t.Errorf("%s: %q", code, text)
			}
			return true
		})
	}
	if n < 20 {
		t.Errorf("%d reasons are read", n)
	}
}
