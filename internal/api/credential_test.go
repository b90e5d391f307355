// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// What a Pod writes about the credential gets into a status that the API server must accept: what has another form is left out, and the row stays.
func TestCredentialOfARow(t *testing.T) {
	long := strings.Repeat("x", 33)
	items := func(n int) string {
		return strings.Repeat(`{"name":"a","state":"Due"},`, n-1) + `{"name":"a","state":"Due"}`
	}
	tests := map[string]struct {
		credential string
		kept       bool
	}{
		"result":           {`{"credential":{"mode":"verify","code":"Verified","server":"0x2100","at":"2026-08-01T12:00:00Z","unknown":1}}`, true},
		"settings":         {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"hash":"0a","items":[` + items(7) + `]}}`, true},
		"no code":          {`{"credential":{"mode":"verify"}}`, false},
		"code of words":    {`{"credential":{"mode":"verify","code":"not a code"}}`, false},
		"code of digits":   {`{"credential":{"mode":"verify","code":"1"}}`, false},
		"long code":        {`{"credential":{"mode":"verify","code":"` + long + `"}}`, false},
		"escape":           {`{"credential":{"mode":"verify","code":"Verified","default":"\u001b[2J"}}`, false},
		"time":             {`{"credential":{"mode":"verify","code":"Verified","at":"9999-12-31T23:59:59-08:00"}}`, false},
		"too many items":   {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"items":[` + items(8) + `]}}`, false},
		"name of words":    {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"items":[{"name":"a b","state":"Due"}]}}`, false},
		"reason of words":  {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"items":[{"name":"a","state":"Due","reason":"a b"}]}}`, false},
		"negative factor":  {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"items":[{"name":"a","state":"Due","wanted":{"dc1":-1}}]}}`, false},
		"long replication": {`{"credential":{"mode":"verify","code":"Verified"},"settings":{"items":[{"name":"a","state":"Due","replication":"` + strings.Repeat("x", 2001) + `"}]}}`, false},
		"member":           {`{"credential":{"mode":"verify","code":"Verified","member":"other"}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := api.DecodeNodeStatusReport(`{"observedNodes":[{"hostID":"8ebd2a16-0000-4000-8000-00000000000a","status":"UP"}],"credential":` + tc.credential + `}`)
			if err != nil || len(r.ObservedNodes) != 1 || (r.Credential != nil) != tc.kept {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
