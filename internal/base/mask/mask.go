// SPDX-License-Identifier: Apache-2.0

// Package mask removes secrets from texts, for archives and for everything that the agents write.
package mask

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// Text removes likely secrets from a text: credentials in URLs, tokens and password hashes of known
// forms, private keys, passwords in CQL statements, and the values of names such as password or
// token.
func Text(s string) string {
	s, _ = Counted(s)
	return s
}

// Counted is Text and the number of removed values.
func Counted(s string) (text string, removed int) {
	var r masker
	text = r.text(s)
	return text, int(r)
}

// Redacted replaces a removed value.
const Redacted = "[redacted]"

// masker counts the removed values.
type masker int

func (r *masker) out() string {
	*r++
	return Redacted
}

// nameWords splits a name at characters other than letters and digits, and before a capital after a
// small letter.
func nameWords(name string) []string {
	var out []string
	start, last := -1, rune(0)
	for i, c := range name {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		if start >= 0 && (!letter || unicode.IsUpper(c) && unicode.IsLower(last)) {
			out = append(out, strings.ToLower(name[start:i]))
			start = -1
		}
		if letter && start < 0 {
			start = i
		}
		last = c
	}
	if start >= 0 {
		out = append(out, strings.ToLower(name[start:]))
	}
	return out
}

var (
	secretWords = map[string]bool{
		"password": true, "passwords": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true,
		"secret": true, "secrets": true, "token": true,
		"apikey": true, "accesskey": true, "secretkey": true, "privatekey": true, "credential": true,
		"credentials": true, "creds": true,
		"authorization": true, "authtoken": true, "bearer": true, "cookie": true, "jwt": true, "dsn": true,
		"pass": true, "psk": true, "salt": true, "salted": true, "pw": true,
		"authkey": true, "pgpassword": true, "signature": true, "sig": true,
	}
	keyBefore = map[string]bool{"api": true, "access": true, "secret": true, "private": true, "encryption": true,
		"signing": true, "auth": true, "account": true, "ssh": true, "tls": true, "master": true}
)

// SecretName reports whether a name's value is a secret: password, API_KEY, authToken. ScyllaDB's
// tokens (num_tokens, initial_token) are ring positions, not secrets.
func SecretName(name string) bool {
	w := nameWords(name)
	for i, word := range w {
		switch {
		case word == "token" && i > 0 && w[i-1] == "initial":
		case secretWords[word]:
			return true
		case word == "key" && i > 0 && keyBefore[w[i-1]]:
			return true
		}
	}
	return slices.ContainsFunc(w, func(word string) bool {
		return strings.HasSuffix(word, "password") || strings.HasSuffix(word, "passwd") ||
			strings.HasSuffix(word, "secret") || strings.HasSuffix(word, "apikey") ||
			strings.HasSuffix(word, "token") && word != "token"
	})
}

