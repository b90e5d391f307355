// SPDX-License-Identifier: Apache-2.0

// Package memory runs a test in a process of its own and bounds the memory that the process may take.
package memory

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

const childEnv = "TEST_MEMORY_CHILD"

// raceFactor is how much more memory a binary with the race detector may take: the detector keeps a shadow of all memory.
const raceFactor = 4

// Under runs f in a child process and fails when the process's resident memory ever went above most bytes, the test binary itself (some 30 to 60 MiB) included. Go's memory
// limit is set below that, so that garbage is collected in time and only live memory counts. With the race detector the bound is raceFactor times as high, and proves little:
// `make test` runs the tests named ...LittleMemory without it.
func Under(t *testing.T, most int64, f func(t *testing.T)) {
	t.Helper()
	if raceDetector {
		most *= raceFactor
	}
	if os.Getenv(childEnv) == t.Name() {
		debug.SetMemoryLimit(most * 3 / 4) // the rest is for the program's text and the kernel's overhead
		f(t)
		return
	}
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.timeout=2m")
	cmd.Env = append(os.Environ(), childEnv+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Skip("this system does not say how much memory a process took")
	}
	used := int64(usage.Maxrss)   //nolint:unconvert // an int32 on machines of 32 bits
	if runtime.GOOS != "darwin" { // which counts bytes
		used <<= 10
	}
	t.Logf("%d MiB", used>>20)
	if used > most {
		t.Errorf("it took %d MiB of memory, more than %d MiB", used>>20, most>>20)
	}
}
