// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// private are the directories where container runtimes, the kubelet and CNI plugins write outside the places that one
// can tell them: sockets of shims, network namespaces, CNI results, links to container logs, lock files. Each server
// has empty ones of its own in memory, so that nothing of it shows on the host and nodes do not meet in them.
var private = map[string]string{
	"/run":     "mode=755",
	"/tmp":     "mode=1777",
	"/var/lib": "mode=755",
	"/var/log": "mode=755",
	"/var/tmp": "mode=1777",
}

// prepareMounts makes the mounts of a new mount namespace the server's own.
func prepareMounts(config Config) error {
	// The new namespace is a copy that still tells the original about mounts where those were shared.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// Sources are opened before the private directories cover them.
	sources := make([]*os.File, len(config.Binds))
	for i, b := range config.Binds {
		f, err := os.OpenFile(b.From, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("carry over: %w", err)
		}
		defer f.Close()
		sources[i] = f
	}
	for dir, options := range private {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue // absent, or a link to one of the others
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("mount private %s: %w", dir, err)
		}
	}
	for i, b := range config.Binds {
		if err := os.MkdirAll(b.To, 0o755); err != nil {
			return fmt.Errorf("carry over %s: %w", b.From, err)
		}
		from := fmt.Sprintf("/proc/self/fd/%d", sources[i].Fd())
		if err := unix.Mount(from, b.To, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("carry over %s to %s: %w", b.From, b.To, err)
		}
	}
	for _, dir := range config.Scratch {
		if err := ensureUpper(dir); err != nil {
			return err
		}
	}
	if err := pretend(config.Pretended); err != nil {
		return err
	}
	// Volumes and root file systems that the kubelet and the runtime mount must reach each other.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("make mounts shared within the namespace: %w", err)
	}
	return nil
}

// ensureUpper makes dir one that can hold the upper layer of an overlay: where it lies on an overlay itself (a state
// directory inside a container), memory is mounted on it.
func ensureUpper(dir string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("make scratch directory: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("look at file system of %s: %w", dir, err)
	}
	if fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=711"); err != nil {
		return fmt.Errorf("mount memory on %s: %w", dir, err)
	}
	return nil
}

// pretend covers sysctls of the whole machine with files that hold the wanted values already: the kubelet sets them at
// its start, and a test must not change the machine it runs on (kernel.panic would even make it reboot).
func pretend(values map[string]string) error {
	for name, value := range values {
		target := filepath.Join("/proc/sys", name)
		file := filepath.Join("/run/sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("pretend %s: %w", name, err)
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("pretend %s: %w", name, err)
		}
		if err := unix.Mount(file, target, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("pretend %s: %w", name, err)
		}
	}
	return nil
}
