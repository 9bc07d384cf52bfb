package main

import (
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"gomx/internal/bench"
)

func benchCommand(log zerolog.Logger) *cobra.Command {
	var peers []string
	var c bench.Config
	cmd := &cobra.Command{
		Use:   "bench NAME",
		Short: "Measure a suite of workloads, alternating with peers",
		Long: `Measure a suite (` + strings.Join(bench.Names(), ", ") + `) and print one line per workload:
name, ours, best peer, ratio, unit, which peer, separated by tabs.
A ratio above 1 means that gomx is better. Only ratios of one run count.
The suite engine compiles a program against the library in the peer's mxnet package, for which it needs gcc.`,
		Example: "  gomx bench local --peer mxnet=PYTHON\n  gomx bench imperative --match dot",
		Args:    exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, p := range peers {
				peer, err := bench.ParsePeer(p)
				if err != nil {
					return usageError{err}
				}
				c.Peers = append(c.Peers, peer)
			}
			c.Suite, c.Out, c.Log = args[0], cmd.OutOrStdout(), cmd.ErrOrStderr()
			log.Debug().Str("suite", c.Suite).Msg("bench")
			return bench.Run(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&peers, "peer", nil, "peer and its Python, as mxnet=PYTHON or torch=PYTHON; may be repeated")
	f.StringVar(&c.Match, "match", "", "only workloads whose name contains this")
	f.IntVar(&c.Rounds, "rounds", 3, "how often to alternate; the best of the rounds counts")
	return cmd
}
