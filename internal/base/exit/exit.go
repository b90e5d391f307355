// SPDX-License-Identifier: Apache-2.0

// Package exit defines how a command ends: the exit codes, the errors that map to them, and the one
// sentence for a Kubernetes error. It prints nothing and never calls os.Exit: only the mains do.
package exit

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The exit codes. They are documented, tested and never reused for anything else.
const (
	CodeOK          = 0   // yes
	CodeError       = 1   // something failed
	CodeUsage       = 2   // wrong usage, or refused
	CodeNotMet      = 3   // the checked condition is false: unhealthy, barrier closed
	CodeTimedOut    = 4   // the condition stayed false until --timeout
	CodeInterrupted = 130 // the user pressed Ctrl-C
)

// Error carries an exit code and a hint with the error. Its text is only the error's text.
type Error struct {
	Code int
	// Err may be nil: the output is then complete (the verdict is on standard output) and nothing
	// is printed.
	Err error
	// Hint is one sentence on what to do, without "hint:"; Step is the same as a code, and is
	// printed after it.
	Hint string
	Step words.Message
}

// hint returns what to do, with the commands as p prints them.
func (e *Error) hint(p words.Printer) string {
	text := p.Text(e.Step)
	if e.Hint == "" || text == "" {
		return e.Hint + text
	}
	return e.Hint + ": " + text
}

// Error returns the text of the wrapped error, empty if there is none.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Usage marks err as wrong usage: exit code 2.
func Usage(err error) error { return &Error{Code: CodeUsage, Err: err} }

// Usagef is Usage with a formatted error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Refused marks err as a refusal: the command was valid, and was deliberately not carried out. Exit
// code 2.
func Refused(err error) error { return &Error{Code: CodeUsage, Err: err} }

// Refusedf is Refused with a formatted error.
func Refusedf(format string, args ...any) error { return Refused(fmt.Errorf(format, args...)) }

// ConditionNotMet marks err as "the answer is no": exit code 3. With nil nothing more is printed.
func ConditionNotMet(err error) error { return &Error{Code: CodeNotMet, Err: err} }

// TimedOut marks err as "not within the time given": exit code 4.
func TimedOut(err error) error { return &Error{Code: CodeTimedOut, Err: err} }

// Interrupted marks err as ended by the user: exit code 130.
func Interrupted(err error) error { return &Error{Code: CodeInterrupted, Err: err} }

// WithHint adds a hint to err, with the command that carries it out, and keeps its exit code. An
// existing hint is kept, because it is nearer to the cause.
func WithHint(err error, hint string, command ...string) error {
	var step words.Message
	if len(command) > 0 {
		step = words.New(words.SayCommand).Do(command)
	}
	return with(err, Error{Hint: hint, Step: step})
}

// WithStep is WithHint with a step.
func WithStep(err error, step words.Message) error { return with(err, Error{Step: step}) }

func with(err error, e Error) error {
	if err == nil || Hint(err) != "" {
		return err
	}
	e.Code, e.Err = Code(err), err
	return &e
}

// Code returns the exit code of err: 0 for nil, 1 for an error without a code.
func Code(err error) int {
	if err == nil {
		return CodeOK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if errors.Is(err, context.Canceled) {
		return CodeInterrupted
	}
	return CodeError
}

// Hint returns the hint nearest to the top of err, or empty.
func Hint(err error) string { return hint(err, words.Printer{}) }

func hint(err error, p words.Printer) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if text := e.hint(p); text != "" {
			return text
		}
		err = e.Err
	}
	return ""
}

// Message returns the text for standard error, one or two lines without a final newline; empty if
// there is nothing to print.
func Message(err error) string { return MessageBy(err, words.Printer{}) }

// MessageBy is Message with the hint's commands as p prints them.
func MessageBy(err error, p words.Printer) string {
	if err == nil {
		return ""
	}
	described := Describe(err)
	text, hint := described.Error(), hint(described, p)
	switch {
	case Code(err) == CodeInterrupted:
		return "interrupted"
	case text == "":
		return ""
	case hint == "":
		return "error: " + text
	default:
		return "error: " + text + "\n" + hint
	}
}