var (
	// userinfo of a URL, up to the last @ before the path
	urlCredentials = pattern.Lazy(`([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s"'<>]*@`)
	privateKey     = pattern.Lazy(
		`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)
	knownTokens = pattern.Lazy(
		`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bsk-[A-Za-z0-9_-]{20,}|\$(?:1|2[abxy]?|5|6|y)\$[./A-Za-z0-9=,$]{8,}`)
	// passwordIs precedes the string of a CQL statement: CREATE USER a WITH PASSWORD 'b'.
	passwordIs = pattern.Lazy(`(?i)\bpassword\s*=?\s*('|\$\$)`)
	// cqlshFlag precedes the password on a command line of cqlsh: -p b, "-p", "b" and -pb.
	cqlshFlag     = pattern.Lazy(`[\s"'\x60,\[]-p(\\*["']?[\s,=]*)`)
	authorization = pattern.Lazy(
		`(?i)\b(bearer\s+|authorization\\?["']?\s*[:=]\s*\\?["']?(?:(?:basic|bearer|digest|token)\s+)?)[^\s"'\\,;]+`)
	schemeRedacted = pattern.Lazy(`^(?i:basic|bearer|digest|token)\s+\[redacted\]`)
	// named matches NAME=, NAME: and --NAME with a space; valueLength finds the end of the value
	named = pattern.Lazy(`(-{0,2}[\pL\pN_][\pL\pN_.-]*)(\\*["']?[ \t]*(?:=|:)[ \t]*|[ \t]+)`)
)

func (r *masker) text(s string) string {
	// Nearly all texts are names, times and states. Each rule below requires one of these
	// characters.
	if len(s) < 5 || !strings.ContainsAny(s, "=: \t,") && !knownTokens().MatchString(s) {
		return s
	}
	// The row of a large cluster is a long text without secrets. The search for a required
	// substring is a hundred times faster than the regular expression.
	if strings.Contains(s, "PRIVATE KEY") {
		s = r.replace(privateKey(), s, Redacted)
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		s = r.replace(urlCredentials(), s, "${1}"+Redacted+"@")
	}
	if lower := strings.ToLower(s); strings.Contains(lower, "bearer") || strings.Contains(lower, "authorization") {
		s = r.authorized(s)
	}
	if containsAny(s, tokenStarts) {
		s = r.replace(knownTokens(), s, Redacted)
	}
	return r.namedValues(r.commandLines(r.statements(s)))
}

// statements removes the passwords of CQL statements: the string after PASSWORD, up to its end or
// the end of the text.
func (r *masker) statements(s string) string {
	if !containsAny(s, []string{"'", "$$"}) {
		return s
	}
	var b strings.Builder
	for {
		at := passwordIs().FindStringSubmatchIndex(s)
		if at == nil {
			return b.String() + s
		}
		quote, rest := s[at[2]:at[3]], s[at[2]:]
		n := valueLength(rest)
		if quote == "$$" {
			n = len(rest)
			if end := strings.Index(rest[2:], "$$"); end >= 0 {
				n = end + 4
			}
		}
		b.WriteString(s[:at[2]])
		if value := strings.Trim(rest[:n], "'$"); value == "" || value == Redacted {
			b.WriteString(rest[:n])
		} else {
			b.WriteString(quote + r.out() + quote)
		}
		s = rest[n:]
	}
}

// commandLines removes the passwords from command lines of cqlsh, each up to the end of its line.
func (r *masker) commandLines(s string) string {
	i := strings.Index(s, "cqlsh")
	if i < 0 {
		return s
	}
	line, after := s[i:], ""
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line, after = line[:end], line[end:]
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for at := cqlshFlag().FindStringIndex(line); at != nil; at = cqlshFlag().FindStringIndex(line) {
		rest := line[at[1]:]
		n := valueLength(rest)
		b.WriteString(line[:at[1]])
		if n > 0 && !strings.HasPrefix(strings.Trim(rest[:n], `"'\`), Redacted) {
			b.WriteString(r.out())
		} else {
			b.WriteString(rest[:n])
		}
		line = rest[n:]
	}
	return b.String() + line + r.commandLines(after)
}

// tokenStarts are texts; every match of knownTokens contains one.
var tokenStarts = []string{"eyJ", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
	"$1$", "$2$", "$2a$", "$2b$", "$2x$", "$2y$", "$5$", "$6$", "$y$", "xox", "AIza", "sk-"}

// secretParts are lower-case texts; every SecretName contains one. They are its shortest words.
var secretParts = sync.OnceValue(func() []string {
	all := append(slices.Collect(maps.Keys(secretWords)), "key")
	var out []string
	for _, word := range all {
		if !slices.ContainsFunc(all,
			func(other string) bool { return other != word && strings.Contains(word, other) }) {
			out = append(out, word)
		}
	}
	return out
})

func containsAny(s string, list []string) bool {
	return slices.ContainsFunc(list, func(part string) bool { return strings.Contains(s, part) })
}

func (r *masker) replace(p *regexp.Regexp, s, with string) string {
	out := p.ReplaceAllString(s, with)
	if out != s {
		*r++
	}
	return out
}

// authorized removes the values of Authorization headers and of Bearer.
func (r *masker) authorized(s string) string {
	var b strings.Builder
	last := 0
	for _, at := range authorization().FindAllStringSubmatchIndex(s, -1) {
		begin, end := at[3], at[1]
		end -= closers(s[:begin], s[begin:end])
		if s[begin:end] == Redacted {
			continue
		}
		b.WriteString(s[last:begin] + r.out())
		last = end
	}
	return b.String() + s[last:]
}

// namedValues removes the values of secret names, quoted or not.
func (r *masker) namedValues(s string) string {
	var b strings.Builder
	s0, next := s, nextName(s)
	for {
		// Skip to the next possible name: the row of a large cluster has a thousand other ones.
		skip := next(len(s0) - len(s))
		if skip < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:skip])
		s = s[skip:]
		at := named().FindStringSubmatchIndex(s)
		if at == nil {
			b.WriteString(s)
			return b.String()
		}
		name, sep := s[at[2]:at[3]], s[at[4]:at[5]]
		rest := s[at[1]:]
		b.WriteString(s[:at[1]])
		s = rest
		// Without = or : only a flag has a value.
		if !SecretName(name) || strings.TrimSpace(sep) == "" && !strings.HasPrefix(name, "-") {
			continue
		}
		n := valueLength(rest)
		n -= closers(s0[:len(s0)-len(rest)], rest[:n])
		value := rest[:n]
		if n == 0 || schemeRedacted().MatchString(rest) || strings.Contains(value, Redacted) ||
			strings.HasPrefix(rest, Redacted) || strings.TrimSpace(sep) == "" && strings.HasPrefix(value, "-") {
			continue
		}
		quote := ""
		if value[0] == '"' || value[0] == '\'' {
			quote = value[:1]
		}
		b.WriteString(quote + r.out() + quote)
		s = rest[n:]
	}
}

// nextName returns a function of an increasing offset in s. It returns the number of bytes up to
// the next possible SecretName; -1 if there is none.
func nextName(s string) func(from int) int {
	// ASCII in lower case, with a different length
	if strings.Contains(s, "\u212a") || strings.Contains(s, "\u0130") {
		return func(int) int { return 0 }
	}
	lower := []byte(s)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	parts := secretParts()
	places := make([]int, len(parts)) // the next offset of each part; len(lower) if there is none
	for i := range places {
		places[i] = -1
	}
	return func(from int) int {
		first := len(lower)
		for i, part := range parts {
			if places[i] < from {
				places[i] = len(lower)
				if at := bytes.Index(lower[from:], []byte(part)); at >= 0 {
					places[i] = from + at
				}
			}
			first = min(first, places[i])
		}
		if first == len(lower) {
			return -1
		}
		// The name begins after the last character before that part that cannot be in a name.
		begin := strings.LastIndexFunc(s[from:first], func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !strings.ContainsRune("_.-", c)
		})
		if begin < 0 {
			return 0
		}
		_, size := utf8.DecodeRuneInString(s[from+begin:])
		return begin + size
	}
}

// closers returns the number of bytes at the end of value that close brackets opened before it,
// with their punctuation: 2 in "(password=x),".
func closers(before, value string) int {
	open := 0
	for _, c := range before[strings.LastIndexByte(before, '\n')+1:] {
		switch {
		case strings.ContainsRune("([{", c):
			open++
		case strings.ContainsRune(")]}", c):
			open = max(0, open-1)
		}
	}
	n := 0
	for i := len(value) - 1; i > 0 && open > 0 && strings.IndexByte(")]}.,;:", value[i]) >= 0; i-- {
		if strings.IndexByte(")]}", value[i]) >= 0 {
			n, open = len(value)-i, open-1
		}
	}
	return n
}

// valueLength returns the bytes of the value at the start of s: quoted, or up to a space or quote.
func valueLength(s string) int {
	if s == "" {
		return 0
	}
	if q := s[0]; q == '"' || q == '\'' {
		for i := 1; i < len(s); i++ {
			switch {
			case s[i] == '\\' && q == '"', q == '\'' && strings.HasPrefix(s[i:], "''"):
				i++
			case s[i] == q:
				return i + 1
			}
		}
		return len(s)
	}
	start := 0
	for strings.HasPrefix(s[start:], `\`) {
		start++ // an escaped quote: the text is in a string of another language
	}
	if start > 0 && start < len(s) && (s[start] == '"' || s[start] == '\'') {
		start++
	} else {
		start = 0
	}
	// Removing too much is safer than too little: passwords contain punctuation.
	end := strings.IndexAny(s[start:], " \t\r\n\"'`\\")
	if end < 0 {
		return len(s)
	}
	return start + end
}
