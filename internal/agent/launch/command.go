// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/disk"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/version"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// NewCommand returns `launch -- COMMAND ARGUMENTS`. Where a parent command has a flag --kubeconfig it is used; without it the Pod's
// ServiceAccount is. Logs go to slog's default.
func NewCommand() *cobra.Command {
	o := Options{Clock: clock.RealClock{}, Environ: os.Environ()}
	cmd := &cobra.Command{
		Use:   "launch [flags] -- COMMAND [ARGUMENTS]",
		Short: "Start ScyllaDB, as the replacement of a dead node when the member Service says so",
		Long: "launch reads the Pod's member Service and becomes COMMAND, with ScyllaDB's replace arguments added when a replacement is recorded\n" +
			"there. It chooses the seeds: up to three members that have joined and are UP, then those that COMMAND has of nodes elsewhere, and the\n" +
			"node itself only when it is the first of all. A data directory that has completed its bootstrap starts as it was given when the API\n" +
			"server does not answer in 5 seconds. A new one waits for its answer. Labels that cannot be used never start ScyllaDB as a plain new node.\n\n" +
			"Exit codes before COMMAND has started: 75 the API server did not answer in time (start again), 78 the labels must be corrected.",
		Example: "  scylla-agent launch -- /docker-entrypoint.py --cluster-name=demo",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return exit.Usagef("give ScyllaDB's command after --, as in: scylla-agent launch -- /docker-entrypoint.py")
			}
			if len(args) == 0 {
				return exit.Usagef("no command given after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command, o.Log = args, slog.Default()
			var made client.Reader
			o.Client = func() (client.Reader, error) {
				if made != nil {
					return made, nil
				}
				cfg, err := restConfig(cmd)
				if err != nil {
					return nil, err
				}
				c, err := kube.NewClient(cfg)
				if err != nil {
					return nil, err
				}
				made = c
				return made, nil
			}
			return Run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the own Pod (env POD_NAMESPACE)")
	fs.StringVar(&o.Service, "pod-name", os.Getenv("POD_NAME"), "name of the own Pod and its member Service (env POD_NAME)")
	fs.StringVar(&o.QueryFile, "query-file", api.FileBootstrappedQuery, "output of the query container, FILE.code its exit code")
	fs.StringVar(&o.DataDir, "data-dir", disk.DefaultDir, "ScyllaDB's volume; the only member of a cluster starts again when its own files are in it")
	fs.DurationVar(&o.Patience, "patience", 5*time.Minute, "how long to ask an API server that does not answer before ending with code 75; 0 asks for ever")
	return cmd
}

func restConfig(cmd *cobra.Command) (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if f := cmd.Flag("kubeconfig"); f != nil && f.Value.String() != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", f.Value.String())
	} else if cfg, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("%w; this is not a Pod with a ServiceAccount: give --kubeconfig", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the API server: %w", err)
	}
	cfg.UserAgent = version.Get().UserAgent("scylla-agent")
	return cfg, nil
}
