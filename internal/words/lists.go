// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"slices"
	"strings"
)

// listed fills the placeholders of lists:
//
//	{name&}         names: "a, b and c"
//	{name;}         statements: "a is DOWN; b is DOWN"
//	{name?one|many} one of two words, by the length of a list or by a number
//	{*}             all commands, one after the other
func (p Printer) listed(name string, m Message) (parts []Part, ok bool) {
	if name == "*" {
		for i, c := range m.Commands {
			if i > 0 {
				parts = append(parts, Part{Text: " && ", Command: true})
			}
			parts = append(parts, Part{Text: Clean(p.Shell(c)), Command: true})
		}
		return parts, true
	}
	text := ""
	if param, choice, found := strings.Cut(name, "?"); found {
		one, many, _ := strings.Cut(choice, "|")
		switch v := m.Params[param]; {
		case number(v) == 1:
			text = one
		case number(v) > 1 || v == 0 || v == 0.0:
			text = many
		}
	} else if param, found := strings.CutSuffix(name, "&"); found {
		text = and(p.items(m.Params[param]))
	} else if param, found := strings.CutSuffix(name, ";"); found {
		text = facts(p.items(m.Params[param]))
	} else {
		return nil, false
	}
	if text == "" {
		return nil, true
	}
	return []Part{{Text: text}}, true
}

// number returns the number in a parameter, or the length of its list; it also accepts parameters
// decoded from JSON.
func number(v any) int {
	switch v := v.(type) {
	case int:
		return v
	case float64:
		return int(v)
	case []string:
		return len(v)
	case []any:
		return len(v)
	case []Message:
		return len(v)
	}
	return 0
}

func (p Printer) items(v any) []string {
	var out []string
	switch v := v.(type) {
	case []string:
		for _, s := range v {
			out = append(out, Clean(s))
		}
	case []any:
		for _, s := range v {
			out = append(out, p.value(s))
		}
	case []Message:
		for _, s := range v {
			out = append(out, p.Text(s))
		}
	}
	return out
}

// and lists names in order, at most five items: "a, b, c, d and 3 more".
func and(names []string) string {
	const most = 5
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", len(names)-most+1)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// facts lists statements, at most six: "a is DOWN; b is DOWN; and 3 more".
func facts(texts []string) string {
	const most = 6
	if len(texts) > most {
		return strings.Join(texts[:most-1], "; ") + fmt.Sprintf("; and %d more", len(texts)-most+1)
	}
	return strings.Join(texts, "; ")
}

// Upper returns the text with a capital first letter, for Events.
func Upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
