// SPDX-License-Identifier: Apache-2.0

package lategc

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain lets the test binary be the program that is looked at: GOGC and the collector are the process's own.
func TestMain(m *testing.M) {
	if os.Getenv("LATEGC_CHILD") != "" {
		before := debug.SetGCPercent(50)
		debug.SetGCPercent(before)
		runtime.GC()
		if usual != nil {
			<-usual
		}
		after := debug.SetGCPercent(50)
		os.Stdout.WriteString(percent(before) + " then " + percent(after) + "\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func percent(p int) string {
	return map[int]string{percentAtStart: "late", percentLater: "usual", 77: "as asked"}[p]
}

func TestTheFirstCollectionComesLateAndTheRestAsUsual(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"by itself":              {want: "late then usual\n"},
		"a person has set GOGC":  {env: []string{"GOGC=77"}, want: "as asked then as asked\n"},
		"an empty GOGC is unset": {env: []string{"GOGC="}, want: "late then usual\n"},
	} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			child := exec.Command(self)
			child.Env = append(tc.env, "LATEGC_CHILD=1")
			out, err := child.Output()
			if err != nil {
				t.Fatalf("start %s: %v", self, err)
			}
			if string(out) != tc.want {
				t.Errorf("collector of the child: %q, want %q", out, tc.want)
			}
		})
	}
}
