package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gomx/launch"
	"gomx/launch/network"
	"gomx/launch/via/k8s"
	"gomx/launch/via/mpi"
	"gomx/launch/via/slurm"
	"gomx/launch/via/ssh"

	"github.com/spf13/pflag"
)

// viaFlags are the flags of gomx launch for jobs on several hosts.
type viaFlags struct {
	via   string
	hosts string
	iface string
	ports string
	ipv6  bool
	env   []string
	args  []string

	dryRun    bool
	output    string
	image     string
	name      string
	namespace string
	volumes   []string
}

func (v *viaFlags) add(flags *pflag.FlagSet, l *launch.Local) {
	flags.StringVar(&v.via, "via", "local",
		"engine that starts the processes: local, ssh, mpi, slurm or k8s")
	flags.StringVar(&v.hosts, "hosts", "", "file with a host on each line")
	flags.StringVar(&v.iface, "interface", "",
		"network interface whose address the processes use (default: the interface that reaches "+
			"the scheduler)")
	flags.BoolVar(&v.ipv6, "ipv6", false, "use addresses of IPv6")
	flags.StringVar(&v.ports, "ports", "",
		"range of ports at which the processes listen, FIRST-LAST (default: any port)")
	flags.StringArrayVar(&v.env, "env", nil, "variable for the processes, NAME=VALUE, or NAME "+
		"for the value that it has here; may be repeated")
	flags.StringArrayVar(&v.args, "engine-arg", nil,
		"argument for ssh, mpirun or srun; may be repeated")
	flags.StringVar(&l.Logs, "logs", "",
		"folder for the output of each process in a file of its own")
	flags.BoolVar(&v.dryRun, "dry-run", false,
		"print the objects of Kubernetes instead of starting processes")
	flags.StringVar(&v.output, "output", "",
		"folder for the objects of Kubernetes, with a kustomization, instead of standard output")
	flags.StringVar(&v.image, "image", "", "container image that holds the program (k8s)")
	flags.StringVar(&v.name, "name", "",
		"name of the objects of Kubernetes (default: name of the program)")
	flags.StringVar(&v.namespace, "namespace", "", "namespace of the objects of Kubernetes")
	flags.StringArrayVar(&v.volumes, "volume", nil,
		"persistent volume claim for all pods, CLAIM:PATH; may be repeated")
}

// run runs the job with the chosen engine.
func (v *viaFlags) run(ctx context.Context, l launch.Local) error {
	var err error
	if l.Ports, err = network.ParsePorts(v.ports); err != nil {
		return usageError{err}
	}
	if err := v.check(&l); err != nil {
		return usageError{err}
	}
	l.Env = append(l.Env, v.variables()...)
	switch v.via {
	case "ssh":
		return v.ssh(ctx, l)
	case "mpi", "slurm":
		return v.batch(ctx, l)
	case "k8s":
		return v.render(&l)
	}
	return l.Run(ctx)
}

// check returns an error for flags that the engine has not.
func (v *viaFlags) check(l *launch.Local) error {
	engines := map[string]string{"local": "", "ssh": "hosts interface ipv6 ports engine-arg",
		"mpi":   "hosts interface ipv6 ports engine-arg",
		"slurm": "hosts interface ipv6 ports engine-arg",
		"k8s":   "ipv6 dry-run output image name namespace volume"}
	known, ok := engines[v.via]
	if !ok {
		return fmt.Errorf("--via %q, want local, ssh, mpi, slurm or k8s", v.via)
	}
	for flag, given := range map[string]bool{"hosts": v.hosts != "", "interface": v.iface != "",
		"ipv6": v.ipv6, "ports": v.ports != "", "engine-arg": len(v.args) > 0,
		"dry-run": v.dryRun, "output": v.output != "", "image": v.image != "",
		"name": v.name != "", "namespace": v.namespace != "", "volume": len(v.volumes) > 0} {
		if given && !strings.Contains(" "+known+" ", " "+flag+" ") {
			return fmt.Errorf("--%s has no meaning with --via %s", flag, v.via)
		}
	}
	switch {
	case v.via != "local" && l.TCP:
		return fmt.Errorf("--tcp has no meaning with --via %s", v.via)
	case v.via == "ssh" && v.hosts == "":
		return errors.New("--via ssh without --hosts, want a file with a host on each line")
	case v.via == "k8s" && !v.dryRun:
		return errors.New("--via k8s without --dry-run: gomx prints the objects, and kubectl " +
			"apply starts them")
	case v.via == "k8s" && l.Resume:
		return errors.New("--resume has no meaning with --via k8s")
	}
	return nil
}

