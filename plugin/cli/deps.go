// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Terminal describes the standard streams.
type Terminal struct {
	In, Out, Err bool // is a terminal
	// Width and Height of standard output in cells; 0 if it is not a terminal.
	Width, Height int
}

// Deps has everything that a command may access.
type Deps struct {
	Streams genericiooptions.IOStreams
	// Flags are kubectl's flags (--context, -n, --as, ...), bound to the root command.
	Flags *genericclioptions.ConfigFlags
	Clock clock.WithTicker
	// Environ has the form of os.Environ.
	Environ []string
	// Terminal is called each time, because a window can change its size.
	Terminal func() Terminal
	// ReadsFiles is true while a command with --from runs; From are its values.
	ReadsFiles bool
	From       []string
	// RESTConfig, NewClient, ReadLive and WhoAmI access the API server; tests replace them.
	RESTConfig func() (*rest.Config, error)
	NewClient  func() (client.WithWatch, error)
	// ClientOf returns a client with other kinds than NewClient's.
	ClientOf func(cfg *rest.Config, scheme *runtime.Scheme) (client.Client, error)
	// ReadLive returns the same cluster with the rows and facts from each node's own API.
	ReadLive func(ctx context.Context, s *cluster.Cluster, opts kube.LiveOptions) (*cluster.Cluster, error)
	// Replication returns the replication of every keyspace, from the first of these Pods that
	// responds.
	Replication func(ctx context.Context, pods []corev1.Pod) ([]maintenance.Keyspace, error)
	// FlushLocal makes the ScyllaDB of a Pod write system.local to disk.
	FlushLocal func(ctx context.Context, pod corev1.Pod) error
	// WhoAmI returns the user's name from the API server, for Events; never empty.
	WhoAmI func(ctx context.Context) string

	// NotRepeated is a test's kubeconfig, which printed commands omit.
	NotRepeated string
	// Color is the value of --color.
	Color show.ColorMode

	telling atomic.Bool // a Progress is shown
}

// New returns the dependencies of a real run; terminal and environ come from the process.
func New(streams genericiooptions.IOStreams, clk clock.WithTicker, environ []string, terminal func() Terminal) *Deps {
	d := &Deps{
		Streams: streams, Clock: clk, Environ: environ, Terminal: terminal, Color: show.ColorAuto,
		Flags: genericclioptions.NewConfigFlags(true),
	}
	d.Flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.UserAgent = version.Get().UserAgent("kubectl-scylla")
		return c
	}
	d.RESTConfig = d.restConfig
	d.NewClient = func() (client.WithWatch, error) {
		cfg, err := d.RESTConfig()
		if err != nil {
			return nil, err
		}
		return kube.NewClient(cfg)
	}
	d.ClientOf = func(cfg *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
		return client.New(cfg, client.Options{Scheme: scheme})
	}
	d.ReadLive = func(ctx context.Context, s *cluster.Cluster, opts kube.LiveOptions) (*cluster.Cluster, error) {
		cfg, err := d.RESTConfig()
		if err != nil {
			return nil, err
		}
		return s.WithLive(kube.ReadLive(ctx, cfg, s.Pods, opts)), nil
	}
	d.WhoAmI, d.Replication, d.FlushLocal = d.whoAmI, d.replication, d.flushLocal
	return d
}

// env reads one variable of Environ.
func (d *Deps) env(name string) string {
	for _, kv := range d.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (d *Deps) restConfig() (*rest.Config, error) {
	loader := d.Flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil,
			d.ways(exit.WithHint(fmt.Errorf("read kubeconfig: %w", kubeconfigCause(err)),
				"check --kubeconfig and KUBECONFIG, or read saved objects with --from FILE"))
	}
	server := d.Flags.APIServer != nil && *d.Flags.APIServer != ""
	if len(raw.Clusters) == 0 && !server && d.env("KUBERNETES_SERVICE_HOST") == "" && d.env("KUBERNETES_MASTER") == "" {
		// Without this, client-go uses localhost:8080, and the user sees a refused connection.
		return nil, d.ways(exit.WithHint(errors.New("no kubeconfig, so the API server's address is unknown"),
			"set KUBECONFIG or --kubeconfig, or read saved objects with --from FILE"))
	}
	cfg, err := d.Flags.ToRESTConfig()
	if err != nil {
		return nil, exit.WithHint(fmt.Errorf("read kubeconfig: %w", kubeconfigCause(err)),
			"list the contexts: kubectl config get-contexts")
	}
	if _, _, err := rest.DefaultServerUrlFor(cfg); err != nil {
		return nil, exit.WithHint(fmt.Errorf("invalid API server address %q: must be a URL or host:port", cfg.Host),
			"check --server and the kubeconfig")
	}
	return cfg, nil
}

