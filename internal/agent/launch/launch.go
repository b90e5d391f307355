// SPDX-License-Identifier: Apache-2.0

// Package launch runs right before ScyllaDB. It reads the Pod's member Service, adds the requested
// replace arguments and the seeds to ScyllaDB's command line, and executes ScyllaDB. It does not
// decide whether a node may be replaced (package replace does, before a deletion). It does not keep
// running.
//
// A node with a bootstrapped data directory starts even if the API server does not answer: ScyllaDB
// then ignores the replace arguments, and a restart must not depend on Kubernetes. Every other node
// waits for the API server. A new node with a requested replacement must never start as a plain new
// node. No new node may bootstrap a second cluster because it is its own only seed.
//
// Init containers do not run again when ScyllaDB's container restarts, and the launcher may wait
// for hours. So it repeats the judgement of its Pod's barrier, with the barrier's own flags, before
// each start of a node whose disk does not show that it is bootstrapped.
package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ScyllaDB's options.
const (
	FlagReplaceNode    = "--replace-node-first-boot"
	FlagReplaceAddress = "--replace-address-first-boot"
	FlagIgnoreDead     = "--ignore-dead-nodes-for-replace"
)

// Options of Run.
type Options struct {
	// Client is created at the first use, so that a bootstrapped node needs none.
	Client func() (client.WithWatch, error)
	// Namespace and Service name the member Service.
	Namespace, Service string
	// QueryFile has the output of the query container, QueryFile+".code" its exit code.
	QueryFile string
	// DataDir is ScyllaDB's volume, read at each start: the query runs only at the Pod's first
	// start. Empty is not read.
	DataDir string
	// Command is the program to execute, with its arguments.
	Command []string
	Environ []string
	Clock   clock.WithTicker
	Log     *slog.Logger
	// Exec replaces the process and returns only an error; nil means syscall.Exec.
	Exec func(path string, argv, environ []string) error
	// Resolve looks up the names among the given seeds; nil means DNS.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Judge repeats the judgement of the Pod's barrier; nil means barrier.Run.
	Judge func(context.Context, barrier.Options) error
	// Patience is how long Run waits for the API server. It then returns an error whose exit code
	// makes the kubelet restart the container, so that the wait shows as restarts. 0 waits
	// indefinitely.
	Patience time.Duration
}

// waiting is an error that a retry may resolve.
type waiting struct{ why string }

func (w waiting) Error() string { return w.why }

// malformed is an error that a person must correct.
type malformed struct{ why string }

func (m malformed) Error() string { return m.why }

// Arguments returns the arguments that the member Service requests; nil for a plain start. The
// error is waiting while a request is not yet recorded, and malformed if the labels are invalid.
func Arguments(labels, annotations map[string]string) ([]string, error) {
	rec := replace.ReadRecord(labels, annotations)
	if !rec.Requested && !rec.Open() {
		return nil, nil
	}
	var args []string
	addr, byAddress := rec.Address()
	switch {
	case rec.RecordedAddress != "" || byAddress && !rec.HasOriginal:
		if !byAddress {
			return nil,
				malformed{fmt.Sprintf("annotation %s=%q is not an IP address", api.AnnotationReplaceAddress,
					rec.RecordedAddress)}
		}
		a, err := netip.ParseAddr(addr)
		if err != nil || a.IsUnspecified() {
			return nil, malformed{fmt.Sprintf("label %s=%q is not the address of a node", api.LabelReplace, rec.Value)}
		}
		args = append(args, FlagReplaceAddress+"="+addr)
	case rec.HasOriginal:
		if !rec.OriginalError.IsZero() {
			return nil, malformed{words.Text(rec.OriginalError)}
		}
		args = append(args, FlagReplaceNode+"="+string(rec.Original))
	case rec.Value != "":
		return nil,
			malformed{fmt.Sprintf("label %s=%q is neither empty nor an IP address", api.LabelReplace, rec.Value)}
	default:
		return nil,
			waiting{
				fmt.Sprintf(
					"label %s requests a replacement, but the controller has not recorded the original host ID yet",
					api.LabelReplace)}
	}
	if len(rec.IgnoreDead) > 0 {
		dead := make([]hostid.ID, len(rec.IgnoreDead))
		for i, text := range rec.IgnoreDead {
			id, err := hostid.Parse(text)
			if err != nil {
				return nil, malformed{fmt.Sprintf("annotation %s: %v", api.AnnotationReplaceIgnoreDead, err)}
			}
			dead[i] = id
		}
		args = append(args, FlagIgnoreDead+"="+hostid.Join(dead))
	}
	return args, nil
}

