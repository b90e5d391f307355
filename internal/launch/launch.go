// SPDX-License-Identifier: Apache-2.0

// Package launch owns the last moment before ScyllaDB starts: it reads the Pod's member Service, adds the replace arguments that it asks for
// to ScyllaDB's command line, and becomes ScyllaDB. It must not judge whether a node may be replaced (package replacement does,
// before anything is deleted), write anything, or stay around.
//
// A data directory that has completed its bootstrap starts without asking the API server: ScyllaDB ignores the arguments then, and a
// restart must not depend on Kubernetes. Every other one waits until the API server has answered: a newcomer whose Service asks for a
// replacement must never start as a plain new node.
package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
)

// ScyllaDB's options.
const (
	FlagReplaceNode    = "--replace-node-first-boot"
	FlagReplaceAddress = "--replace-address-first-boot"
	FlagIgnoreDead     = "--ignore-dead-nodes-for-replace"
)

// Options of Run.
type Options struct {
	// Client reads the member Service; it is made when first needed, so that a bootstrapped node needs none.
	Client func() (client.Reader, error)
	// Namespace and Service name the member Service.
	Namespace, Service string
	// QueryFile has the output of the query container, QueryFile+".code" its exit code.
	QueryFile string
	// Command is what to become: program and arguments.
	Command []string
	Environ []string
	Clock   clock.Clock
	Log     *slog.Logger
	// Exec replaces the process; it returns only an error. syscall.Exec when nil.
	Exec func(path string, argv, environ []string) error
	// Patience is how long Run asks an API server that does not answer before it ends with a code that makes the kubelet start it again,
	// where the wait shows as a restart; 0 asks for ever.
	Patience time.Duration
}

// waiting is an answer that may become another by waiting.
type waiting struct{ why string }

func (w waiting) Error() string { return w.why }

// malformed is an answer that must be corrected by a person.
type malformed struct{ why string }

func (m malformed) Error() string { return m.why }

// Arguments returns what the member Service's labels and annotations add to ScyllaDB's command line; none for a plain start. The error
// is waiting while a request is not yet recorded, and malformed when the labels cannot be used.
func Arguments(labels, annotations map[string]string) ([]string, error) {
	rec := replacement.ReadRecord(labels, annotations)
	if !rec.Requested && !rec.Open() {
		return nil, nil
	}
	var args []string
	addr, byAddress := rec.Address()
	switch {
	case rec.RecordedAddress != "" || byAddress && !rec.HasOriginal:
		if !byAddress {
			return nil, malformed{fmt.Sprintf("annotation %s=%q is not an IP address", api.AnnotationReplaceAddress, rec.RecordedAddress)}
		}
		a, err := netip.ParseAddr(addr)
		if err != nil || a.IsUnspecified() {
			return nil, malformed{fmt.Sprintf("label %s=%q is not the address of a node", api.LabelReplace, rec.Value)}
		}
		args = append(args, FlagReplaceAddress+"="+addr)
	case rec.HasOriginal:
		if rec.OriginalError != "" {
			return nil, malformed{rec.OriginalError}
		}
		args = append(args, FlagReplaceNode+"="+rec.Original)
	case rec.Value != "":
		return nil, malformed{fmt.Sprintf("label %s=%q is neither empty nor an IP address", api.LabelReplace, rec.Value)}
	default:
		return nil, waiting{fmt.Sprintf("label %s asks for a replacement, and the controller has not recorded the original host ID yet", api.LabelReplace)}
	}
	if len(rec.IgnoreDead) > 0 {
		for _, id := range rec.IgnoreDead {
			if _, err := replacement.ParseHostID(id); err != nil {
				return nil, malformed{fmt.Sprintf("annotation %s: %q %v", api.AnnotationReplaceIgnoreDead, id, err)}
			}
		}
		args = append(args, FlagIgnoreDead+"="+strings.ToLower(strings.Join(rec.IgnoreDead, ",")))
	}
	return args, nil
}