// ways removes the advice to read saved objects from the hint of a command that cannot.
func (d *Deps) ways(err error) error {
	if e, ok := errors.AsType[*exit.Error](err); ok && !d.ReadsFiles {
		e.Hint = strings.TrimSuffix(e.Hint, ", or read saved objects with --from FILE")
	}
	return err
}

// kubeconfigCause removes client-go's prefix, which the surrounding sentence repeats.
func kubeconfigCause(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "error loading config file "); ok {
		return errors.New(rest)
	}
	return err
}

// Namespace returns the value of -n, else the namespace of the kubeconfig's context, else
// "default".
func (d *Deps) Namespace() (string, error) {
	if given := d.NamespaceGiven(); given != "" {
		return given, nil // the loader below keeps the first value
	}
	ns, _, err := d.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "",
			d.ways(exit.WithHint(fmt.Errorf("read kubeconfig: %w", kubeconfigCause(err)),
				"check --kubeconfig and KUBECONFIG, or read saved objects with --from FILE"))
	}
	return ns, nil
}

// Context returns the name of the kubeconfig context in use, empty if there is none.
func (d *Deps) Context() string {
	if d.Flags.Context != nil && *d.Flags.Context != "" {
		return *d.Flags.Context
	}
	raw, err := d.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// Given returns the user's kubectl flags for printed commands, so that they work when pasted. A
// token is secret and never repeated. The namespace is omitted, because each command has its own.
func (d *Deps) Given() []string {
	f := d.Flags
	var out []string
	add := func(name string, value *string) {
		if value != nil && *value != "" && (name != "kubeconfig" || *value != d.NotRepeated) {
			out = append(out, "--"+name+"="+*value)
		}
	}
	add("kubeconfig", f.KubeConfig)
	add("context", f.Context)
	add("cluster", f.ClusterName)
	add("user", f.AuthInfoName)
	add("server", f.APIServer)
	add("as", f.Impersonate)
	if f.ImpersonateGroup != nil {
		for _, g := range *f.ImpersonateGroup {
			out = append(out, "--as-group="+g)
		}
	}
	return out
}

// Handed returns the user's flags, except the named ones, for a kubectl process. The namespace is
// omitted, because the process has its own.
func Handed(flags *pflag.FlagSet, not ...string) []string {
	var out []string
	not = append(not, "namespace", "color")
	flags.VisitAll(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Changed && !slices.Contains(not, f.Name) {
				out = append(out, "--"+f.Name+"="+value)
			}
		}
	})
	return out
}

// Words returns a Printer whose commands repeat the user's flags.
func (d *Deps) Words() words.Printer { return words.Printer{Flags: d.Given(), From: d.From} }

// foreignContext returns the context in use if it is not the kubeconfig's current context.
func (d *Deps) foreignContext() string {
	if d.Flags.Context == nil || *d.Flags.Context == "" {
		return ""
	}
	raw, err := d.Flags.ToRawKubeConfigLoader().RawConfig()
	if err == nil && raw.CurrentContext == *d.Flags.Context {
		return ""
	}
	return *d.Flags.Context
}

// NamespaceGiven returns the value of -n, empty if not set.
func (d *Deps) NamespaceGiven() string {
	if d.Flags.Namespace == nil {
		return ""
	}
	return *d.Flags.Namespace
}