// merge appends args to command, except arguments that command has with the same value. A different
// value, or both ways of replacing, is an error: the command line would contradict the Service.
func merge(command, args []string) ([]string, error) {
	out := slices.Clone(command)
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		there, ok := option(command, name)
		switch {
		case !ok:
			out = append(out, arg)
		case !strings.EqualFold(there, value):
			return nil,
				malformed{fmt.Sprintf("the command line has %s=%s, but the member Service requests %s", name, there,
					value)}
		}
	}
	_, node := option(out, FlagReplaceNode)
	_, address := option(out, FlagReplaceAddress)
	if node && address && len(args) > 0 {
		return nil, malformed{fmt.Sprintf("the command line has both %s and %s", FlagReplaceNode, FlagReplaceAddress)}
	}
	return out, nil
}

// option finds "--name=value" or "--name value".
func option(command []string, name string) (value string, ok bool) {
	for i, arg := range command {
		if v, found := strings.CutPrefix(arg, name+"="); found {
			value, ok = v, true
		} else if arg == name {
			value, ok = "", true
			if i+1 < len(command) {
				value = command[i+1]
			}
		}
	}
	return value, ok
}

const (
	firstPause = time.Second
	maxPause   = 15 * time.Second
	reminder   = time.Minute // interval between logs of an unchanged reason
)

// Run executes ScyllaDB and returns only if it could not: exit code 75 if a restart may help, 78 if
// the labels must be corrected first.
func Run(ctx context.Context, o Options) error {
	if len(o.Command) == 0 {
		return exit.Usagef("specify a command: scylla-agent launch -- /docker-entrypoint.py ARGUMENTS")
	}
	if o.Namespace == "" || o.Service == "" {
		return exit.Usagef(
			"the Pod name is unknown: set POD_NAME and POD_NAMESPACE (downward API), or --pod-name and --namespace")
	}
	query := disk.ReadQuery(o.QueryFile)
	detail := words.Text(query.Detail)
	if query.Bootstrapped == bootstrap.BootstrappedYes {
		o.Log.InfoContext(ctx, "starting ScyllaDB on its bootstrapped data directory", "reason", detail)
		return o.become(o.again(ctx))
	}
	o.Log.InfoContext(ctx, "the data directory is possibly not bootstrapped: reading the member Service", "reason",
		detail,
		"service", o.Namespace+"/"+o.Service)
	how, err := o.decide(ctx)
	if err != nil {
		return err
	}
	command, err := merge(withSeeds(o.Command, how.choice.Seeds), how.args)
	if err != nil {
		return refuse(o, err)
	}
	o.Log.InfoContext(ctx, "seeds", "code", how.choice.Code, "seeds", how.choice.Seeds)
	if len(how.args) == 0 {
		o.Log.InfoContext(ctx, "starting ScyllaDB: no replacement is requested")
	} else {
		o.Log.InfoContext(ctx, "starting ScyllaDB as a replacement", "arguments", how.args)
		if slices.ContainsFunc(how.args, func(a string) bool { return strings.HasPrefix(a, FlagReplaceAddress) }) {
			o.Log.WarnContext(ctx,
				"replacing by address is deprecated; ScyllaDB 5.2 and 2023.1 or later replace by host ID")
		}
	}
	return o.become(command)
}

func refuse(o Options, err error) error {
	return &exit.Error{
		Code: replace.ExitLaunchMalformed,
		Err: fmt.Errorf("ScyllaDB is not started, because it would join as a plain new node: service %s/%s: %w",
			o.Namespace, o.Service, err),
		Hint: "see: " + words.Shell(words.Scylla(o.Namespace, "replace", "status", o.Service)),
	}
}

