// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// cniDirs are where distributions put CNI plugins; Debian's is the first.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// cniDir returns the directory that has the plugins a Kubernetes node needs, or "".
func cniDir() string {
	for _, dir := range cniDirs {
		found := true
		for _, plugin := range []string{"ptp", "host-local", "loopback", "portmap"} {
			if _, err := os.Stat(filepath.Join(dir, plugin)); err != nil {
				found = false
			}
		}
		if found {
			return dir
		}
	}
	return ""
}

// MissingPrerequisites lists what StartNodes needs and this machine lacks, each in words for a person. It is empty
// where StartNodes can work; tests that need Kubernetes nodes skip with its content otherwise.
func MissingPrerequisites() []string {
	if runtime.GOOS != "linux" {
		return []string{"Linux (this is " + runtime.GOOS + ")"}
	}
	var missing []string
	for _, program := range []struct{ name, pkg string }{
		{"containerd", "containerd"}, {"ctr", "containerd"}, {"containerd-shim-runc-v2", "containerd"}, {"runc", "runc"},
		{"iptables", "iptables"}, {"ip", "iproute2"},
	} {
		if !installed(program.name) {
			missing = append(missing, fmt.Sprintf("program %s (Debian package %s)", program.name, program.pkg))
		}
	}
	if cniDir() == "" {
		missing = append(missing, "CNI plugins ptp, host-local, loopback and portmap (Debian package containernetworking-plugins)")
	}
	if os.Geteuid() != 0 {
		return append(missing, fmt.Sprintf("root (this is user %d)", os.Geteuid()))
	}
	if err := tryNamespaces(); err != nil {
		missing = append(missing, fmt.Sprintf(
			"the right to make mount, pid and network namespaces (%v), as in a container that is not privileged", err))
	}
	if err := supervisor.CgroupsWritable(); err != nil {
		missing = append(missing, err.Error())
	}
	return missing
}

// installed looks where the cluster's processes look, which may differ from the caller's PATH.
func installed(program string) bool {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

func tryNamespaces() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET}
	return cmd.Run()
}
