package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/zoo"
	"gomx/initializer"
	"gomx/kvstore/compress"
	"gomx/launch"
	"gomx/plan"
	"gomx/plan/measure"
	sym "gomx/symbol"
)

// planFlags are the flags of the command plan.
type planFlags struct {
	shapes       []string
	space        plan.Space
	compressions []string
	memory       string
	link         string
	encrypt      string
	rows         int
	json         bool
	check        bool
	refresh      bool
	cache        string
}

func planCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan MODEL",
		Short: "Predict the speed, memory and traffic of distributed training",
		Long: `Predict the throughput, the memory and the traffic of jobs that train MODEL, and name
the limit of each: compute, server, network, memory or stragglers. The table begins with the fastest
job that fits into the machines.

MODEL is a -symbol.json file, a name of gomx zoo list, or one of lenet, lstm and resnet18-small. The
first extent of a shape is the batch of one worker.

The first run measures this machine for some minutes, and each network for some steps. The results
are kept in the folder of --cache until the processor or the version of gomx changes. The machines
of the job are taken to be as fast as this one. Their link is the loopback of this machine if there
is one of them, else the link of --link, over which messages are encrypted.

With --check, the command predicts 12 fixed jobs, then measures them and prints the errors.`,
		Example: "  gomx plan lenet\n" +
			"  gomx plan resnet50_v1 --shape data=32,3,224,224 --machines 4 --cores 16 --memory " +
			"64GiB " +
			"--link 10Gbit,50us\n" +
			"  gomx plan model-symbol.json --shape data=128,784 --workers 1,2,4 --servers 1,2 " +
			"--store dist_sync,dist_ssp --json\n" +
			"  gomx plan --check",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.check {
				return exactArgs(0)(cmd, args)
			}
			return exactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.check {
				return f.runCheck(cmd.Context(), cmd.OutOrStdout())
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	f.register(cmd)
	return cmd
}

func (f *planFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.shapes, "shape", nil,
		"shape of an input with the batch of one worker, as in data=64,1,28,28")
	flags.IntSliceVar(&f.space.Workers, "workers", nil,
		"numbers of workers to compare (default: up to the number of all cores)")
	flags.IntSliceVar(&f.space.Servers, "servers", nil,
		"numbers of servers to compare (default: up to the number of machines)")
	flags.IntSliceVar(&f.space.Staleness, "staleness", []int{3},
		"numbers of clocks to compare by which a worker of dist_ssp may run ahead")
	flags.IntSliceVar(&f.space.Batches, "batch", nil,
		"batches of one worker to compare (default: the first extent of --shape)")
	flags.StringSliceVar(&f.space.Stores, "store", nil,
		"stores to compare: "+strings.Join(plan.Stores(), ", ")+" (default: all)")
	flags.StringSliceVar(&f.compressions, "compression", nil,
		"codes of gradients to compare: none, 2bit, 1bit, topk, fp16 (default: none)")
	flags.IntVar(&f.space.Machines.Count, "machines", 1, "number of equal machines")
	flags.IntVar(&f.space.Machines.Cores, "cores", 0,
		"number of cores of each machine (default: the cores of this machine)")
	flags.StringVar(&f.memory, "memory", "",
		"memory of each machine, as in 16GiB; jobs that need more are listed last (default: no "+
			"limit)")
	flags.StringVar(&f.link, "link", "1Gbit,100us",
		"bandwidth and latency of the link of each machine")
	flags.StringVar(&f.encrypt, "encrypt", launch.EncryptBulk,
		"encryption between machines: bulk, curve or off")
	flags.IntVar(&f.space.States, "states", 0,
		"number of arrays that the optimizer keeps for each parameter: 1 for momentum, 2 for Adam")
	flags.IntVar(&f.rows, "rows", 12, "number of rows of the table, 0 for all")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.BoolVar(&f.check, "check", false, "measure 12 fixed jobs after predicting them")
	flags.BoolVar(&f.refresh, "refresh", false, "measure this machine and the network anew")
	flags.StringVar(&f.cache, "cache", "",
		"folder of the measurements (default: gomx/plan in the user's folder for caches)")
}

