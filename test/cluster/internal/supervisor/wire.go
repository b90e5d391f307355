// SPDX-License-Identifier: Apache-2.0

// Package supervisor starts, signals and ends the processes of a test cluster, in namespaces of their own where the
// cluster has Kubernetes nodes, and sees to it that nothing of them outlives the process that asked for them.
//
// It knows nothing of Kubernetes: package cluster decides what runs with which flags and tells a supervisor over HTTP
// on a Unix socket (Client). There are three roles, all played by one small static binary:
//
//   - the keeper is started by package cluster on the host. It holds the read end of a pipe whose write end only the
//     starting process has: when that process ends, however it ends, the keeper reads the end of file, kills all, and
//     removes control groups and state. For a control plane alone it runs the processes itself.
//   - the cluster's server is process 1 of new mount, pid and network namespaces; when it dies, the kernel kills
//     everything in them and drops their mounts.
//   - a node's server is the same one level further in, so that a Kubernetes node can be cut off like by a power cut.
package supervisor

// Config is what a supervisor is started with.
type Config struct {
	Dir    string // state directory as this supervisor sees it: working directory of its processes
	Socket string // control socket, relative to Dir

	// Only the keeper reads these.
	Inner   *Config  // start a server with this configuration in new namespaces instead of serving
	Cgroups []string // children of the cluster's own control group to make, one for each Kubernetes node
	Remove  string   // directory to remove at the end

	// Only servers in namespaces of their own read these.
	Binds     []Bind            // directories to carry over into the private /run
	Sysctls   map[string]string // written for real: those of the network namespace, as net/ipv4/ip_forward
	Pretended map[string]string // shown with these values and writable without effect: those of the whole machine
	Scratch   []string          // directories that must be able to hold an overlay's upper layer
	Forward   string            // where connections accepted on the inherited listener go; empty: there is none
}

// Bind carries a directory into a namespace whose /run, /tmp, /var/lib and /var/log are new and empty.
type Bind struct {
	From string // as seen from the parent namespace
	To   string
}

// Process is a long-running process.
type Process struct {
	Name string
	Argv []string
	Env  []string // the whole environment
	Log  string   // file, relative to Dir, that standard output and error are appended to
	// Server, when set, makes the process a server in new namespaces; Argv and Env are then not used.
	Server *Config
}

// Status tells how a process is.
type Status struct {
	PID     int // in the server's own pid namespace
	Running bool
	Exit    string // how it ended: "exit status 1", "signal: killed"
}

// Command is a short-running process; the caller gets its output.
type Command struct {
	Argv   []string
	Stdin  []byte
	NetPID int // when not 0: run in the network namespace of this process
}

// Result is what a command left.
type Result struct {
	Stdout []byte
	Stderr []byte
	Code   int
}

// SignalRequest asks for a signal to a process by name, or to processes by number.
type SignalRequest struct {
	Name   string
	PIDs   []int
	Signal int
}

// descriptors of the inherited files.
const (
	lifelineFD = 3
	listenerFD = 4
)
