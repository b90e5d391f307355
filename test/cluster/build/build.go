// SPDX-License-Identifier: Apache-2.0

// Package build compiles what a test cluster runs, and the plugin, with progress and once for each version of their
// sources. It needs next to nothing but the standard library, so that its first line appears seconds after `make demo`
// on a machine that has compiled nothing yet.
package build

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
)

// KubernetesVersion is the version of every component; it goes with controlplane/go.mod.
const KubernetesVersion = "v1.37.2"

const (
	modulePath       = "github.com/kubectl-scylla/kubectl-scylla"
	progressInterval = 5 * time.Second
	unusedAfter      = 14 * 24 * time.Hour
)

// ModuleDir returns the directory of the project's main module: that of the working directory, or else the one this
// package was compiled from.
func ModuleDir() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if line, _, _ := strings.Cut(string(b), "\n"); err == nil && strings.TrimSpace(line) == "module "+modulePath {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("find the sources of %s: no go.mod of it at or above %s; run this inside a clone",
		modulePath, strings.Join(starts, " or "))
}

// Binaries are the paths of what a cluster runs.
type Binaries struct {
	Kubernetes string // the multi-call binary
	Supervisor string
	Pause      string // for the pause image
}

// Kubernetes compiles Kubernetes into one multi-call binary in the user's cache directory, and the cluster's supervisor.
// The first time takes about 11 minutes on 2 idle cores and 1 GB of downloads; progress (may be nil) then gets a line
// every few seconds. Later calls find the binaries in well under a second. Any number of processes may call it at once:
// one builds, the others wait.
func Kubernetes(ctx context.Context, progress io.Writer) (Binaries, error) {
	if progress == nil {
		progress = io.Discard
	}
	module, kubernetes, err := kubernetes()
	if err != nil {
		return Binaries{}, err
	}
	if err := os.MkdirAll(kubernetes.cache, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("make cache directory: %w", err)
	}
	internal := filepath.Join(module, "test", "cluster", "internal")
	tools := artefact{
		title: "the cluster supervisor", cache: kubernetes.cache, prefix: "tools",
		sources: []string{filepath.Join(internal, "supervisor"), filepath.Join(internal, "cmd", "supervisor"),
			filepath.Join(internal, "cmd", "pause")},
		builds: []goBuild{
			{dir: module, pkg: "./test/cluster/internal/cmd/supervisor", name: "supervisor"},
			{dir: module, pkg: "./test/cluster/internal/cmd/pause", name: "pause"},
		},
	}
	kubernetesDir, err := kubernetes.ensure(ctx, progress)
	if err != nil {
		return Binaries{}, err
	}
	toolsDir, err := tools.ensure(ctx, progress)
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{
		Kubernetes: filepath.Join(kubernetesDir, "controlplane"),
		Supervisor: filepath.Join(toolsDir, "supervisor"),
		Pause:      filepath.Join(toolsDir, "pause"),
	}, nil
}

// Done reports whether Kubernetes is built.
func Done() (bool, error) {
	_, kubernetes, err := kubernetes()
	if err != nil {
		return false, err
	}
	key, err := kubernetes.key()
	return err == nil && kubernetes.complete(kubernetes.dir(key)), err
}

// Plugin compiles kubectl-scylla to the file out. Cold, it compiles a third of what Kubernetes needs, and Kubernetes
// does not compile that again.
func Plugin(ctx context.Context, out string, progress io.Writer) error {
	module, err := ModuleDir()
	if err != nil {
		return err
	}
	b := goBuild{dir: module, pkg: "./cmd/kubectl-scylla", name: "kubectl-scylla", packages: 980}
	return b.run(ctx, out, "kubectl scylla", progress)
}

