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
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/interp"
)

// shellTools are the commands that scripts of init containers and hooks need, with the options that they use.
var shellTools = map[string]func(ctx context.Context, args []string, hc interp.HandlerContext) error{
	"cat": toolCat, "chmod": toolChmod, "cp": toolCopy, "mkdir": toolMkdir, "rm": toolRemove, "sleep": toolSleep, "supervisorctl": toolSupervisorctl, "touch": toolTouch,
}

// toolOptions separates leading options, as single letters, from operands. An option that is not in known is an error.
func toolOptions(args []string, known string) (letters string, operands []string, err error) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		for _, f := range args[0][1:] {
			if !strings.ContainsRune(known, f) {
				return "", nil, fmt.Errorf("option %s is not simulated", args[0])
			}
		}
		letters += args[0][1:]
		args = args[1:]
	}
	return letters, args, nil
}

// inFolder makes a path of the script absolute. The shell's working folder is not the process's.
func inFolder(hc interp.HandlerContext, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(hc.Dir, path)
}

func toolCat(_ context.Context, args []string, hc interp.HandlerContext) error {
	_, files, err := toolOptions(args, "")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		_, err := io.Copy(hc.Stdout, hc.Stdin)
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(inFolder(hc, f))
		if err != nil {
			return err
		}
		if _, err := hc.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func toolMkdir(_ context.Context, args []string, hc interp.HandlerContext) error {
	opts, folders, err := toolOptions(args, "p")
	if err != nil {
		return err
	}
	for _, d := range folders {
		mk := os.Mkdir
		if opts != "" {
			mk = os.MkdirAll
		}
		if err := mk(inFolder(hc, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func toolTouch(_ context.Context, args []string, hc interp.HandlerContext) error {
	_, files, err := toolOptions(args, "")
	if err != nil {
		return err
	}
	now := time.Now()
	for _, f := range files {
		path := inFolder(hc, f)
		h, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if err := errors.Join(h.Close(), os.Chtimes(path, now, now)); err != nil {
			return err
		}
	}
	return nil
}

// toolChmod sets a mode in octal digits.
func toolChmod(_ context.Context, args []string, hc interp.HandlerContext) error {
	if len(args) < 2 {
		return errors.New("want a mode and files")
	}
	mode, err := strconv.ParseUint(args[0], 8, 9)
	if err != nil {
		return fmt.Errorf("mode %s is not simulated", args[0])
	}
	for _, f := range args[1:] {
		if err := os.Chmod(inFolder(hc, f), fs.FileMode(mode)); err != nil {
			return err
		}
	}
	return nil
}

func toolRemove(_ context.Context, args []string, hc interp.HandlerContext) error {
	opts, files, err := toolOptions(args, "frR")
	if err != nil {
		return err
	}
	remove := os.Remove
	if strings.ContainsAny(opts, "rR") {
		remove = os.RemoveAll
	}
	for _, f := range files {
		if err := remove(inFolder(hc, f)); err != nil && (!strings.Contains(opts, "f") || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// toolCopy copies files, and with -a, -r or -R folders with what is in them. A source that ends with /. is the content of a folder.
func toolCopy(_ context.Context, args []string, hc interp.HandlerContext) error {
	opts, paths, err := toolOptions(args, "aprRfL")
	if err != nil {
		return err
	}
	if len(paths) < 2 {
		return errors.New("want SOURCE... DESTINATION")
	}
	to := inFolder(hc, paths[len(paths)-1])
	fi, err := os.Stat(to)
	intoFolder := err == nil && fi.IsDir()
	for _, p := range paths[:len(paths)-1] {
		from, dst := inFolder(hc, p), to
		if intoFolder && !strings.HasSuffix(p, "/.") {
			dst = filepath.Join(to, filepath.Base(from))
		}
		fi, err := os.Stat(from)
		switch {
		case err != nil:
			return err
		case fi.IsDir() && !strings.ContainsAny(opts, "arR"):
			return fmt.Errorf("%s is a folder: copy it with -r", p)
		}
		if err := copyTree(from, dst); err != nil {
			return err
		}
	}
	return nil
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

// toolSleep waits seconds, minutes (m) or hours (h).
func toolSleep(ctx context.Context, args []string, _ interp.HandlerContext) error {
	if len(args) != 1 {
		return errors.New("want one duration, such as 5, 0.5, 2m or 1h")
	}
	s, unit := args[0], time.Second
	if i := slices.Index([]string{"s", "m", "h"}, s[max(len(s)-1, 0):]); i >= 0 {
		s, unit = s[:len(s)-1], []time.Duration{time.Second, time.Minute, time.Hour}[i]
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("invalid time interval %q", args[0])
	}
	select {
	case <-time.After(time.Duration(n * float64(unit))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
