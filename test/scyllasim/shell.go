// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// ShellCommand is sh and bash in an image that has no shell: `-c SCRIPT`. The language is Bash's, as far as mvdan.cc/sh knows it. scylla sstable,
// scylla --version and the commands of shellTools run in this process; anything else is started as a program.
func ShellCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := errors.New("this shell runs -c only, with a script")
	if len(args) == 2 && args[0] == "-c" {
		err = runScript(ctx, args[1], stdin, stdout, stderr)
	}
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return 128 + 15 // ended by SIGTERM
	}
	_, _ = fmt.Fprintln(stderr, "sh:", err)
	return 2
}

func runScript(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) error {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return err
	}
	runner, err := interp.New(interp.StdIO(stdin, stdout, stderr), interp.ExecHandlers(runTool))
	if err != nil {
		return err
	}
	return runner.Run(ctx, file)
}

// runTool runs the commands that this binary has and passes other programs to next.
func runTool(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		hc, code := interp.HandlerCtx(ctx), 0
		run := shellTools[args[0]]
		switch {
		case filepath.Base(args[0]) == "scylla" && len(args) > 1 && (args[1] == "sstable" || args[1] == "--version"):
			code = ServerCommand(ctx, args[1:], func(k string) string { return hc.Env.Get(k).String() }, hc.Stdout, hc.Stderr)
		case run == nil:
			return next(ctx, args)
		default:
			if err := run(ctx, args[1:], hc); err != nil {
				_, _ = fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
				code = 1
			}
		}
		if code != 0 {
			return interp.ExitStatus(code)
		}
		return nil
	}
}

// shellTools are the commands that scripts of init containers and tests need, with the options that they use.
var shellTools = map[string]func(ctx context.Context, args []string, hc interp.HandlerContext) error{
	"cat": toolCat, "cp": toolCopy, "sleep": toolSleep,
}

// inFolder makes a path of the script absolute. The shell's working folder is not the process's.
func inFolder(hc interp.HandlerContext, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(hc.Dir, path)
}

// toolCopy copies what is in a folder.
func toolCopy(_ context.Context, args []string, hc interp.HandlerContext) error {
	if len(args) != 3 || args[0] != "-r" || !strings.HasSuffix(args[1], "/.") {
		return errors.New("only cp -r FOLDER/. FOLDER is simulated")
	}
	from, to := inFolder(hc, args[1]), inFolder(hc, args[2])
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		dst := filepath.Join(to, strings.TrimPrefix(path, from))
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(dst, 0o755))
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, 0o644)
	})
}

func toolCat(_ context.Context, files []string, hc interp.HandlerContext) error {
	if len(files) == 0 {
		_, err := io.Copy(hc.Stdout, hc.Stdin)
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(inFolder(hc, f))
		if err != nil {
			return err
		}
		_, _ = hc.Stdout.Write(b)
	}
	return nil
}

// toolSleep waits seconds.
func toolSleep(ctx context.Context, args []string, _ interp.HandlerContext) error {
	n, err := strconv.ParseFloat(strings.Join(args, " "), 64)
	if err != nil {
		return fmt.Errorf("invalid time interval %q", args)
	}
	return newClock(1).sleep(ctx, time.Duration(n*float64(time.Second)))
}