// open makes the measurer and reads its cache; end removes the temporary files.
func (f *planFlags) open() (c *measure.Cache, end func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	folder := f.cache
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, nil, fmt.Errorf("%w: give a folder with --cache", err)
		}
		folder = filepath.Join(user, "gomx", "plan")
	}
	dir, err := os.MkdirTemp("", "gomx-plan-")
	if err != nil {
		return nil, nil, err
	}
	m := &measure.Measurer{Program: []string{exe, measure.NodeCommand}, Dir: dir,
		Report: func(text string) { fmt.Fprintln(os.Stderr, "measuring", text) }}
	if c, err = m.Open(folder, version+revision(), f.refresh); err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return c, func() { os.RemoveAll(dir) }, nil
}

func (f *planFlags) runCheck(ctx context.Context, out io.Writer) error {
	c, end, err := f.open()
	if err != nil {
		return err
	}
	defer end()
	return c.Check(ctx, out)
}

// run predicts and prints.
func (f *planFlags) run(ctx context.Context, out io.Writer, name string) error {
	space, err := f.configurations()
	if err != nil {
		return usageError{err}
	}
	s, shapes, err := f.model(name)
	if err != nil {
		return err
	}
	c, end, err := f.open()
	if err != nil {
		return err
	}
	defer end()
	host, err := c.Host(ctx)
	if err != nil {
		return err
	}
	if space.Machines.Cores == 0 {
		space.Machines.Cores = host.Cores
	}
	data, _ := plan.Inputs(s, shapes)
	if len(space.Batches) == 0 && len(data) > 0 {
		space.Batches = []int{shapes[data[0]][0]}
	}
	list, err := plan.Propose(space, host, func(batch, threads int) (*plan.Network, *plan.Compute,
		error) {
		sized := map[string]dtype.Shape{}
		for name, shape := range shapes {
			sized[name] = shape.Clone()
			sized[name][0] = batch
		}
		return c.Compute(ctx, s, sized, threads)
	}, f.rows)
	if err != nil {
		return err
	}
	if f.rows > 0 {
		list = list[:min(f.rows, len(list))]
	}
	if f.json {
		return plan.WriteJSON(out, list)
	}
	if err := plan.WriteTable(out, list); err != nil {
		return err
	}
	return plan.WriteBest(out, list)
}

// configurations reads the flags.
func (f *planFlags) configurations() (plan.Space, error) {
	s := f.space
	for _, name := range f.compressions {
		m, err := compress.Parse(map[string]any{"type": name})
		if err != nil {
			return s, fmt.Errorf("--compression: %w", err)
		}
		s.Compressions = append(s.Compressions, m)
	}
	for _, list := range []struct {
		flag   string
		values []int
		least  int
	}{{"workers", s.Workers, 1}, {"servers", s.Servers, 1},
		{"staleness", s.Staleness, 0},
		{"batch", s.Batches, 1}, {"states", []int{s.States}, 0}, {"rows", []int{f.rows},
			0},
		{"machines", []int{s.Machines.Count}, 1}, {"cores", []int{s.Machines.Cores},
			0}} {
		for _, v := range list.values {
			if v < list.least {
				return s, fmt.Errorf("--%s %d, want at least %d", list.flag, v, list.least)
			}
		}
	}
	for _, name := range s.Stores {
		if j := (plan.Job{Store: name, Workers: 1, Servers: 1,
			Machines: plan.Machines{Count: 1, Cores: 1}}); name != plan.StoreRing {
			if err := j.Check(); err != nil {
				return s, fmt.Errorf("--store: %w", err)
			}
		}
	}
	var err error
	if f.memory != "" {
		if s.Machines.Memory, err = parseBytes(f.memory); err != nil {
			return s, fmt.Errorf("--memory %q: %w", f.memory, err)
		}
	}
	ways := map[string]string{launch.EncryptBulk: plan.WayBulk,
		launch.EncryptCurve: plan.WayCurve, launch.EncryptOff: plan.WayTCP}
	if s.Machines.Way = ways[f.encrypt]; s.Machines.Way == "" {
		return s, fmt.Errorf("--encrypt %q, want bulk, curve or off", f.encrypt)
	}
	s.Machines.Link, err = parseLink(f.link)
	return s, err
}

