// SPDX-License-Identifier: Apache-2.0

package real

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
)

var (
	uuids = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	ipv4  = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	// A whole word: std::map is no address.
	ipv6 = regexp.MustCompile(`[\w.:]*:[\w.]*:[\w.:]*`)
)

// Mask gives each host ID, other UUID and address one name, the same in the whole file: host-a and
// addr-a of node a, else uuid-N and addr-N. What names the machine is taken out.
type Mask struct {
	names   map[string]string
	machine []string
}

// NewMask masks these names of the machine, too.
func NewMask(machine ...string) *Mask {
	m := &Mask{names: map[string]string{}}
	for _, n := range machine {
		if len(n) > 3 && n != "localhost" && n != "scylla" && n != "root" {
			m.machine = append(m.machine, n)
		}
	}
	return m
}

// Name sets the name of a host ID or an address.
func (m *Mask) Name(value, name string) {
	if _, has := m.names[value]; !has && value != "" {
		m.names[value] = name
	}
}

// Text returns the text without personal details.
func (m *Mask) Text(s string) string {
	s = mask.Text(s)
	for _, n := range m.machine {
		s = strings.ReplaceAll(s, n, "machine")
	}
	s = uuids.ReplaceAllStringFunc(s, func(id string) string {
		if strings.Trim(id, "0-") == "" {
			return id
		}
		return m.name(strings.ToLower(id), "uuid")
	})
	return ipv6.ReplaceAllStringFunc(ipv4.ReplaceAllStringFunc(s, m.address), m.address)
}

func (m *Mask) address(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() && m.names[text] == "" || a.IsUnspecified() {
		return text
	}
	return m.name(text, "addr")
}

func (m *Mask) name(value, kind string) string {
	if _, has := m.names[value]; !has {
		m.names[value] = fmt.Sprintf("%s-%d", kind, len(m.names)+1)
	}
	return m.names[value]
}