func kubernetes() (module string, a artefact, err error) {
	if module, err = ModuleDir(); err != nil {
		return "", artefact{}, err
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return "", artefact{}, fmt.Errorf("find the user's cache directory: %w; set HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(module, "test", "cluster", "controlplane")
	return module, artefact{
		title: "Kubernetes " + KubernetesVersion, cache: filepath.Join(userCache, "kubectl-scylla"),
		prefix: "kubernetes-" + KubernetesVersion, slow: true, sources: []string{dir},
		builds: []goBuild{{dir: dir, pkg: ".", name: "controlplane", packages: 2950,
			ldflags: " -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion}},
	}, nil
}

// artefact is a directory of binaries in the cache, named after the content of their sources.
type artefact struct {
	title   string
	cache   string
	prefix  string
	sources []string // directories whose Go and module files decide the name
	builds  []goBuild
	slow    bool
}

type goBuild struct {
	dir      string
	pkg      string
	name     string
	ldflags  string
	packages int // about how many a cold build compiles, for the progress report only
}

// key hashes the sources, names included.
func (a artefact) key() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOARCH)
	for _, dir := range a.sources {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", fmt.Errorf("read sources of %s: %w", a.title, err)
		}
		for _, e := range entries {
			name := e.Name()
			source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
			if e.IsDir() || !source && name != "go.mod" && name != "go.sum" {
				continue
			}
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return "", fmt.Errorf("read sources of %s: %w", a.title, err)
			}
			fmt.Fprintf(sum, "%s/%s %d\n%s", filepath.Base(dir), name, len(content), content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// ensure returns the directory, which it builds when it is not there yet.
func (a artefact) ensure(ctx context.Context, progress io.Writer) (string, error) {
	key, err := a.key()
	if err != nil {
		return "", err
	}
	dir := a.dir(key)
	if a.complete(dir) {
		return dir, nil
	}
	unlock, err := lock(ctx, filepath.Join(a.cache, "build.lock"), func() {
		fmt.Fprintf(progress, "waiting for another process that builds in %s\n", a.cache)
	})
	if err != nil {
		return "", fmt.Errorf("build %s: %w", a.title, err)
	}
	defer unlock()
	if a.complete(dir) { // built by the process that held the lock
		return dir, nil
	}
	tmp, err := os.MkdirTemp(a.cache, ".building-*")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", a.title, err)
	}
	defer os.RemoveAll(tmp) // gone by its rename when all went well
	start := time.Now()
	if a.slow {
		fmt.Fprintf(progress, "building %s from its Go modules: about 11 minutes on 2 idle cores, once; then it is kept in %s\n", a.title, dir)
	}
	for _, b := range a.builds {
		if err := b.run(ctx, filepath.Join(tmp, b.name), a.title, progress); err != nil {
			return "", fmt.Errorf("build %s: %w", a.title, err)
		}
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Rename(tmp, dir)); err != nil {
		return "", fmt.Errorf("build %s: %w", a.title, err)
	}
	if a.slow {
		fmt.Fprintf(progress, "built %s in %s\n", a.title, time.Since(start).Round(time.Second))
	}
	a.removeUnused(dir)
	return dir, nil
}

func (a artefact) dir(key string) string { return filepath.Join(a.cache, a.prefix+"-"+key) }

func (a artefact) complete(dir string) bool {
	for _, b := range a.builds {
		if info, err := os.Stat(filepath.Join(dir, b.name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // for removeUnused; a cache of another user cannot be marked, which is fine
	return true
}

// removeUnused deletes builds of older sources that were not used for a while; each Kubernetes takes 150 MB.
func (a artefact) removeUnused(current string) {
	dirs, _ := filepath.Glob(filepath.Join(a.cache, a.prefix+"-*"))
	for _, dir := range dirs {
		if info, err := os.Stat(dir); dir != current && err == nil && time.Since(info.ModTime()) > unusedAfter {
			_ = os.RemoveAll(dir)
		}
	}
}

func (b goBuild) run(ctx context.Context, out, title string, progress io.Writer) error {
	args := append([]string{"build", "-v"}, image.BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-buildvcs=false", "-ldflags=-s -w"+b.ldflags, "-o", out, b.pkg)...)
	cmd.Dir = b.dir
	// GOFLAGS could contain -mod=vendor, -race or -cover of the test run that this is part of.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: 0}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the compilers too
	cmd.WaitDelay = 5 * time.Second
	pr, pw := io.Pipe()
	cmd.Stdout, cmd.Stderr = pw, pw
	watch := newBuildWatch(title, b, progress)
	var wg sync.WaitGroup
	wg.Go(func() { watch.read(pr) })
	done := make(chan struct{})
	wg.Go(func() { watch.report(done) })
	err := cmd.Run()
	_ = pw.Close()
	close(done)
	wg.Wait()
	if err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", b.pkg, b.dir, err, strings.Join(watch.tail, "\n"))
	}
	return nil
}

// buildWatch follows the output of "go build -v": a line for each package that is compiled or module downloaded.
type buildWatch struct {
	title    string
	build    goBuild
	progress io.Writer
	start    time.Time

	mu       sync.Mutex
	packages int
	modules  int
	last     string
	tail     []string
}

func newBuildWatch(title string, build goBuild, progress io.Writer) *buildWatch {
	return &buildWatch{title: title, build: build, progress: progress, start: time.Now(), last: "looking for modules"}
}

func (w *buildWatch) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		w.mu.Lock()
		w.tail = append(w.tail, line)
		if n := len(w.tail); n > 30 {
			w.tail = slices.Delete(w.tail, 0, n-30)
		}
		if m, ok := strings.CutPrefix(line, "go: downloading "); ok {
			w.modules++
			w.last = "downloading " + m
		} else if strings.HasPrefix(line, modulePath) && strings.HasSuffix(line, "/"+w.build.name) {
			w.packages++
			w.last = "linking"
		} else if !strings.Contains(line, " ") {
			w.packages++
			w.last = "compiling " + line
		}
		w.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, r) // a line too long to scan must not block the compiler
}

func (w *buildWatch) report(done <-chan struct{}) {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			w.mu.Lock()
			fmt.Fprintf(w.progress, "building %s: %s, %d modules downloaded, %d packages compiled (a cold build has about %d), now %s\n",
				w.title, time.Since(w.start).Round(time.Second), w.modules, w.packages, w.build.packages, w.last)
			w.mu.Unlock()
		}
	}
}

// lock takes the file lock at path, for as long as the process lives or until unlock; waiting is called when another
// process holds it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	next := time.Now()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if now := time.Now(); !now.Before(next) {
			waiting()
			next = now.Add(progressInterval)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
