// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"slices"
	"strings"
)

// Shell returns a command as text for a POSIX shell, which parses it back to exactly the arguments.
// It quotes every argument that is not certainly safe, so that a pasted argument from a Pod cannot
// run anything on the user's machine.
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

// special returns false only for characters without a meaning in any shell, at the beginning of a
// word or within it; except "=" at the beginning.
func special(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("@%_+=:,./-", r)
}

// Printer prints messages with commands that work where they are pasted. The zero value adds
// nothing to a command: use it if the commands are for another machine, as in a log, an Event, an
// archive.
type Printer struct {
	// Flags are the given kubectl flags, to be repeated in every kubectl command: --context,
	// --kubeconfig, --as. Each is one argument: "--context=test".
	Flags []string
	// From are the given --from, to be repeated in every command of ours that can read saved
	// objects.
	From []string
}

// Shell is Shell with the flags after "kubectl" or "kubectl scylla".
func (p Printer) Shell(c Command) string { return Shell(p.WithFlags(c)) }

// WithFlags returns the command with the flags in their place. Commands of other programs are
// unchanged.
func (p Printer) WithFlags(c Command) Command {
	if len(c) == 0 || c[0] != "kubectl" {
		return c
	}
	at := 1
	if len(c) > 1 && c[1] == "scylla" {
		at = 2
	}
	if !p.has(c[at:]) {
		c = slices.Concat(c[:at], p.Flags, c[at:])
	}
	if at == 2 && readsSaved(c[at+len(p.Flags):]) {
		for _, from := range p.From {
			c = append(slices.Clip(c), "--from", from)
		}
	}
	return c
}

// readsSaved reports whether a verb with these arguments can read saved objects, but has no --from
// yet. A verb that changes the cluster, or waits for a change, cannot.
func readsSaved(args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch args[0] {
	case "status", "barrier", "describe", "report", "dashboard":
	case "replace":
		if len(args) == 1 || args[1] != "status" {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"--from", "--source", "-w", "--watch", "--wait"}, name)
	})
}

// has reports whether the arguments already begin with the flags.
func (p Printer) has(after []string) bool {
	return len(after) >= len(p.Flags) && slices.Equal(after[:len(p.Flags)], p.Flags)
}

// Flag puts the flags into messages of a document that was created without them.
func (p Printer) Flag(messages ...*Message) {
	for _, m := range messages {
		*m = p.Flagged(*m)
	}
}

// Flagged returns the message with the flags in its commands, and in the commands of messages among
// its parameters.
func (p Printer) Flagged(m Message) Message {
	if len(p.Flags)+len(p.From) == 0 {
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