// variables returns the variables that the processes get beside the variables of the job.
func (v *viaFlags) variables() (list []string) {
	for _, entry := range v.env {
		if !strings.Contains(entry, "=") {
			value, set := os.LookupEnv(entry)
			if !set {
				continue
			}
			entry += "=" + value
		}
		list = append(list, entry)
	}
	if v.ipv6 && v.via != "k8s" {
		list = append(list, "GOMX_IPV6=on")
	}
	if v.iface != "" && v.via != "ssh" {
		list = append(list, "DMLC_INTERFACE="+v.iface)
	}
	return list
}

// forwarded are the variables that processes on other hosts inherit: those whose names begin so.
var forwarded = []string{"GOMX_", "PS_", "OMP_", "MXNET_", "LD_LIBRARY_PATH=", "GOMAXPROCS=",
	"GODEBUG=", "GOTRACEBACK="}

// ssh runs the job on the hosts of the file.
func (v *viaFlags) ssh(ctx context.Context, l launch.Local) error {
	list, err := ssh.ReadHosts(v.hosts)
	if err != nil {
		return usageError{err}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	c := ssh.Config{Hosts: list, Workers: l.Workers, Servers: l.Servers, Interface: v.iface,
		Cwd: cwd, Args: v.args}
	for _, entry := range launch.Inherited(os.Environ()) {
		for _, begin := range forwarded {
			if strings.HasPrefix(entry, begin) {
				c.Env = append(c.Env, entry)
			}
		}
	}
	if l.Remote, err = ssh.New(c); err != nil {
		return usageError{err}
	}
	return l.Run(ctx)
}

// batch runs the job with mpirun or srun.
func (v *viaFlags) batch(ctx context.Context, l launch.Local) error {
	var names, slots []string
	if v.hosts != "" {
		list, err := ssh.ReadHosts(v.hosts)
		if err != nil {
			return usageError{err}
		}
		for _, h := range list {
			names = append(names, h.Name)
			slots = append(slots, fmt.Sprintf("%s:%d", h.Name, h.Slots))
		}
	}
	b := launch.Batch{Local: l}
	if v.via == "mpi" {
		b.Tag = mpi.Tag
		b.Command = mpi.Config{Workers: l.Workers, Program: l.Program, Hosts: slots,
			Args: v.args}.Command
	} else {
		b.Tag = slurm.Tag
		b.Command = slurm.Config{Workers: l.Workers, Program: l.Program, Hosts: names,
			Args: v.args}.Command
	}
	return b.Run(ctx)
}

// render prints the objects of Kubernetes or writes them to a folder.
func (v *viaFlags) render(l *launch.Local) error {
	c := k8s.Config{Name: v.name, Namespace: v.namespace, Image: v.image, Program: l.Program,
		Env: l.Env, Workers: l.Workers, Servers: l.Servers, Retries: max(0, l.Restarts),
		Job: launch.Environ{Replicas: l.Replicas, Shrink: l.Shrink, Backups: l.Backups,
			Memory: l.Memory, Dir: l.Dir, Threads: l.Threads, Dead: l.Dead, Patience: l.Patience,
			Snapshots: l.Snapshots, IPv6: v.ipv6}}
	if l.Encrypt != launch.EncryptOff {
		c.Job.Encrypt = l.Encrypt
	}
	if c.Name == "" {
		c.Name = strings.ToLower(strings.ReplaceAll(filepath.Base(l.Program[0]), "_", "-"))
	}
	for _, text := range v.volumes {
		volume, err := k8s.ParseVolume(text)
		if err != nil {
			return usageError{err}
		}
		c.Volumes = append(c.Volumes, volume)
	}
	r, err := k8s.Render(c)
	if err != nil {
		return usageError{err}
	}
	if v.output != "" {
		return r.WriteFolder(v.output)
	}
	_, err = r.WriteTo(l.Stdout)
	return err
}
