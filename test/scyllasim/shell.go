// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ShellCommand is sh and bash in an image that has no shell. It runs `-c SCRIPT` (also after options such as -eu, -x, -o pipefail and
// -O inherit_errexit) for one-liners and a few lines of them.
//
// Known: simple commands; ; newline && || and !; single and double quotes, backslash; # comments; $? ; unquoted globs (an unmatched one
// stays as it is); > >> 2> 2>> &> 2>&1 >&2 and <FILE; -e; the builtins echo, printf without escapes beyond \n and %s, cat, mkdir [-p],
// touch, rm [-f], sleep, test and [, true, false, :, exit, exec, set; scylla and nodetool run in the same process, anything else as a program.
//
// Not known, and refused with exit code 2 rather than guessed: variables other than $?, command substitution, pipes, background jobs,
// subshells, functions, if, for, while, case, here documents, trap.
func ShellCommand(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	sh := &shell{stdin: stdin, stdout: stdout, stderr: stderr}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-O" || a == "-o" || a == "+O" || a == "+o":
			i++
		case len(a) > 1 && a[0] == '-':
			sh.errexit = sh.errexit || strings.Contains(a, "e")
			takes := strings.Count(a, "o") + strings.Count(a, "O")
			if strings.Contains(a, "c") {
				if i+1+takes >= len(args) {
					_, _ = fmt.Fprintln(stderr, "sh: -c: option requires an argument")
					return 2
				}
				return sh.run(args[i+1+takes])
			}
			i += takes
		default:
			_, _ = fmt.Fprintf(stderr, "sh: %s: this shell runs -c only\n", a)
			return 2
		}
	}
	_, _ = fmt.Fprintln(stderr, "sh: this shell runs -c only")
	return 2
}

type shell struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	errexit        bool
	status         int
	exited         bool
}

// word is a token: an operator, or text of which some characters are quoted and thus no glob.
type word struct {
	op   string
	text string
	glob string // text with quoted glob characters escaped
	wild bool
}

func (s *shell) run(script string) int {
	words, err := s.lex(script)
	if err != nil {
		_, _ = fmt.Fprintln(s.stderr, "sh:", err)
		return 2
	}
	link := ";"
	for len(words) > 0 && !s.exited {
		end := slices.IndexFunc(words, func(w word) bool { return w.op == ";" || w.op == "&&" || w.op == "||" })
		var next string
		cmd := words
		if end >= 0 {
			cmd, next, words = words[:end], words[end].op, words[end+1:]
		} else {
			words = nil
		}
		if len(cmd) > 0 && (link == ";" || (link == "&&") == (s.status == 0)) {
			st, err := s.simple(cmd)
			if err != nil {
				_, _ = fmt.Fprintln(s.stderr, "sh:", err)
				st = 2
				s.exited = true
			}
			s.status = st
			if st != 0 && s.errexit && next != "&&" && next != "||" && cmd[0].text != "!" {
				break
			}
		}
		if next != "" && (len(cmd) > 0 || next != ";") {
			link = next
		}
	}
	return s.status
}