func (d *Deps) whoAmI(ctx context.Context) string {
	// The API server's response is correct for all kinds of credentials, including impersonation.
	if cfg, err := d.RESTConfig(); err == nil {
		if name, err := selfSubject(ctx, cfg); err == nil && name != "" {
			return name
		}
	}
	if d.Flags.Impersonate != nil && *d.Flags.Impersonate != "" {
		return *d.Flags.Impersonate
	}
	if raw, err := d.Flags.ToRawKubeConfigLoader().RawConfig(); err == nil {
		if c := raw.Contexts[raw.CurrentContext]; c != nil && c.AuthInfo != "" {
			return c.AuthInfo
		}
	}
	return "unknown user"
}

func selfSubject(ctx context.Context, cfg *rest.Config) (string, error) {
	s := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(s); err != nil {
		return "", err
	}
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{authenticationv1.SchemeGroupVersion})
	m.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	c, err := client.New(cfg, client.Options{Scheme: s, Mapper: m})
	if err != nil {
		return "", err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// Options returns the terminal's options for text on standard output.
func (d *Deps) Options(wide bool) show.Options {
	t := d.Terminal()
	o := show.Options{
		Profile: show.Profile(d.Streams.Out, d.Color, d.Environ), ASCII: !show.Unicode(d.Environ), Wide: wide,
		Words: d.Words(), Context: d.foreignContext(),
	}
	if t.Out {
		o.Width, o.Height = t.Width, t.Height
	}
	return o
}

// Print writes text to standard output in the supported colours.
func (d *Deps) Print(text string, o show.Options) error {
	if _, err := io.WriteString(show.NewWriter(d.Streams.Out, o.Profile), text); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

// Warn writes one line to standard error.
func (d *Deps) Warn(format string, args ...any) {
	w := show.NewWriter(d.Streams.ErrOut, show.Profile(d.Streams.ErrOut, d.Color, d.Environ))
	// Errors of a closed standard error cannot be reported.
	_, _ = io.WriteString(w, show.Warn.Paint("warning:")+" "+words.Visible(fmt.Sprintf(format, args...))+"\n")
}

// Say writes text to standard error, with hidden characters visible: it can contain names from a
// file.
func (d *Deps) Say(text string) { d.Rendered(words.Visible(text)) }

// Rendered writes the text of package show to standard error, with its styles.
func (d *Deps) Rendered(text string) {
	w := show.NewWriter(d.Streams.ErrOut, show.Profile(d.Streams.ErrOut, d.Color, d.Environ))
	_, _ = io.WriteString(w, text)
}

// ReasonUsage is the usage of --reason.
const ReasonUsage = "Reason, recorded in an Event."

// YesUsage is the usage of --yes.
const YesUsage = "Do not ask for confirmation."

// maxAnswer limits an answer in bytes: a longer answer is always wrong.
const maxAnswer = 4096

// Confirm asks the user to type want. Errors: exit.Refused if standard input is not a terminal or
// the answer differs.
func (d *Deps) Confirm(ctx context.Context, question, want string) error {
	if !d.Terminal().In {
		return exit.WithHint(exit.Refusedf("cannot ask for confirmation: standard input is not a terminal"),
			"add --yes if you are sure")
	}
	d.Say(fmt.Sprintf("%s Type %q to continue: ", question, want))
	type answer struct {
		text string
		err  error
	}
	// A read cannot be interrupted, so it has its own goroutine; the process ends soon after an
	// interrupt.
	got := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(d.Streams.In, maxAnswer)).ReadString('\n')
		got <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		d.Say("\n")
		return exit.Interrupted(ctx.Err())
	case a := <-got:
		if errors.Is(a.err, io.EOF) {
			d.Say("\n") // end the prompt's line: Enter was not pressed
		}
		if text := strings.TrimSpace(a.text); text != want {
			if a.err != nil && !errors.Is(a.err, io.EOF) {
				return fmt.Errorf("read the answer: %w", a.err)
			}
			return exit.Refusedf("not confirmed: nothing was changed")
		}
		return nil
	}
}
