package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the settings of one run.
type options struct {
	folder  string        // of the package, from the working directory
	n       int           // mutants wanted
	seed    uint64        // of the choice of mutants
	timeout time.Duration // of the tests of one mutant
	workers int           // mutants tested at the same time
	least   float64       // share of killed mutants wanted, from 0 to 1
	also    []string      // folders of other packages whose tests run as well
	args    []string      // further arguments of go test
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 200, "number of mutants")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice of mutants")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "time limit of the tests of one mutant")
	flag.IntVar(&o.workers, "p", 1, "number of mutants tested at the same time")
	flag.Float64Var(&o.least, "min", 0, "smallest share of killed mutants, from 0 to 1")
	also := flag.String("also", "",
		"folders of other packages whose tests run over each mutant as well, with commas between")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "mutate: no package given, want one folder such as ./memplan")
		os.Exit(2)
	}
	o.folder, o.args = flag.Arg(0), flag.Args()[1:]
	if *also != "" {
		o.also = strings.Split(*also, ",")
	}
	if len(o.args) > 0 && o.args[0] == "--" {
		o.args = o.args[1:]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

var errWeak = errors.New("fewer mutants were killed than wanted")