func (s *shell) lex(in string) ([]word, error) {
	var out []word
	var text, glob strings.Builder
	started, wild, quoted := false, false, false
	put := func(c byte, lit bool) {
		started = true
		text.WriteByte(c)
		if lit && strings.IndexByte(`*?[\`, c) >= 0 {
			glob.WriteByte('\\')
		}
		glob.WriteByte(c)
	}
	var bad error
	flush := func() {
		if started {
			if !quoted && len(out) >= 0 && isKeyword(text.String()) && atCommandStart(out) {
				bad = fmt.Errorf("%q is not supported", text.String())
			}
			out = append(out, word{text: text.String(), glob: glob.String(), wild: wild})
		}
		text.Reset()
		glob.Reset()
		started, wild, quoted = false, false, false
	}
	for i := 0; i < len(in); i++ {
		c := in[i]
		rest := in[i:]
		switch {
		case c == '\\':
			if i++; i < len(in) && in[i] != '\n' {
				quoted = true
				put(in[i], true)
			}
		case c == '\'':
			j := strings.IndexByte(in[i+1:], '\'')
			if j < 0 {
				return nil, errors.New("unterminated single quote")
			}
			started, quoted = true, true
			for k := i + 1; k < i+1+j; k++ {
				put(in[k], true)
			}
			i += j + 1
		case c == '"':
			started, quoted = true, true
			for i++; ; i++ {
				if i >= len(in) {
					return nil, errors.New("unterminated double quote")
				}
				if in[i] == '"' {
					break
				}
				if in[i] == '\\' && i+1 < len(in) && strings.IndexByte("\"\\$`", in[i+1]) >= 0 {
					i++
					put(in[i], true)
					continue
				}
				if in[i] == '`' {
					return nil, errors.New("command substitution is not supported")
				}
				if in[i] == '$' {
					if i+1 < len(in) && in[i+1] == '?' {
						text.WriteString("\x00?")
						glob.WriteString("\x00?")
						i++
						continue
					}
					return nil, errors.New("variables other than $? are not supported")
				}
				put(in[i], true)
			}
		case c == '$':
			if i+1 >= len(in) || in[i+1] != '?' {
				return nil, errors.New("variables other than $? are not supported")
			}
			started = true
			text.WriteString("\x00?")
			glob.WriteString("\x00?")
			i++
		case c == '#' && !started:
			if j := strings.IndexByte(rest, '\n'); j >= 0 {
				i += j - 1
			} else {
				i = len(in)
			}
		case c == ' ' || c == '\t':
			flush()
		case c == '\n' || (c == ';' && !strings.HasPrefix(rest, ";;")):
			flush()
			out = append(out, word{op: ";"})
		case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||"):
			flush()
			out = append(out, word{op: rest[:2]})
			i++
		case c == '>' || c == '<' || strings.HasPrefix(rest, "&>"):
			fd := ""
			if !quoted && (text.String() == "1" || text.String() == "2") {
				fd = text.String()
				text.Reset()
				glob.Reset()
				started = false
			}
			flush()
			op := ""
			for _, o := range []string{"&>", ">&2", ">&1", ">>", ">"} {
				if strings.HasPrefix(rest, o) {
					op = o
					break
				}
			}
			switch {
			case c == '<' && !strings.HasPrefix(rest, "<<") && fd == "":
				op = "<"
			case c == '<':
				return nil, errors.New("here documents are not supported")
			}
			i += len(op) - 1
			if fd == "" && c == '>' {
				fd = "1"
			}
			out = append(out, word{op: fd + op})
		case strings.IndexByte("|&(){}`", c) >= 0:
			return nil, fmt.Errorf("%q is not supported", string(c))
		case c == '*' || c == '?' || c == '[':
			wild = wild || c != '[' || strings.Contains(rest, "]")
			put(c, false)
		default:
			put(c, false)
		}
	}
	flush()
	return out, bad
}

func isKeyword(w string) bool {
	return slices.Contains([]string{"if", "then", "for", "while", "until", "case", "function", "trap", "[["}, w)
}

func atCommandStart(out []word) bool {
	return len(out) == 0 || slices.Contains([]string{";", "&&", "||"}, out[len(out)-1].op)
}

func (s *shell) expand(w word) []string {
	code := strconv.Itoa(s.status)
	text := strings.ReplaceAll(w.text, "\x00?", code)
	if w.wild {
		if m, err := filepath.Glob(strings.ReplaceAll(w.glob, "\x00?", code)); err == nil && len(m) > 0 {
			return m
		}
	}
	return []string{text}
}