// model reads a file or makes a network, and returns the shapes of its inputs.
func (f *planFlags) model(name string) (*sym.Symbol, map[string]dtype.Shape, error) {
	shapes, err := parseShapes(f.shapes)
	if err != nil {
		return nil, nil, err
	}
	for name, shape := range shapes {
		if len(shape) == 0 || shape[0] < 1 {
			return nil, nil, usageError{fmt.Errorf(
				"--shape %s=%v, want a batch of at least 1 first",
				name, shape)}
		}
	}
	if m, ok := plan.FindModel(name); ok {
		for input, shape := range shapes {
			m.Shapes[input] = shape
		}
		return m.Symbol(), m.Shapes, nil
	}
	if _, err := zoo.Find(name); err == nil {
		return zooSymbol(name, shapes)
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, usageError{plan.UnknownModel(name)}
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := sym.Load(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(shapes) == 0 {
		return nil, nil, usageError{fmt.Errorf("%s: no shape, want --shape NAME=BATCH,... for its "+
			"inputs", name)}
	}
	return plan.WithLoss(s), shapes, nil
}

// zooSymbol makes a network of the zoo with a loss. Shapes that are not given are the network's
// own, with a batch of 32.
func zooSymbol(name string, given map[string]dtype.Shape) (*sym.Symbol, map[string]dtype.Shape,
	error) {
	entry, err := zoo.Find(name)
	if err != nil {
		return nil, nil, usageError{err}
	}
	net, err := entry.New()
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := net.Init(initializer.Zero{}); err != nil {
		return nil, nil, err
	}
	shapes := map[string]dtype.Shape{}
	opts := []gluon.ExportOption{gluon.GlobalNames("")}
	for _, in := range entry.Inputs {
		shape := in.Shape.Clone()
		if shape[0] = 32; given[in.Name] != nil {
			shape = given[in.Name]
		}
		shapes[in.Name] = shape
		opts = append(opts, gluon.Input(in.Name, shape...))
	}
	for input := range given {
		if shapes[input] == nil {
			return nil, nil, usageError{fmt.Errorf("--shape: %s has no input %q, want %q",
				name, input, entry.Inputs[0].Name)}
		}
	}
	s, err := net.Symbol(opts...)
	if err != nil {
		return nil, nil, err
	}
	return plan.WithLoss(s), shapes, nil
}

// parseBytes reads a number of bytes, such as 512MiB, 16GiB or 8GB.
func parseBytes(text string) (int64, error) {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3},
		{"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || !(v > 0) {
				break
			}
			return int64(v * unit.bytes), nil
		}
	}
	return 0, errors.New("want a number with MiB, GiB, TiB, MB, GB or TB")
}

// parseLink reads bandwidth and latency, such as 10Gbit,50us.
func parseLink(text string) (l plan.Link, err error) {
	fail := fmt.Errorf("--link %q, want bandwidth and latency, as in 10Gbit,50us", text)
	rate, latency, ok := strings.Cut(text, ",")
	if !ok {
		return l, fail
	}
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"Gbit", 1e9 / 8}, {"Mbit", 1e6 / 8}, {"GB", 1e9}, {"MB", 1e6}} {
		number, ok := strings.CutSuffix(strings.TrimSpace(rate), unit.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0) {
			return l, fail
		}
		l.Bandwidth = v * unit.bytes
		break
	}
	d, err := time.ParseDuration(strings.TrimSpace(latency))
	if err != nil || d < 0 || l.Bandwidth == 0 {
		return l, fail
	}
	l.Latency = d.Seconds()
	return l, nil
}

// planNodeCommand is the hidden command that the command plan runs for its measurements.
func planNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    measure.NodeCommand + " TASK",
		Hidden: true,
		Args:   exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return measure.RunNode(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