// Merge appends args to command. An argument that is there already with the same value is not repeated; with another value, or beside the
// other way of replacing, it is an error: the command line would contradict the Service.
func Merge(command, args []string) ([]string, error) {
	out := slices.Clone(command)
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		there, ok := option(command, name)
		switch {
		case !ok:
			out = append(out, arg)
		case !strings.EqualFold(there, value):
			return nil, malformed{fmt.Sprintf("the command line has %s=%s and the member Service asks for %s", name, there, value)}
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

// bootstrapped reads the query container's answer.
func (o *Options) bootstrapped() (bootstrap.Bootstrapped, string) {
	out, err := os.ReadFile(o.QueryFile)
	if err != nil {
		return bootstrap.BootstrappedUnknown, fmt.Sprintf("the query's answer is not there: %v", err)
	}
	text, err := os.ReadFile(o.QueryFile + ".code")
	if err != nil {
		return bootstrap.BootstrappedUnknown, fmt.Sprintf("the query's exit code is not there: %v", err)
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return bootstrap.BootstrappedUnknown, fmt.Sprintf("the query's exit code is %q", strings.TrimSpace(string(text)))
	}
	return bootstrap.ParseQuery(out, code)
}

const (
	firstPause = time.Second
	maxPause   = 15 * time.Second
	reminder   = time.Minute // an unchanged reason is logged again
)

// Run becomes ScyllaDB. It returns only when it could not: with exit code 75 when starting again may help, 78 when the labels must be
// corrected first.
func Run(ctx context.Context, o Options) error {
	if len(o.Command) == 0 {
		return exit.Usagef("no command given: scylla-agent launch -- /docker-entrypoint.py ARGUMENTS")
	}
	if o.Namespace == "" || o.Service == "" {
		return exit.Usagef("the own Pod is not known: set POD_NAME and POD_NAMESPACE by the downward API, or give --pod-name and --namespace")
	}
	disk, detail := o.bootstrapped()
	if disk == bootstrap.BootstrappedYes {
		o.Log.InfoContext(ctx, "starting ScyllaDB on its bootstrapped data directory", "reason", detail)
		return o.become(o.Command)
	}
	o.Log.InfoContext(ctx, "the data directory is not known to be bootstrapped: asking the member Service how to start", "reason", detail,
		"service", o.Namespace+"/"+o.Service)
	args, err := o.ask(ctx)
	if err != nil {
		return err
	}
	command, err := Merge(o.Command, args)
	if err != nil {
		return refuse(o, err)
	}
	if len(args) == 0 {
		o.Log.InfoContext(ctx, "starting ScyllaDB: no replacement is asked for")
	} else {
		o.Log.InfoContext(ctx, "starting ScyllaDB as a replacement", "arguments", args)
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, FlagReplaceAddress) }) {
			o.Log.WarnContext(ctx, "replacing by address is deprecated; ScyllaDB 5.2 and 2023.1 or later replace by host ID")
		}
	}
	return o.become(command)
}

func refuse(o Options, err error) error {
	return &exit.Error{
		Code: replacement.ExitLaunchMalformed,
		Err:  fmt.Errorf("ScyllaDB is not started, it would join as a plain new node: service %s/%s: %w", o.Namespace, o.Service, err),
		Hint: fmt.Sprintf("see: kubectl scylla replace --status %s -n %s", o.Service, o.Namespace),
	}
}

// ask reads the Service until it says how to start.
func (o *Options) ask(ctx context.Context) ([]string, error) {
	began := o.Clock.Now()
	pause := firstPause
	said, saidAt := "", time.Time{}
	for {
		args, err := o.askOnce(ctx)
		if err == nil {
			return args, nil
		}
		if ctx.Err() != nil {
			return nil, exit.Interrupted(ctx.Err())
		}
		if _, ok := errors.AsType[malformed](err); ok {
			return nil, refuse(*o, err)
		}
		_, answered := errors.AsType[waiting](err)
		now := o.Clock.Now()
		if err.Error() != said || now.Sub(saidAt) >= reminder {
			said, saidAt = err.Error(), now
			o.Log.WarnContext(ctx, "ScyllaDB is not started yet", "reason", said, "waitingSince", began.UTC())
		}
		if !answered && o.Patience > 0 && now.Sub(began) >= o.Patience {
			return nil, &exit.Error{
				Code: replacement.ExitLaunchRetry,
				Err: fmt.Errorf("ask the API server for %s: %w; ScyllaDB was not started because nobody can say whether it is to replace a node",
					o.Namespace+"/"+o.Service, err),
				Hint: "the kubelet starts this container again",
			}
		}
		select {
		case <-ctx.Done():
			return nil, exit.Interrupted(ctx.Err())
		case <-o.Clock.After(pause):
		}
		if answered {
			pause = firstPause // it is asked again each second: the controller is about to write
		} else {
			pause = min(pause*2, maxPause)
		}
	}
}

func (o *Options) askOnce(ctx context.Context) ([]string, error) {
	c, err := o.Client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var svc corev1.Service
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Service}, &svc); err != nil {
		switch {
		case apierrors.IsNotFound(err):
			return nil, waiting{fmt.Sprintf("member Service %s/%s does not exist; the controller makes it", o.Namespace, o.Service)}
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("read service %s/%s: forbidden; the Pod's ServiceAccount needs verb get on services: %w", o.Namespace, o.Service, err)
		}
		return nil, fmt.Errorf("read service %s/%s: %w", o.Namespace, o.Service, err)
	}
	return Arguments(svc.Labels, svc.Annotations)
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
