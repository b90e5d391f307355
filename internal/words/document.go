// SPDX-License-Identifier: Apache-2.0

package words

import (
	"bytes"
	"encoding/json"
	"time"
)

// MarshalJSON returns the message for a document: code and parameters for programs, the text for
// people, and the commands of a next step; null for the zero message.
func (m Message) MarshalJSON() ([]byte, error) { return m.document(Text(m)) }

func (m Message) document(text string) ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return marshal(struct {
		Code     Code      `json:"code"`
		Params   Params    `json:"params,omitempty"`
		Text     string    `json:"text"`
		Commands []Command `json:"commands"`
	}{m.Code, m.Params, text, append([]Command{}, m.Commands...)})
}

// Step is a next step in a document; the zero Step has no text and no commands.
type Step Message

// MarshalJSON returns the step's document, which is never null.
func (s Step) MarshalJSON() ([]byte, error) {
	if Message(s).IsZero() {
		return []byte(`{"code":"","text":"","commands":[]}`), nil
	}
	return Message(s).MarshalJSON()
}

// UnmarshalJSON reads a message of a document, and a Coded. It ignores the text, which is generated
// again.
func (m *Message) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*Coded)(m)) }

// About is a message in a document whose text begins with a subject that its sentence omits.
type About struct {
	Subject string
	Message
}

// MarshalJSON returns the message's document, with the subject in its text.
func (a About) MarshalJSON() ([]byte, error) { return a.document(Of(a.Subject, a.Message)) }

// Coded is a message without its text, as in annotations and for messages among parameters.
type Coded Message

// MarshalJSON returns the commands as lists of arguments.
func (c Coded) MarshalJSON() ([]byte, error) {
	var commands [][]string
	for _, command := range c.Commands {
		commands = append(commands, command)
	}
	return marshal(struct {
		Code     Code       `json:"code,omitempty"`
		Params   Params     `json:"params,omitempty"`
		Commands [][]string `json:"commands,omitempty"`
	}{c.Code, c.Params, commands})
}

// MarshalJSON returns messages among the parameters without their texts, which are part of the
// whole text, and durations in display form. So a message that is read again has the same text.
func (p Params) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(p))
	for name, v := range p {
		switch v := v.(type) {
		case Message:
			out[name] = Coded(v)
		case []Message:
			list := make([]Coded, len(v))
			for i := range v {
				list[i] = Coded(v[i])
			}
			out[name] = list
		case time.Duration:
			out[name] = Age(v)
		default:
			out[name] = v
		}
	}
	return marshal(out)
}

// MarshalJSON returns the command for a document: the arguments for programs, and shell text to
// paste.
func (c Command) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Args  []string `json:"args"`
		Shell string   `json:"shell"`
	}{c, Shell(c)})
}

// UnmarshalJSON reads a command of a document, and one of a Coded.
func (c *Command) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*[]string)(c))
	}
	var in struct{ Args []string }
	err := json.Unmarshal(data, &in)
	*c = in.Args
	return err
}

// marshal leaves it to the outer encoder whether <, > and & are escaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
