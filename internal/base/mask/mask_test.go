// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A rule that is left out because its text lacks what the rule cannot do without would have taken nothing out.
func TestRulesThatAreLeftOutFindNothing(t *testing.T) {
	t.Parallel()
	var pieces []string
	for word := range secretWords {
		pieces = append(pieces, word, strings.ToUpper(word), "x_"+word, "my"+word)
	}
	for word := range keyBefore {
		pieces = append(pieces, word+"_key", word+"Key", strings.ToUpper(word)+"-KEY")
	}
	pieces = append(pieces, tokenStarts...)
	pieces = append(pieces, "-----BEGIN RSA PRIVATE KEY-----", "https://u:p@h/", "Bearer ", "AUTHORIZATION: Basic ", "=", ": ", " ", `"`, "--", "abcdefgh0123456789ABCDEFGHabcdefgh0123456789", "hostID", "UP", ".", "\u212A", "tok\u212Aen", "ä", "\xff", "(", ")", "-.-")
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), "")
		all := new(masker)
		want := s
		if len(s) >= 5 && (strings.ContainsAny(s, "=: \t,") || knownTokens().MatchString(s)) {
			want = all.replace(privateKey(), want, Redacted)
			want = all.replace(urlCredentials(), want, "${1}"+Redacted+"@")
			want = all.authorized(want)
			want = all.replace(knownTokens(), want, Redacted)
			want = all.everyNamedValue(all.commandLines(all.statements(want)))
		}
		if got := Text(s); got != want {
			t.Errorf("%q became %q, and %q by all rules", s, got, want)
		}
	})
}

// everyNamedValue is namedValues without a step over names that cannot be secrets.
func (r *masker) everyNamedValue(s string) string {
	var b strings.Builder
	s0 := s
	for {
		at := named().FindStringSubmatchIndex(s)
		if at == nil {
			return b.String() + s
		}
		name, sep, rest := s[at[2]:at[3]], s[at[4]:at[5]], s[at[1]:]
		b.WriteString(s[:at[1]])
		s = rest
		if !SecretName(name) || strings.TrimSpace(sep) == "" && !strings.HasPrefix(name, "-") {
			continue
		}
		n := valueLength(rest)
		n -= closers(s0[:len(s0)-len(rest)], rest[:n])
		value := rest[:n]
		if n == 0 || schemeRedacted().MatchString(rest) || strings.Contains(value, Redacted) || strings.HasPrefix(rest, Redacted) || strings.TrimSpace(sep) == "" && strings.HasPrefix(value, "-") {
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
