// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"slices"
)

// Code names one statement or one next step. Codes are CamelCase, and never change their meaning.
type Code string

// Params are a message's parameters by name: strings, numbers, times, lists of strings, and values
// with a String method.
type Params map[string]any

// Command is a program and its arguments, not quoted. Package words formats it as shell text.
type Command []string

// Message is one statement, or one next step with the commands that carry it out. The zero value
// means no message.
type Message struct {
	Code     Code      `json:"code,omitempty"`
	Params   Params    `json:"params,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// New returns a message of a code and its parameters, names and values in turn: New("NodeGone",
// "node", "demo-rack1-0").
func New(c Code, namesAndValues ...any) Message {
	m := Message{Code: c}
	if len(namesAndValues) > 0 {
		m.Params = make(Params, len(namesAndValues)/2)
	}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		name, ok := namesAndValues[i].(string)
		if !ok {
			name = fmt.Sprint(namesAndValues[i])
		}
		m.Params[name] = namesAndValues[i+1]
	}
	return m
}

// Do returns the message with commands added, in the order in which a user runs them.
func (m Message) Do(commands ...Command) Message {
	m.Commands = append(slices.Clip(m.Commands), commands...)
	return m
}

// IsZero reports whether m is the zero Message.
func (m Message) IsZero() bool { return m.Code == "" }

// Key is equal for equal messages. It is only for comparing, not for display.
func (m Message) Key() string {
	if m.IsZero() {
		return ""
	}
	return fmt.Sprint(m.Code, m.Params, m.Commands) // fmt prints maps in the order of their keys
}

// Kubectl returns a kubectl command in a namespace; an empty namespace is left out.
func Kubectl(namespace string, args ...string) Command {
	c := append(Command{"kubectl"}, args...)
	if namespace != "" {
		c = append(c, "-n", namespace)
	}
	return c
}

// Scylla returns a command of the plugin in a namespace; an empty namespace is left out.
func Scylla(namespace string, args ...string) Command {
	return Kubectl(namespace, append([]string{"scylla"}, args...)...)
}
