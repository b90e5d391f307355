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

// NewCommand returns `launch -- COMMAND ARGUMENTS`. It uses a parent's flag --kubeconfig, else the
// Pod's ServiceAccount. Logs go to slog's default.
func NewCommand() *cobra.Command {
	o := Options{Clock: clock.RealClock{}, Environ: os.Environ()}
	cmd := &cobra.Command{
		Use:   "launch [flags] -- COMMAND [ARGUMENTS]",
		Short: "Start ScyllaDB, as the replacement of a dead node if the member Service requests it",
		Long: "launch reads the Pod's member Service and executes COMMAND, with ScyllaDB's replace arguments if the " +
			"Service records a replacement.\n" +
			"It chooses the seeds: up to three members that have joined and are UP, then the seeds of COMMAND in " +
			"other places, and the node\n" +
			"itself only if it is the first node. A data directory that has completed its bootstrap starts with " +
			"COMMAND unchanged if the API\n" +
			"server does not respond in 5 seconds. A new one waits for the API server, and until the judgement of " +
			"its Pod's barrier, which launch\n" +
			"repeats, lets it start. With invalid labels, ScyllaDB never starts as a plain new node.\n\n" +
			"Exit codes before COMMAND has started: 2 waiting cannot help, 75 the API server did not respond in " +
			"time (start again), 78 the " +
			"labels must be corrected.",
		Example: "  scylla-agent launch -- /docker-entrypoint.py --cluster-name=demo",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 {
				return exit.Usagef(
					"specify ScyllaDB's command after --, for example: scylla-agent launch -- /docker-entrypoint.py")
			}
			if len(args) == 0 {
				return exit.Usagef("no command after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command, o.Log = args, slog.Default()
			var made client.WithWatch
			o.Client = func() (client.WithWatch, error) {
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
	fs.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of this Pod (env POD_NAMESPACE)")
	fs.StringVar(&o.Service, "pod-name", os.Getenv("POD_NAME"),
		"name of this Pod and its member Service (env POD_NAME)")
	fs.StringVar(&o.QueryFile, "query-file", api.FileBootstrappedQuery,
		"output file of the query container; FILE.code has its exit code")
	fs.StringVar(&o.DataDir, "data-dir", disk.DefaultDir,
		"ScyllaDB's volume; the only member of a cluster restarts if it contains ScyllaDB files")
	fs.DurationVar(&o.Patience, "patience", 5*time.Minute,
		"how long to retry while the API server does not respond, before exit code 75; 0 retries indefinitely")
	return cmd
}

func restConfig(cmd *cobra.Command) (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if f := cmd.Flag("kubeconfig"); f != nil && f.Value.String() != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", f.Value.String())
	} else if cfg, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("%w; not in a Pod with a ServiceAccount: specify --kubeconfig", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the API server: %w", err)
	}
	cfg.UserAgent = version.Get().UserAgent("scylla-agent")
	return cfg, nil
}
