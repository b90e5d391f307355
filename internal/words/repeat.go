// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/pattern"
)

// mentioned is a command of kubectl within a sentence, up to its verb.
var mentioned = pattern.Lazy(`\bkubectl( scylla)? ([a-z][a-z-]*)( --help\b)?`)

// Mentioned is a sentence whose commands of kubectl have the flags, too: for errors and hints, which are written without access to the flags. Commands that ask for help or
// look at the kubeconfig stay as they are, and so does one that has the flags already.
func (p Printer) Mentioned(text string) string {
	if len(p.Flags) == 0 || !strings.Contains(text, "kubectl ") {
		return text
	}
	flags := Shell(p.Flags)
	return mentioned().ReplaceAllStringFunc(text, func(found string) string {
		m := mentioned().FindStringSubmatch(found)
		switch {
		case m[3] != "", m[2] == "config", m[1] == "" && m[2] == "scylla":
			return found
		}
		return "kubectl" + m[1] + " " + flags + " " + m[2]
	})
}

// Repeat puts the flags into every Command of a document, and makes the text of every Message again with them. Fields that are texts with commands have the tag
// `words:"mentions"`. doc is a pointer.
func (p Printer) Repeat(doc any) {
	if len(p.Flags) > 0 {
		p.repeat(reflect.ValueOf(doc))
	}
}

// flagged is the message with the flags in its commands, and in those of the messages among its parameters.
func (p Printer) flagged(m Message) Message {
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
			out.Params[name] = p.flagged(v)
		case []Message:
			list := make([]Message, len(v))
			for i := range v {
				list[i] = p.flagged(v[i])
			}
			out.Params[name] = list
		}
	}
	return out
}

var (
	codeType    = reflect.TypeFor[Message]()
	messageType = reflect.TypeFor[Statement]()
	commandType = reflect.TypeFor[ShellCommand]()
)

func (p Printer) repeat(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.repeat(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.repeat(v.Index(i))
		}
	case reflect.Struct:
		p.fields(v)
	}
}

func (p Printer) fields(v reflect.Value) {
	switch v.Type() {
	case codeType:
		if m, ok := v.Addr().Interface().(*Message); ok {
			*m = p.flagged(*m)
		}
		return
	case messageType:
		if m, ok := v.Addr().Interface().(*Statement); ok && m.Code != "" {
			*m = *p.Document(p.flagged(m.Message()))
		}
		return
	case commandType:
		if c, ok := v.Addr().Interface().(*ShellCommand); ok {
			c.Args = p.WithFlags(c.Args)
			c.Shell = Shell(c.Args)
		}
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.String && f.Tag.Get("words") == "mentions":
			v.Field(i).SetString(p.Mentioned(v.Field(i).String()))
		default:
			p.repeat(v.Field(i))
		}
	}
}

// has is true for a command that has the flags already.
func (p Printer) has(after []string) bool {
	return len(after) >= len(p.Flags) && slices.Equal(after[:len(p.Flags)], p.Flags)
}
