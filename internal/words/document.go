// SPDX-License-Identifier: Apache-2.0

package words

// Message is a message in a document: the code and parameters for programs, the text for people.
type Statement struct {
	Code   Code   `json:"code"`
	Params Params `json:"params,omitempty"`
	Text   string `json:"text"`
	// Commands carry out a next step, in this order.
	Commands []ShellCommand `json:"commands,omitempty"`
}

// Command is a command in a document: the arguments for programs, and shell text that is safe to paste.
type ShellCommand struct {
	Args  []string `json:"args"`
	Shell string   `json:"shell"`
}

// Document is the message in a document; nil for an empty one.
func (p Printer) Document(m Message) *Statement {
	if m.IsZero() {
		return nil
	}
	out := &Statement{Code: m.Code, Params: m.Params, Text: p.Text(m)}
	for _, c := range m.Commands {
		c = p.WithFlags(c)
		out.Commands = append(out.Commands, ShellCommand{Args: c, Shell: Shell(c)})
	}
	return out
}

// Documents are the messages in a document.
func (p Printer) Documents(messages []Message) []Statement {
	var out []Statement
	for _, m := range messages {
		if d := p.Document(m); d != nil {
			out = append(out, *d)
		}
	}
	return out
}

// Message is the message that the document was made from; zero for nil.
func (d *Statement) Message() Message {
	if d == nil {
		return Message{}
	}
	m := Message{Code: d.Code, Params: d.Params}
	for _, c := range d.Commands {
		m.Commands = append(m.Commands, c.Args)
	}
	return m
}

// Again puts the flags into statements of a document that was made without them.
func (p Printer) Again(statements ...*Statement) {
	for _, d := range statements {
		if d != nil && d.Code != "" && len(p.Flags) > 0 {
			*d = *p.Document(p.Flagged(d.Message()))
		}
	}
}

// AgainAll is Again of a list.
func (p Printer) AgainAll(list []Statement) {
	for i := range list {
		p.Again(&list[i])
	}
}

// AgainCommand is Again of a command.
func (p Printer) AgainCommand(c *ShellCommand) {
	if c != nil {
		c.Args = p.WithFlags(c.Args)
		c.Shell = Shell(c.Args)
	}
}
