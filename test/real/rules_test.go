// SPDX-License-Identifier: Apache-2.0

package real

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// A rule is one fact that the product relies on, as a recording can show it: source is ScyllaDB's file. get reads what happened; ok is
// false where the recording does not show it. want is what the fact says of a release.
type rule struct {
	name, source string
	derived      bool // follows from the source of ScyllaDB; nobody has run it
	unsimulated  bool // scyllasim does not have it
	get          func(r *Recording) (is string, ok bool)
	want         func(v release.Version) string
}

func is(text string) func(release.Version) string {
	return func(release.Version) string { return text }
}

func since(major, minor int, now, before string) func(release.Version) string {
	return func(v release.Version) string {
		if v.Major > major || v.Major == major && v.Minor >= minor {
			return now
		}
		return before
	}
}

const (
	yes, no = "yes", "no"

	hostIDs = "/storage_service/host_id"
	opMode  = "/storage_service/operation_mode"
	local   = "/storage_service/hostid/local"
)

func yesNo(b bool) string {
	if b {
		return yes
	}
	return no
}

// last is "STATUS BODY" of a node's last answer; a pattern picks a part of it.
func last(situation, node, path, pattern string) func(*Recording) (string, bool) {
	return nth(-1, situation, node, path, pattern)
}

// nth is the same of the answer with this number.
func nth(n int, situation, node, path, pattern string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		all := r.Situation(situation).All(node, path)
		i := n
		if i < 0 {
			i = len(all) - 1
		}
		if i < 0 || i >= len(all) {
			return "", false
		}
		text := strings.TrimSpace(fmt.Sprintf("%d %s", all[i].Status, all[i].Body))
		if found := regexp.MustCompile(pattern).FindString(text); found != "" {
			text = found
		}
		return text, true
	}
}

// ever says whether one of the answers matches: status and body. It needs one answer at least.
func ever(situation, node, path, pattern string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		all := r.Situation(situation).All(node, path)
		return yesNo(slices.ContainsFunc(all, func(a Answer) bool {
			return regexp.MustCompile(pattern).MatchString(fmt.Sprintf("%d %s", a.Status, a.Body))
		})), len(all) > 0
	}
}

// seen is ever that needs the answer itself: one that lasts for less than a look is not evidence of absence.
func seen(situation, node, path, pattern string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		got, _ := ever(situation, node, path, pattern)(r)
		return got, got == yes
	}
}

// final is ever for the last answer alone.
func final(situation, node, path, pattern string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		got, ok := last(situation, node, path, "")(r)
		return yesNo(regexp.MustCompile(pattern).MatchString(got)), ok
	}
}

// either is the first that the recording shows.
func either(all ...func(*Recording) (string, bool)) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		for _, get := range all {
			if got, ok := get(r); ok {
				return got, ok
			}
		}
		return "", false
	}
}

// given is get if the recording shows the condition: its absence is no evidence.
func given(condition, get func(*Recording) (string, bool)) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		if got, ok := condition(r); !ok || got != yes {
			return "", false
		}
		return get(r)
	}
}

// did is whether a step succeeded.
func did(situation, step string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		return yesNo(slices.ContainsFunc(r.Situation(situation).Steps, func(s Step) bool { return s.Do == step && s.Error == "" })), true
	}
}

func never(*Recording) (string, bool) { return "", false }

// restarted is whether supervisord started ScyllaDB again after an end with this code.
func restarted(situation, node string, code int) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		ended := false
		for _, l := range r.Situation(situation).Logs {
			for _, line := range l.Lines {
				switch {
				case l.Node != node:
				case strings.Contains(line, fmt.Sprintf("exited: scylla (exit status %d;", code)):
					ended = true
				case ended && strings.Contains(line, "spawned: 'scylla'"):
					return yes, true
				}
			}
		}
		return no, ended
	}
}

// logSays is whether the node's log has one of the texts.
func logSays(situation, node string, texts ...string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		_, found := r.Situation(situation).Says(node, texts...)
		return yesNo(found), slices.ContainsFunc(r.Situation(situation).Logs, func(l Log) bool { return l.Node == node })
	}
}

// task is what a task of the cluster said, seen from node a.
func task(situation, pattern string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		for _, a := range r.Situation(situation).Answers {
			if a.Node != firstNode || !strings.HasPrefix(a.Path, "/task_manager/") {
				continue
			}
			if m := regexp.MustCompile(pattern).FindStringSubmatch(a.Body); m != nil {
				return m[len(m)-1], true
			}
		}
		return "", false
	}
}

// took is in which range of seconds a step was done.
func took(situation, step string, least, most float64) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		for _, s := range r.Situation(situation).Steps {
			if s.Do == step && s.Error == "" {
				if s.Took >= least && s.Took <= most {
					return fmt.Sprintf("%.0f s to %.0f s", least, most), true
				}
				return fmt.Sprintf("%.1f s", s.Took), true
			}
		}
		return "", false
	}
}

// exit is the exit code of a node's container, the last one in this situation.
func exit(situation, node string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		code := -1
		for _, l := range r.Situation(situation).Logs {
			if l.Node == node && l.Exit >= 0 {
				code = l.Exit
			}
		}
		return fmt.Sprint(code), code >= 0
	}
}

// columns are the keys of the row that a query of all columns printed, of those that the product reads.
func columns(r *Recording) (string, bool) {
	a, ok := r.Situation("flush").Last("b", "volume columns")
	var rows []map[string]any
	if !ok || json.Unmarshal([]byte(a.Body), &rows) != nil || len(rows) != 1 {
		return fmt.Sprintf("%d %.80s", a.Status, a.Body), ok
	}
	var out []string
	for _, c := range []string{"bootstrapped", "host_id"} {
		if _, has := rows[0][c]; has {
			out = append(out, c)
		}
	}
	return strings.Join(out, " "), true
}

// before says whether a path had its first 200 before another had a body.
func before(situation, node, path, other, body string) func(*Recording) (string, bool) {
	return func(r *Recording) (string, bool) {
		s := r.Situation(situation)
		first := func(path, body string) float64 {
			for _, a := range s.All(node, path) {
				if a.Status == 200 && strings.Contains(a.Body, body) {
					return a.At
				}
			}
			return -1
		}
		a, b := first(path, ""), first(other, body)
		return yesNo(a < b), a >= 0 && b >= 0
	}
}