// answer is the result of askOnce: the arguments from the member Service, the seeds, and the Pod.
type answer struct {
	args   []string
	choice bootstrap.SeedChoice
	pod    *corev1.Pod
}

// decide returns the arguments and seeds of a start that the barrier's judgement allows now. It
// reads the Service and the other members until gate.Launch starts.
func (o *Options) decide(ctx context.Context) (answer, error) {
	began := o.Clock.Now()
	pause := firstPause
	said, saidAt := "", time.Time{}
	var l gate.Launch
	for {
		got, err := o.askOnce(ctx)
		switch step := l.Read(got.choice.Code); {
		case err == nil && step == gate.LaunchStarts:
			return got, nil
		case err == nil && step == gate.LaunchJudges:
			if judged, err := o.judge(ctx, got.pod); err != nil || !judged {
				return got, err
			}
			began, pause, said = o.Clock.Now(), firstPause, ""
			continue
		case err == nil:
			err = waiting{"no node of the cluster has joined, and this member is the first: checking again"}
		}
		if ctx.Err() != nil {
			return answer{}, exit.Interrupted(ctx.Err())
		}
		if _, ok := errors.AsType[malformed](err); ok {
			return answer{}, refuse(*o, err)
		}
		_, answered := errors.AsType[waiting](err)
		now := o.Clock.Now()
		if err.Error() != said || now.Sub(saidAt) >= reminder {
			said, saidAt = err.Error(), now
			o.Log.WarnContext(ctx, "ScyllaDB is not started yet", "reason", said, "waitingSince", began.UTC())
		}
		if !answered && o.Patience > 0 && now.Sub(began) >= o.Patience {
			return answer{}, &exit.Error{
				Code: replace.ExitLaunchRetry,
				Err: fmt.Errorf(
					"get %s from the API server: %w; ScyllaDB is not started, because only the API server has its "+
						"replace request and seeds",
					o.Namespace+"/"+o.Service, err),
				Hint: "the kubelet restarts this container",
			}
		}
		select {
		case <-ctx.Done():
			return answer{}, exit.Interrupted(ctx.Err())
		case <-o.Clock.After(pause):
		}
		if answered {
			pause = firstPause // the controller is about to write
		} else {
			pause = min(pause*2, maxPause)
		}
	}
}

func (o *Options) askOnce(ctx context.Context) (answer, error) {
	c, err := o.Client()
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	svc, err := o.service(ctx, c)
	if err != nil {
		return answer{}, err
	}
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Service}, pod); err != nil {
		return answer{}, fmt.Errorf("read Pod %s/%s: %w", o.Namespace, o.Service, err)
	}
	args, err := Arguments(svc.Labels, svc.Annotations)
	if err != nil {
		return answer{}, err
	}
	choice, err := o.seeds(ctx, c, svc)
	if err != nil {
		return answer{}, err
	}
	if !choice.Usable() {
		return answer{}, waiting{words.Text(choice.Message())}
	}
	return answer{args, choice, pod}, nil
}

// service reads the member Service.
func (o *Options) service(ctx context.Context, c client.Reader) (*corev1.Service, error) {
	var svc corev1.Service
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Service}, &svc); err != nil {
		switch {
		case apierrors.IsNotFound(err):
			return nil,
				waiting{fmt.Sprintf("member Service %s/%s does not exist; the controller creates it", o.Namespace,
					o.Service)}
		case apierrors.IsForbidden(err):
			return nil,
				fmt.Errorf("read service %s/%s: forbidden; the Pod's ServiceAccount needs verb get on services: %w",
					o.Namespace, o.Service, err)
		}
		return nil, fmt.Errorf("read service %s/%s: %w", o.Namespace, o.Service, err)
	}
	return &svc, nil
}

func (o *Options) become(command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("find program %s: %w", command[0], err)
	}
	run := o.Exec
	if run == nil {
		run = syscall.Exec
	}
	if err := run(path, command, o.Environ); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}
