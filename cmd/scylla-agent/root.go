// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// agent is the state that the subcommands share.
type agent struct {
	stdout, stderr io.Writer
	kubeconfig     string
	logLevel       string
	log            *slog.Logger
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	a := &agent{stdout: stdout, stderr: stderr, log: slog.New(slog.NewJSONHandler(stderr, nil))}
	root := &cobra.Command{
		Use:               "scylla-agent",
		Short:             "Run a component of kubectl-scylla in a Pod",
		Args:              cobra.NoArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.setup(cmd) },
		RunE: func(*cobra.Command, []string) error {
			return exit.Usagef(
				"specify a subcommand: reporter, barrier, launch, credential, controller, copy-to or version " +
					"(scylla-agent --help)")
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usage(err) })
	root.PersistentFlags().StringVar(&a.kubeconfig, "kubeconfig", "",
		"kubeconfig file instead of the Pod's ServiceAccount")
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "info", "log level: debug, info, warn or error")
	root.AddCommand(a.reporterCommand(), a.barrierCommand(), a.copyCommand(), a.versionCommand())
	root.AddCommand(a.others()...)
	return root
}

// execute runs root and prints its error once. It prints a log line, or plain text if the command
// line is invalid, because a user probably reads that.
func execute(ctx context.Context, root *cobra.Command, args []string) error {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = exit.Usage(err)
	}
	log := slog.New(slog.NewJSONHandler(root.ErrOrStderr(), &slog.HandlerOptions{ReplaceAttr: masked}))
	switch text := exit.Message(err); {
	case text == "":
	case exit.Code(err) == exit.CodeInterrupted:
		log.Info(text)
	case exit.Code(err) == exit.CodeUsage && !errors.As(err, new(*runError)):
		_, _ = fmt.Fprintln(root.ErrOrStderr(), words.Visible(text))
	default:
		described := exit.Describe(err)
		attrs := []any{}
		if hint := exit.Hint(described); hint != "" {
			attrs = append(attrs, "hint", hint)
		}
		log.Error(described.Error(), attrs...)
	}
	return err
}

// runError marks an error of the work itself, as opposed to an error of the command line.
type runError struct{ error }

func (e *runError) Unwrap() error { return e.error }

func working(err error) error {
	if err == nil {
		return nil
	}
	return &runError{err}
}

// setup configures one log for all loggers.
func (a *agent) setup(cmd *cobra.Command) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return exit.Usagef("unknown --log-level=%q: use one of debug, info, warn, error", a.logLevel)
	}
	handler := slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: masked})
	a.log = slog.New(handler)
	slog.SetDefault(a.log)
	klog.SetSlogLogger(a.log.With("logger", "client-go"))
	ctrllog.SetLogger(logr.FromSlogHandler(handler))
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[removedFlag] != nil {
			a.log.Warn("flag has no effect in this version; inject the manifest again", "flag", "--"+f.Name)
		}
	})
	return nil
}

// removedFlag is the annotation of a flag that only older manifests have.
const removedFlag = "removed"

// removed accepts a flag of an older manifest for one release, and ignores it.
func removed(fs *pflag.FlagSet, name string) {
	fs.String(name, "", "")
	_ = fs.MarkHidden(name)
	_ = fs.SetAnnotation(name, removedFlag, []string{"true"})
}

// masked removes secrets from the texts of the log: some quote a container's message or ScyllaDB.
// A value without JSON is logged by its String, else by its type.
func masked(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(mask.Text(v))
	case error:
		a.Value = slog.StringValue(mask.Text(v.Error()))
	case []string:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = mask.Text(v[i])
		}
		a.Value = slog.AnyValue(texts)
	default:
		if _, err := json.Marshal(v); err == nil {
			break
		}
		text := fmt.Sprintf("%T", v)
		switch v := v.(type) {
		case fmt.Stringer:
			text = v.String()
		case float64: // infinite or not a number
			text = fmt.Sprint(v)
		}
		a.Value = slog.StringValue(mask.Text(text))
	}
	return a
}

func (a *agent) restConfig() (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if a.kubeconfig != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", a.kubeconfig)
	} else if cfg, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil, exit.WithHint(err, "not in a Pod with a ServiceAccount: specify --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the API server: %w", err)
	}
	cfg.UserAgent = version.Get().UserAgent("scylla-agent")
	return cfg, nil
}

func (a *agent) client() (client.WithWatch, error) {
	cfg, err := a.restConfig()
	if err != nil {
		return nil, err
	}
	return kube.NewClient(cfg)
}

// pod is the Pod of this process, from flags or the downward API.
type pod struct{ namespace, name, uid string }

func (p *pod) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of this Pod (env POD_NAMESPACE)")
	fs.StringVar(&p.name, "pod-name", os.Getenv("POD_NAME"), "name of this Pod (env POD_NAME)")
	fs.StringVar(&p.uid, "pod-uid", os.Getenv("POD_UID"),
		"UID of this Pod (env POD_UID), so that a later Pod of the same name is not changed")
}

