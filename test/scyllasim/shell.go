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

// ShellCommand is sh and bash in an image that has no shell: `-c SCRIPT [NAME [ARGUMENT...]]`, also after options such as -eu, -x,
// -o pipefail and -O inherit_errexit. The language is Bash's, as far as mvdan.cc/sh knows it. scylla sstable, scylla --version, nodetool,
// sh and the commands of shellTools run in this process; anything else is started as a program.
func ShellCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(format string, a ...any) int {
		_, _ = fmt.Fprintf(stderr, "sh: "+format+"\n", a...)
		return 2
	}
	script, options, err := shellArguments(args)
	if err != nil {
		return fail("%v", err)
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return fail("%v", err)
	}
	options = append(options, interp.StdIO(stdin, stdout, stderr), interp.ExecHandlers(runTool))
	runner, err := interp.New(options...)
	if err != nil {
		return fail("%v", err)
	}
	err = runner.Run(ctx, file)
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return 128 + 15 // ended by SIGTERM
	}
	return fail("%v", err)
}

// shellArguments reads the shell's own command line. Options that the interpreter does not have are left out.
func shellArguments(args []string) (script string, options []interp.RunnerOption, err error) {
	command := false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		flags, sign := args[0][1:], args[0][:1]
		args = args[1:]
		for _, f := range flags {
			switch {
			case f == 'c':
				command = true
			case f == 'o' || f == 'O':
				if len(args) == 0 {
					return "", nil, fmt.Errorf("%s%c: option requires an argument", sign, f)
				}
				switch {
				case f == 'o':
					options = append(options, interp.Params(sign+"o", args[0]))
				case args[0] != "inherit_errexit": // which the interpreter does not have
					options = append(options, interp.BashOpts(map[string]string{"-": "-s", "+": "-u"}[sign], args[0]))
				}
				args = args[1:]
			case strings.ContainsRune("aefnux", f):
				options = append(options, interp.Params(sign+string(f)))
			}
		}
	}
	switch {
	case !command && len(args) > 0:
		return "", nil, fmt.Errorf("%s: this shell runs -c only", args[0])
	case !command:
		return "", nil, errors.New("this shell runs -c only")
	case len(args) == 0:
		return "", nil, errors.New("-c: option requires an argument")
	case len(args) > 2:
		options = append(options, interp.Params(append([]string{"--"}, args[2:]...)...))
	}
	return args[0], options, nil
}

// tool is a program that the image does not have as a file. args are without its name; the result is the exit code.
type tool func(ctx context.Context, args []string, hc interp.HandlerContext) int

// runTool runs the commands that this binary has and passes other programs to next.
func runTool(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		run := findTool(args)
		if run == nil {
			return next(ctx, args)
		}
		if code := run(ctx, args[1:], interp.HandlerCtx(ctx)); code != 0 {
			return interp.ExitStatus(code & 255)
		}
		return nil
	}
}

func findTool(args []string) tool {
	if t, ok := shellTools[args[0]]; ok {
		return func(ctx context.Context, rest []string, hc interp.HandlerContext) int {
			if err := t(ctx, rest, hc); err != nil {
				_, _ = fmt.Fprintf(hc.Stderr, "%s: %v\n", args[0], err)
				return 1
			}
			return 0
		}
	}
	env := func(hc interp.HandlerContext) func(string) string {
		return func(k string) string { return hc.Env.Get(k).String() }
	}
	switch commandName(args[0]) {
	case "scylla":
		if len(args) > 1 && (args[1] == "sstable" || args[1] == "--version") {
			return func(ctx context.Context, rest []string, hc interp.HandlerContext) int {
				return ServerCommand(ctx, rest, env(hc), hc.Stdout, hc.Stderr)
			}
		}
	case "nodetool":
		return func(ctx context.Context, rest []string, hc interp.HandlerContext) int {
			return NodetoolCommand(ctx, rest, hc.Stdout, hc.Stderr)
		}
	case "sh":
		return func(ctx context.Context, rest []string, hc interp.HandlerContext) int {
			return ShellCommand(ctx, rest, hc.Stdin, hc.Stdout, hc.Stderr)
		}
	}
	return nil
}

// shellTools are the commands that scripts of init containers and hooks need, with the options that they use.
var shellTools = map[string]func(ctx context.Context, args []string, hc interp.HandlerContext) error{
	"cat": toolCat, "cp": toolCopy, "sleep": toolSleep,
}

// inFolder makes a path of the script absolute. The shell's working folder is not the process's.
func inFolder(hc interp.HandlerContext, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(hc.Dir, path)
}

// toolCopy copies what is in a folder.
func toolCopy(_ context.Context, args []string, hc interp.HandlerContext) error {
	if len(args) != 3 || args[0] != "-r" || !strings.HasSuffix(args[1], "/.") {
		return errors.New("only cp -r FOLDER/. FOLDER is simulated")
	}
	return copyTree(inFolder(hc, args[1]), inFolder(hc, args[2]))
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(dst, 0o755)
		}
		fi, err := os.Stat(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, b, fi.Mode().Perm())
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
	select {
	case <-time.After(time.Duration(n * float64(time.Second))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
