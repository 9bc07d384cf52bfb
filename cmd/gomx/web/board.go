package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"gomx/board"
	"gomx/cmd/gomx/fault"

	"github.com/spf13/cobra"
)

// boardFlags are the flags of the command board.
type boardFlags struct {
	addr  string
	jobs  []string
	token string
	every time.Duration
}

// Command returns the command board.
func Command() *cobra.Command {
	var f boardFlags
	cmd := &cobra.Command{
		Use:   "board [DIR]",
		Short: "Show runs and jobs on a web page",
		Long: `Serve a web page with the runs in and below a folder, runs by default, and with the
jobs that run on this machine: curves, graph, plan of memory, trace, histograms, hyper-parameters
and scores, confusion matrix and predictions; processes, clocks, waits, shards and events of jobs.
The page follows them while they change, and changes nothing.

The page is for this machine alone unless --addr says otherwise. Then it wants a token, which is
part of the address that the command prints.`,
		Example: "  gomx board\n  gomx board runs --addr 0.0.0.0:6016",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fault.Usage(fmt.Errorf("%d arguments, want at most one: %s", len(args),
					cmd.UseLine()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "runs"
			if len(args) > 0 {
				dir = args[0]
			}
			return f.run(cmd, dir)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:6016",
		"host and port to listen at; port 0: any free one")
	cmd.Flags().StringArrayVar(&f.jobs, "job", nil,
		"folder or address of a job to show (default: all jobs of gomx launch on this machine)")
	cmd.Flags().StringVar(&f.token, "token", "",
		"token that readers must give (default: a random one, and none on the loopback)")
	cmd.Flags().DurationVar(&f.every, "every", time.Second,
		"time between two looks at runs and jobs")
	return cmd
}

func (f *boardFlags) run(cmd *cobra.Command, dir string) error {
	ctx := cmd.Context()
	if f.every <= 0 {
		return fault.Usage(fmt.Errorf("--every %v, want a positive duration", f.every))
	}
	if f.token == "" && !board.Loopback(f.addr) {
		f.token = board.NewToken()
	}
	b, err := board.New(board.Config{Dir: dir, Jobs: f.jobs, Token: f.token, Every: f.every})
	if errors.Is(err, os.ErrNotExist) {
		return fault.Hint(err, "record a run with module.Record(\"runs/NAME\"), or name its "+
			"folder: gomx board DIR")
	}
	if err != nil {
		return err
	}
	defer b.Close()
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fault.Hint(err, "choose another port: gomx board --addr 127.0.0.1:0")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "runs of %s: http://%s/%s\n", dir, shownAddr(l.Addr().String()),
		query(f.token))
	s := &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		_ = b.Close() // ends the streams, which have no end of their own
		_ = s.Close()
	})
	defer stopped()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// query is the end of the page's address that has the token.
func query(token string) string {
	if token == "" {
		return ""
	}
	return "?token=" + token
}

// shownAddr replaces the address that means all addresses by the name of this machine.
func shownAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return net.JoinHostPort(name, port)
		}
	}
	return addr
}