// listen opens an address; "" and "0" mean none.
func listen(address string) (net.Listener, error) {
	if address == "" || address == "0" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

func (a *agent) reporterCommand() *cobra.Command {
	var own pod
	o := reporter.Options{Interval: reporter.DefaultInterval, LeaseNamespace: barrier.DefaultLeaseNamespace}
	var base, metrics, supervisor, address, heartbeats string
	cmd := &cobra.Command{
		Use:   "reporter",
		Short: "Write the status report of the Pod's ScyllaDB to the Pod's annotation (native sidecar)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := reporter.ValidateInterval(o.Interval); err != nil {
				return err
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			if o.Listener, err = listen(address); err != nil {
				return err
			}
			if o.Heartbeat, err = listen(heartbeats); err != nil {
				return exit.WithHint(err, "use another port: --heartbeat-bind-address=:PORT")
			}
			o.Client, o.ScyllaDB, o.Log = c, scylla.NewClient(base, nil), a.log
			if metrics != "" {
				o.Metrics = scylla.NewClient(metrics, nil)
			}
			if supervisor != "" {
				o.Supervisor = scylla.NewClient(supervisor, nil)
			}
			o.Namespace, o.Pod, o.PodUID = own.namespace, own.name, types.UID(own.uid)
			return working(reporter.Run(cmd.Context(), o))
		},
	}
	fs := cmd.Flags()
	own.addFlags(fs)
	fs.DurationVar(&o.Interval, "status-report-interval", o.Interval,
		"time between two polls of ScyllaDB: at least 1s, with a heartbeat at most 30s; a status report is valid "+
			"for twice as long")
	fs.StringVar(&base, "scylla-api", scylla.DefaultBaseURL, "URL of ScyllaDB's REST API")
	fs.StringVar(&metrics, "scylla-metrics-url", scylla.DefaultMetricsURL,
		"URL of ScyllaDB's metrics, which show how far the node is behind in the log of group 0; empty disables this")
	fs.StringVar(&supervisor, "scylla-supervisor-url", scylla.DefaultSupervisorURL,
		"URL of supervisord in ScyllaDB's container, queried for the state of the process while ScyllaDB does not "+
			"respond; empty disables this")
	fs.StringVar(&address, "health-probe-bind-address", ":8081",
		"address of /healthz, /readyz and /metrics; 0 disables it")
	fs.StringVar(&o.Group0File, "group0-file", api.FileGroup0Query,
		"file with the ID of the node's group 0, which the query container writes; reported once the node is "+
			"running; may be absent")
	fs.StringVar(&o.CredentialDir, "credential-dir", "",
		"folder shared with the container of the credential, for its order and its result; empty if the Pod has no "+
			"such container")
	fs.StringVar(&heartbeats, "heartbeat-bind-address", ":8083",
		"address of the heartbeat (TLS), which the controller polls, and of the controller view for barriers that "+
			"cannot reach the controller; 0 disables it: the controller then uses only the annotation")
	removed(fs, "heartbeat")
	fs.StringVar(&o.LeaseNamespace, "lease-namespace", o.LeaseNamespace,
		"namespace of the controller's Lease, which contains the address of its views; empty relays no views")
	return cmd
}

func (a *agent) barrierCommand() *cobra.Command {
	var own pod
	var o barrier.Options
	var parse func() error
	cmd := &cobra.Command{
		Use:   "barrier",
		Short: "Wait until this member may start ScyllaDB, and show why it waits (init container)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parse(); err != nil {
				return err
			}
			o.NewClient, o.Log = a.client, a.log
			o.Namespace, o.Pod, o.PodUID = own.namespace, own.name, types.UID(own.uid)
			if o.Service == "" {
				o.Service = own.name
			}
			return working(barrier.Run(cmd.Context(), o))
		},
	}
	own.addFlags(cmd.Flags())
	parse = barrier.AddFlags(cmd.Flags(), &o)
	removed(cmd.Flags(), "when-controller-silent")
	return cmd
}

func (a *agent) copyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "copy-to PATH",
		Short: "Copy this binary to PATH, so that another container can start it (init container)",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("copy-to requires exactly one path, %d given", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this binary: %w", err)
			}
			if err := copyFile(self, args[0]); err != nil {
				return fmt.Errorf("copy %s to %s: %w", self, args[0], err)
			}
			a.log.Info("copied", "to", args[0])
			return nil
		},
	}
}

// copyFile replaces to atomically, so that an incomplete copy is never started.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.CreateTemp(filepath.Dir(to), ".scylla-agent-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = out.Close()
			_ = os.Remove(out.Name())
		}
	}()
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	if err = out.Chmod(0o755); err != nil { //nolint:gosec // another container's user starts it
		return err
	}
	if err = out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

func (a *agent) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			info := version.Get()
			var err error
			switch output {
			case "":
				_, err = fmt.Fprintln(a.stdout, "scylla-agent", info.Short())
			case "json":
				e := json.NewEncoder(a.stdout)
				e.SetIndent("", "  ")
				err = e.Encode(info)
			default:
				return exit.Usagef("unknown --output=%q: use json, or omit it", output)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or empty for one line")
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, %q given", cmd.Name(), args)
	}
	return nil
}
