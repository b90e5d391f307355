// SPDX-License-Identifier: Apache-2.0

// Package words turns codes and parameters into English, and commands into shell text. It is the
// only place with sentences about a cluster; they are for display and never parsed. It must not
// decide anything, use a client, or read a clock: the caller passes the time for ages.
package words

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Text returns the message in one line without a full stop, by the zero Printer.
func Text(m Message) string { return Printer{}.Text(m) }

// Texts returns the texts of the messages.
func Texts(messages []Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, Text(m))
	}
	return out
}

// Text returns the message in one line without a full stop. In the catalogue's sentence {name} is a
// parameter, {q:name} the parameter in quotes, {1} the first command as shell text (see also
// listed). A part in [brackets] is left out if one of its parameters or commands is missing. A code
// without a sentence gives the code itself and the parameter "why", so that nothing is lost. Text
// from outside is cleaned by Clean.
func (p Printer) Text(m Message) string {
	var b strings.Builder
	for _, part := range p.Parts(m) {
		b.WriteString(part.Text)
	}
	return b.String()
}

// Part is a piece of a sentence: words, or a command that can be pasted.
type Part struct {
	Text    string
	Command bool
}

// Parts is Text in pieces, so that a display can format commands differently.
func (p Printer) Parts(m Message) []Part {
	if m.IsZero() {
		return nil
	}
	var parts []Part
	sentence, ok := sentences[m.Code]
	if !ok { // of a later version, or of anyone who can write a report
		parts, sentence = []Part{{Text: Clean(string(m.Code))}}, "[: {why}]"
	}
	for sentence != "" {
		before, rest, optional := strings.Cut(sentence, "[")
		filled, _ := p.fill(before, m)
		parts = append(parts, filled...)
		if !optional {
			break
		}
		var inside string
		inside, sentence, _ = strings.Cut(rest, "]")
		if filled, complete := p.fill(inside, m); complete {
			parts = append(parts, filled...)
		}
	}
	return merge(parts)
}

// fill puts parameters and commands into a template; complete is false if one of them is missing or
// empty.
func (p Printer) fill(template string, m Message) (parts []Part, complete bool) {
	complete = true
	for {
		before, rest, ok := strings.Cut(template, "{")
		parts = append(parts, Part{Text: before})
		if !ok {
			return parts, complete
		}
		var name string
		name, template, _ = strings.Cut(rest, "}")
		filled := p.placeholder(name, m)
		if len(filled) == 0 {
			complete = false
		}
		parts = append(parts, filled...)
	}
}

func (p Printer) placeholder(name string, m Message) []Part {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > len(m.Commands) {
			return nil
		}
		return []Part{{Clean(p.Shell(m.Commands[n-1])), true}}
	}
	if name, ok := strings.CutPrefix(name, "q:"); ok {
		return []Part{{Text: Clean(strconv.Quote(p.value(m.Params[name])))}}
	}
	if parts, ok := p.listed(name, m); ok {
		return parts
	}
	switch v := m.Params[name].(type) {
	case Message:
		return p.Parts(v)
	case map[string]any:
		return p.Parts(message(v))
	default:
		if text := p.value(v); text != "" {
			return []Part{{Text: text}}
		}
	}
	return nil
}

// merge joins adjacent parts that are words.
func merge(parts []Part) []Part {
	var out []Part
	for _, part := range parts {
		switch last := len(out) - 1; {
		case part.Text == "":
		case last >= 0 && !part.Command && !out[last].Command:
			out[last].Text += part.Text
		default:
			out = append(out, part)
		}
	}
	return out
}

// value returns the text of a parameter, either in its Go type or as decoded from JSON.
func (p Printer) value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return Clean(v)
	case []string:
		return list(v, Clean)
	case []any:
		return list(v, p.value)
	case []Message:
		return list(v, p.Text)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Duration:
		return Age(v)
	case Message:
		return p.Text(v)
	case map[string]any:
		return p.Text(message(v))
	}
	return Clean(fmt.Sprint(v))
}

func list[T any](items []T, say func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = say(item)
	}
	return strings.Join(texts, ", ")
}

// message returns the message that was read from JSON as a parameter.
func message(v map[string]any) Message {
	var m Message
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return Message{} // not a message: no text
	}
	return m
}

// Moment is a point in time in the form of every output: to the second, in UTC.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Age is a duration in its two largest units: "12s", "5m3s", "2h0m", "3d4h". Every output writes
// ages by this function.
func Age(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Ago is the age of a moment, empty if either time is unknown.
func Ago(from, now time.Time) string {
	if from.IsZero() || now.IsZero() {
		return ""
	}
	return Age(now.Sub(from))
}

// Saved names saved objects with their time and their age at now, if known. The age is left out if
// below one second.
func Saved(what string, taken, now time.Time) string {
	switch age := now.Sub(taken); {
	case taken.IsZero():
		return what + " of unknown age"
	case age >= time.Second:
		return what + " of " + Moment(taken) + ", " + Age(age) + " old"
	}
	return what + " of " + Moment(taken)
}

// Aged returns the text of m with an age such as "12s": at {age} of its sentence, else at its end.
// The age of its cause is left out: two in one sentence are mistaken for each other.
func Aged(m Message, age string) string {
	if age == "" {
		return Text(m)
	}
	if why, ok := m.Params["why"].(Message); ok && why.Params["for"] != nil {
		m.Params, why.Params = maps.Clone(m.Params), maps.Clone(why.Params)
		delete(why.Params, "for")
		m.Params["why"] = why
	}
	if !strings.Contains(sentences[m.Code], "{age}") {
		return Text(m) + " (for " + age + ")"
	}
	if m.Params = maps.Clone(m.Params); m.Params == nil {
		m.Params = Params{}
	}
	m.Params["age"] = age
	return Text(m)
}

// Since returns " for 12s", empty if from or now is zero.
func Since(from, now time.Time) string {
	if a := Ago(from, now); a != "" {
		return " for " + a
	}
	return ""
}

// Aging returns the text of m with its duration: "demo-rack2-0 (35d0f1aa) sees demo-rack3-0
// (1ffac2bb) DOWN for 12s". The duration is left out if since or now is zero.
func Aging(m Message, since, now time.Time) string { return Aged(m, Ago(since, now)) }

// Of returns a message about a subject that its sentence omits: "demo-rack4-0 must wait: ...".
func Of(subject string, m Message) string { return subject + " " + Text(m) }

// Count returns a number with its noun: "1 node", "3 nodes".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
