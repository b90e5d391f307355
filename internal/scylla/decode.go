// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

const zeroHostID = "00000000-0000-0000-0000-000000000000"

// canonicalHostID returns a UUID in lower case, empty for the zero UUID (ScyllaDB's "not set").
// Other text is returned unchanged: it still names a node.
func canonicalHostID(text string) string {
	text = strings.TrimSpace(text)
	if id, err := hostid.Parse(text); err == nil {
		return string(id) // usual case: already canonical
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return text
	}
	if s := id.String(); s != zeroHostID {
		return s
	}
	return ""
}

// canonicalAddress returns one spelling per IP address; ScyllaDB and other tools print IPv6
// differently.
func canonicalAddress(text string) string {
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return text
	}
	var room [len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")]byte
	if spelled := a.Unmap().WithZone("").AppendTo(room[:0]); string(spelled) != text {
		return string(spelled)
	}
	return text
}

// theAnswer names the body in errors that already contain the path.
const theAnswer = "the answer"

func decodeMembers(b io.Reader) ([]Member, error) {
	type pair struct {
		Key   *string `json:"key"`
		Value *string `json:"value"`
	}
	out := []Member{}
	if err := bounded.Each(limitMembers, b, theAnswer, func(i int, e pair) error {
		if e.Key == nil {
			return fmt.Errorf("entry %d has no address", i)
		}
		m := Member{Address: *e.Key}
		if e.Value != nil {
			m.HostID = canonicalHostID(*e.Value)
		}
		out = append(out, m)
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(out, compareMembers)
	return slices.Compact(out), nil
}

func compareMembers(a, b Member) int {
	if c := strings.Compare(a.HostID, b.HostID); c != 0 {
		return c
	}
	return strings.Compare(a.Address, b.Address)
}

func decodeStrings(b io.Reader) ([]string, error) {
	out := []string{}
	if err := bounded.Each(limitTexts, b, theAnswer, func(i int, s *string) error {
		if s == nil {
			return fmt.Errorf("entry %d is null", i)
		}
		out = append(out, *s)
		return nil
	}); err != nil {
		return nil, err
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// decodeString decodes a JSON string. It also accepts a bare word, because some versions print
// plain text.
func decodeString(b io.Reader) (string, error) {
	data, err := limitValue.Read(b, theAnswer)
	if err != nil {
		return "", err
	}
	t := bytes.TrimSpace(data)
	if len(t) == 0 {
		return "", errors.New("empty body where a string was expected")
	}
	if t[0] != '"' {
		if len(t) <= 128 && !bytes.ContainsAny(t, "<>{}[]\"\n") && !bytes.Equal(t, []byte("null")) {
			return string(t), nil
		}
		return "", errors.New("a string was expected")
	}
	var s string
	err = json.Unmarshal(t, &s)
	return strings.TrimSpace(s), err
}

func decodeInt(b io.Reader) (int64, error) {
	data, err := limitValue.Read(b, theAnswer)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.Trim(string(bytes.TrimSpace(data)), `"`), 10, 64)
}

func decodeBool(b io.Reader) (bool, error) {
	data, err := limitValue.Read(b, theAnswer)
	if err != nil {
		return false, err
	}
	return strconv.ParseBool(strings.Trim(string(bytes.TrimSpace(data)), `"`))
}

func decodeSchemaVersions(b io.Reader) (map[string][]string, error) {
	type version struct {
		Key   string   `json:"key"`
		Value []string `json:"value"`
	}
	out := map[string][]string{}
	if err := bounded.Each(limitSchemas, b, theAnswer, func(_ int, e version) error {
		out[e.Key] = append(out[e.Key], e.Value...)
		return nil
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// Numbers of gossip's application states (gms/application_state.hh), which ScyllaDB never changes.
const (
	stateDC     = 3
	stateRack   = 4
	stateHostID = 12
)

// endpointStates has only the fields in use: the decoder skips tokens and feature lists of many
// kilobytes.
type endpointStates struct {
	Addrs      string `json:"addrs"`
	Generation int64  `json:"generation"`
	IsAlive    bool   `json:"is_alive"`
	States     []struct {
		State json.RawMessage `json:"application_state"`
		Value string          `json:"value"`
	} `json:"application_state"`
}

// value returns a state's value, found by number or name, else empty.
func (e *endpointStates) value(number int, name string) string {
	value := ""
	for _, s := range e.States {
		switch strings.Trim(string(s.State), `"`) {
		case strconv.Itoa(number), name:
			value = s.Value
		}
	}
	return value
}

func decodeEndpoints(b io.Reader) ([]Endpoint, error) {
	out := []Endpoint{}
	if err := bounded.Each(limitEndpoints, b, theAnswer, func(_ int, e endpointStates) error {
		out = append(out, Endpoint{
			Address: e.Addrs, HostID: canonicalHostID(e.value(stateHostID, "HOST_ID")), Alive: e.IsAlive,
			Generation: e.Generation,
			Datacenter: e.value(stateDC, "DC"), Rack: e.value(stateRack, "RACK"),
		})
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Endpoint) int {
		if c := strings.Compare(a.Address, b.Address); c != 0 {
			return c
		}
		if c := strings.Compare(a.HostID, b.HostID); c != 0 {
			return c
		}
		return int(min(1, max(-1, a.Generation-b.Generation)))
	})
	return out, nil
}

func decodeTasks(b io.Reader) ([]Task, error) {
	type task struct {
		ID     string          `json:"task_id"`
		Type   string          `json:"type"`
		Kind   string          `json:"kind"`
		State  string          `json:"state"`
		Entity string          `json:"entity"`
		End    json.RawMessage `json:"end_time"`
		Start  json.RawMessage `json:"start_time"`
	}
	out := []Task{}
	if err := bounded.Each(limitTasks, b, theAnswer, func(_ int, e task) error {
		t := Task{ID: e.ID, Type: e.Type, State: strings.ToLower(e.State), HostID: canonicalHostID(e.Entity),
			Ended: strings.Trim(string(e.End), `"`)}
		// Node tasks are the parts of a cluster task on one node: their entity is not the joining
		// or leaving node. A task without an entity counts as an operation: up to 2025.4 no task
		// names its node, up to 2026.3 no ended task does.
		if t.State != "" && e.Kind != "node" {
			out = append(out, t)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}
