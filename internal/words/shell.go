// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"slices"
	"strings"
)

// Shell is a command as text for a POSIX shell, which parses it back to exactly the arguments. Every argument that is not plainly safe is quoted, so that an argument that came
// from a Pod cannot run anything on the machine of the person who pastes it.
func Shell(c Command) string {
	var b strings.Builder
	for i, arg := range c {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quote(arg))
	}
	return b.String()
}

func quote(arg string) string {
	// At the beginning of a word zsh expands "=ls" to the path of ls.
	if arg != "" && arg[0] != '=' && strings.IndexFunc(arg, special) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// special is false only for characters without a meaning in any shell, at the beginning of a word or within it; but for "=" at the beginning.
func special(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("@%_+=:,./-", r)
}

// Printer says messages with commands that work where they are pasted. The zero value adds nothing to a command, as is right where the commands are for another machine: in a
// log, an Event, an archive.
type Printer struct {
	// Flags are the kubectl flags that were given, to be repeated in every command of kubectl: --context, --kubeconfig, --as. Each is one
	// argument: "--context=test".
	Flags []string
}

// Shell is Shell with the flags after "kubectl" or "kubectl scylla".
func (p Printer) Shell(c Command) string { return Shell(p.WithFlags(c)) }

// WithFlags is the command with the flags in their place. Commands of other programs stay as they are.
func (p Printer) WithFlags(c Command) Command {
	if len(p.Flags) == 0 || len(c) == 0 || c[0] != "kubectl" {
		return c
	}
	at := 1
	if len(c) > 1 && c[1] == "scylla" {
		at = 2
	}
	if p.has(c[at:]) {
		return c
	}
	return slices.Concat(c[:at], p.Flags, c[at:])
}

// has is true for a command that has the flags already.
func (p Printer) has(after []string) bool {
	return len(after) >= len(p.Flags) && slices.Equal(after[:len(p.Flags)], p.Flags)
}

// Flag puts the flags into messages of a document that was made without them.
func (p Printer) Flag(messages ...*Message) {
	for _, m := range messages {
		*m = p.Flagged(*m)
	}
}

// Flagged is the message with the flags in its commands, and in those of the messages among its parameters.
func (p Printer) Flagged(m Message) Message {
	if len(p.Flags) == 0 {
		return m
	}
	out := m
	if len(m.Commands) > 0 {
		out.Commands = make([]Command, len(m.Commands))
	}
	for i, c := range m.Commands {
		out.Commands[i] = p.WithFlags(c)
	}
	if len(m.Params) > 0 {
		out.Params = maps.Clone(m.Params)
	}
	for name, v := range out.Params {
		switch v := v.(type) {
		case Message:
			out.Params[name] = p.Flagged(v)
		case []Message:
			list := make([]Message, len(v))
			for i := range v {
				list[i] = p.Flagged(v[i])
			}
			out.Params[name] = list
		case map[string]any: // a message that was read from JSON
			out.Params[name] = p.Flagged(message(v))
		}
	}
	return out
}
