// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const zeroHostID = "00000000-0000-0000-0000-000000000000"

// canonicalHostID is the lower-case form of a UUID, empty for the zero UUID (ScyllaDB's "not set") and the text itself for
// anything that is not a UUID: it is still somebody's name.
func canonicalHostID(text string) string {
	text = strings.TrimSpace(text)
	id, err := uuid.Parse(text)
	if err != nil {
		return text
	}
	if s := id.String(); s != zeroHostID {
		return s
	}
	return ""
}

// canonicalAddress makes two spellings of one IP address equal; ScyllaDB's formatter and other tools differ on IPv6.
func canonicalAddress(text string) string {
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return text
	}
	return a.Unmap().WithZone("").String()
}

func decodeMembers(b []byte) ([]Member, error) {
	var list []struct {
		Key   *string `json:"key"`
		Value *string `json:"value"`
	}
	if err := decodeJSON(b, &list); err != nil {
		return nil, err
	}
	out := make([]Member, 0, len(list))
	for i, e := range list {
		if e.Key == nil {
			return nil, fmt.Errorf("entry %d has no address", i)
		}
		m := Member{Address: *e.Key}
		if e.Value != nil {
			m.HostID = canonicalHostID(*e.Value)
		}
		out = append(out, m)
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

func decodeStrings(b []byte) ([]string, error) {
	var list []*string
	if err := decodeJSON(b, &list); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for i, s := range list {
		if s == nil {
			return nil, fmt.Errorf("entry %d is null", i)
		}
		out = append(out, *s)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// decodeString accepts a JSON string; a bare word is taken as it is, as some versions print plain text.
func decodeString(b []byte) (string, error) {
	t := bytes.TrimSpace(b)
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
	err := json.Unmarshal(t, &s)
	return strings.TrimSpace(s), err
}

func decodeInt(b []byte) (int64, error) {
	return strconv.ParseInt(strings.Trim(string(bytes.TrimSpace(b)), `"`), 10, 64)
}

func decodeSchemaVersions(b []byte) (map[string][]string, error) {
	var list []struct {
		Key   string   `json:"key"`
		Value []string `json:"value"`
	}
	if err := decodeJSON(b, &list); err != nil {
		return nil, err
	}
	out := make(map[string][]string, len(list))
	for _, e := range list {
		out[e.Key] = append(out[e.Key], e.Value...)
	}
	return out, nil
}

// stateHostID is the number of HOST_ID among gossip's application states; ScyllaDB keeps these numbers stable on purpose.
const stateHostID = 12

// endpointStates has only what is used: the states carry tokens and feature lists of many kilobytes that the decoder skips.
type endpointStates struct {
	Addrs      string `json:"addrs"`
	Generation int64  `json:"generation"`
	IsAlive    bool   `json:"is_alive"`
	States     []struct {
		State json.RawMessage `json:"application_state"`
		Value string          `json:"value"`
	} `json:"application_state"`
}

func decodeEndpoints(b []byte) ([]Endpoint, error) {
	var list []endpointStates
	if err := decodeJSON(b, &list); err != nil {
		return nil, err
	}
	out := make([]Endpoint, 0, len(list))
	for _, e := range list {
		ep := Endpoint{Address: e.Addrs, Alive: e.IsAlive, Generation: e.Generation}
		for _, s := range e.States {
			switch strings.Trim(string(s.State), `"`) {
			case strconv.Itoa(stateHostID), "HOST_ID":
				ep.HostID = canonicalHostID(s.Value)
			}
		}
		out = append(out, ep)
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

func decodeTasks(b []byte) ([]Task, error) {
	var list []struct {
		ID     string          `json:"task_id"`
		Type   string          `json:"type"`
		Kind   string          `json:"kind"`
		State  string          `json:"state"`
		Entity string          `json:"entity"`
		End    json.RawMessage `json:"end_time"`
		Start  json.RawMessage `json:"start_time"`
	}
	if err := decodeJSON(b, &list); err != nil {
		return nil, err
	}
	out := make([]Task, 0, len(list))
	for _, e := range list {
		// Node tasks are the parts of a cluster task on one node: their entity is not the node that joins or leaves.
		if e.Entity == "" || e.Kind == "node" {
			continue
		}
		t := Task{ID: e.ID, Type: e.Type, State: strings.ToLower(e.State), HostID: canonicalHostID(e.Entity)}
		if t.HostID == "" {
			continue
		}
		t.Ended = strings.Trim(string(e.End), `"`)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}