func (s *shell) simple(words []word) (int, error) {
	in, out, errOut := s.stdin, s.stdout, s.stderr
	var args []string
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.op == "" {
			args = append(args, s.expand(w)...)
			continue
		}
		switch w.op {
		case "2>&1":
			errOut = out
			continue
		case "1>&2":
			out = errOut
			continue
		case "1>&1", "2>&2":
			continue
		}
		i++
		if i >= len(words) || words[i].op != "" {
			return 2, errors.New("redirection without a file")
		}
		name := s.expand(words[i])[0]
		flag := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
		switch {
		case w.op == "<":
			flag = os.O_RDONLY
		case strings.HasSuffix(w.op, ">>"):
			flag = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		f, err := os.OpenFile(name, flag, 0o644)
		if err != nil {
			_, _ = fmt.Fprintln(errOut, "sh:", err)
			return 1, nil
		}
		files = append(files, f)
		switch {
		case w.op == "<":
			in = f
		case strings.HasPrefix(w.op, "2"):
			errOut = f
		case strings.HasPrefix(w.op, "&"):
			out, errOut = f, f
		default:
			out = f
		}
	}
	negate := false
	for len(args) > 0 && (args[0] == "!" || args[0] == "exec") {
		if args[0] == "!" {
			negate = !negate
		} else {
			s.exited = true // whatever exec starts is the shell's last command
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0, nil
	}
	st := s.command(args, in, out, errOut)
	if negate {
		if st == 0 {
			return 1, nil
		}
		return 0, nil
	}
	return st, nil
}

func (s *shell) command(args []string, in io.Reader, out, errOut io.Writer) int {
	fail := func(err error) int {
		if err == nil {
			return 0
		}
		_, _ = fmt.Fprintf(errOut, "%s: %v\n", args[0], err)
		return 1
	}
	rest := args[1:]
	switch args[0] {
	case "echo":
		nl := "\n"
		if len(rest) > 0 && rest[0] == "-n" {
			nl, rest = "", rest[1:]
		}
		_, err := io.WriteString(out, strings.Join(rest, " ")+nl)
		return fail(err)
	case "printf":
		if len(rest) == 0 {
			return fail(errors.New("usage: printf FORMAT [ARG...]"))
		}
		text := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(rest[0])
		for _, a := range rest[1:] {
			text = strings.Replace(text, "%s", a, 1)
		}
		_, err := io.WriteString(out, text)
		return fail(err)
	case "true", ":":
		return 0
	case "false":
		return 1
	case "exit":
		s.exited = true
		if len(rest) == 0 {
			return s.status
		}
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			return 2
		}
		return n & 255
	case "set":
		for _, a := range rest {
			if strings.HasPrefix(a, "-") && strings.Contains(a, "e") {
				s.errexit = true
			}
			if strings.HasPrefix(a, "+") && strings.Contains(a, "e") {
				s.errexit = false
			}
		}
		return 0
	case "mkdir":
		for _, d := range rest {
			mk := os.Mkdir
			if slices.Contains(rest, "-p") {
				mk = os.MkdirAll
			}
			if d == "-p" {
				continue
			}
			if err := mk(d, 0o755); err != nil {
				return fail(err)
			}
		}
		return 0
	case "touch":
		for _, f := range rest {
			h, err := os.OpenFile(f, os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return fail(err)
			}
			_ = h.Close()
		}
		return 0
	case "rm":
		for _, f := range rest {
			if f == "-f" {
				continue
			}
			if err := os.Remove(f); err != nil && (!slices.Contains(rest, "-f") || !errors.Is(err, os.ErrNotExist)) {
				return fail(err)
			}
		}
		return 0
	case "cat":
		if len(rest) == 0 {
			_, err := io.Copy(out, in)
			return fail(err)
		}
		for _, f := range rest {
			b, err := os.ReadFile(f)
			if err != nil {
				return fail(err)
			}
			if _, err := out.Write(b); err != nil {
				return fail(err)
			}
		}
		return 0
	case "sleep":
		if len(rest) != 1 {
			return fail(errors.New("usage: sleep SECONDS"))
		}
		sec, err := strconv.ParseFloat(strings.TrimSuffix(rest[0], "s"), 64)
		if err != nil {
			return fail(err)
		}
		time.Sleep(time.Duration(sec * float64(time.Second)))
		return 0
	case "test", "[":
		if args[0] == "[" {
			if len(rest) == 0 || rest[len(rest)-1] != "]" {
				return 2
			}
			rest = rest[:len(rest)-1]
		}
		return testExpr(rest)
	}
	switch commandName(args[0]) {
	case "scylla":
		if len(rest) > 0 && (rest[0] == "sstable" || rest[0] == "--version") {
			return ServerCommand(context.Background(), rest, os.Getenv, out, errOut)
		}
	case "nodetool":
		return NodetoolCommand(context.Background(), rest, out, errOut)
	case "sh":
		return ShellCommand(rest, in, out, errOut)
	}
	cmd := exec.Command(args[0], rest...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
	err := cmd.Run()
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ee):
		return ee.ExitCode() & 255
	case errors.Is(err, os.ErrPermission):
		_ = fail(err)
		return 126
	default:
		_ = fail(err)
		return 127
	}
}

func testExpr(a []string) int {
	result := func(ok bool) int {
		if ok {
			return 0
		}
		return 1
	}
	if len(a) > 0 && a[0] == "!" {
		return result(testExpr(a[1:]) != 0)
	}
	switch len(a) {
	case 1:
		return result(a[0] != "")
	case 2:
		fi, err := os.Stat(a[1])
		switch a[0] {
		case "-f":
			return result(err == nil && fi.Mode().IsRegular())
		case "-d":
			return result(err == nil && fi.IsDir())
		case "-e":
			return result(err == nil)
		case "-s":
			return result(err == nil && fi.Size() > 0)
		case "-n":
			return result(a[1] != "")
		case "-z":
			return result(a[1] == "")
		}
	case 3:
		switch a[1] {
		case "=", "==":
			return result(a[0] == a[2])
		case "!=":
			return result(a[0] != a[2])
		case "-eq", "-ne":
			x, e1 := strconv.Atoi(a[0])
			y, e2 := strconv.Atoi(a[2])
			if e1 == nil && e2 == nil {
				return result((x == y) == (a[1] == "-eq"))
			}
		}
	}
	return 2
}
