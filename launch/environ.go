package launch

import (
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gomx/kvstore/wire"
	"gomx/launch/network"
	"gomx/launch/rank"
)

// Environ is the description of a job in the environment of a process. The names of variables are
// MXNet's where MXNet has one, so that its scripts and schedulers can start jobs.
type Environ struct {
	Role wire.Role // DMLC_ROLE; NoRole: no job
	// Rank is DMLC_WORKER_ID or DMLC_SERVER_ID, else DMLC_RANK; -1: the scheduler chooses.
	Rank    int
	Workers int // DMLC_NUM_WORKER
	// Servers is DMLC_NUM_SERVER; 0: the workers keep the parameters, with the store allreduce.
	Servers int

	// Scheduler is the address of the scheduler: GOMX_SCHEDULER, or
	// tcp://DMLC_PS_ROOT_URI:DMLC_PS_ROOT_PORT. With a View it is empty or ipc, for TCP or local
	// sockets, or in a scheduler the address at which that scheduler listens.
	Scheduler string
	// View is the address of the store that keeps the scheduler's view and says which of several
	// schedulers leads: GOMX_VIEW, see view.Open. Empty: the job has one scheduler, at a fixed
	// address.
	View string
	// Host is the name under which other processes reach this one: DMLC_NODE_HOST. Empty: the
	// loopback, if the scheduler listens there.
	Host string
	// Interface is the network interface whose address is the Host: DMLC_INTERFACE.
	Interface string
	// IPv6 chooses addresses of IPv6 where a host or an interface has both: GOMX_IPV6=on.
	IPv6  bool
	Ports network.Ports // GOMX_PORTS, FIRST-LAST: ports at which the processes listen
	// Meet is a file to which the scheduler writes its address for the other processes: GOMX_MEET.
	Meet string

	Job      uint64 // GOMX_JOB, hexadecimal: number of the job; messages of other jobs are ignored
	Replicas int    // GOMX_REPLICAS: copies of every shard, 1 or 2
	Shrink   bool   // GOMX_POLICY=shrink: rounds close without dead workers; default: they wait
	Backups  int    // GOMX_BACKUP_WORKERS: number of slowest workers that a round does not wait for
	Memory   uint64 // GOMX_SERVER_MEMORY: bytes that a server may use for its keys; 0: no limit
	Dir      string // GOMX_DIR: folder for the scheduler's view, addresses and local sockets
	Keys     string // GOMX_KEYS: folder of CURVE keys; empty: no encryption, on the loopback only
	// Encrypt is the encryption of payloads between servers and workers, if there are keys:
	// GOMX_ENCRYPT, EncryptBulk by default.
	Encrypt string
	// GOMX_STATUS: address of the health and metrics pages; default 127.0.0.1:0, "off": none
	Status string
	// Snapshots is the folder of the job's snapshots, GOMX_SNAPSHOTS; Restore is the folder of the
	// snapshot to continue from, GOMX_RESTORE.
	Snapshots, Restore string
	// Launcher is a file that the launcher keeps locked while it lives, GOMX_LAUNCHER; empty: the
	// process has no launcher.
	Launcher string
	Threads  int // GOMX_THREADS: number of cores for the kernels of this process; 0: all
	// Share is the number of workers that share the cores of this host, GOMX_LOCAL_WORKERS. It
	// gives Threads a default. 0: unknown.
	Share int
	// BFloat16 are the classes of products that are computed in bfloat16 where a program asks for
	// that, as device.Products spells them: GOMX_BFLOAT16. In a job the scheduler's count. Empty:
	// the processor decides, see package narrow.
	BFloat16 string
	// Cache is the folder that keeps measurements of the processor: GOMX_CACHE; empty: gomx in the
	// user's folder for caches.
	Cache string
	// NoShared turns off shared memory, which carries large payloads between processes of one host:
	// GOMX_SHARED_MEMORY=off.
	NoShared bool

	Heartbeat time.Duration // PS_HEARTBEAT_INTERVAL, in seconds
	Dead      time.Duration // PS_HEARTBEAT_TIMEOUT, in seconds
	Patience  time.Duration // GOMX_PATIENCE, in seconds: see kvstore.JobConfig
	// LogJSON makes each line of the log an object of JSON: GOMX_LOG=json.
	LogJSON bool
	// Trace is the destination of the traces of training steps, see monitor.OpenTraces: GOMX_TRACE;
	// empty: no traces. TraceEvery is the number of steps from one traced step to the next:
	// GOMX_TRACE_EVERY; 0: 100.
	Trace      string
	TraceEvery int

	// place is the place of the process among the processes that MPI, Slurm or Kubernetes has
	// started. It is the zero value if DMLC_ROLE is set.
	place rank.Place
	// Drain is the time in which a process leaves the job after SIGTERM, GOMX_DRAIN, in seconds; 0:
	// 30 s.
	Drain   time.Duration
	Verbose int // PS_VERBOSE: 1 logs changes of state, 2 details
}

// Names of variables.
const (
	envRole      = "DMLC_ROLE"
	envWorkers   = "DMLC_NUM_WORKER"
	envServers   = "DMLC_NUM_SERVER"
	envRootHost  = "DMLC_PS_ROOT_URI"
	envRootPort  = "DMLC_PS_ROOT_PORT"
	envWorkerID  = "DMLC_WORKER_ID"
	envServerID  = "DMLC_SERVER_ID"
	envRank      = "DMLC_RANK"
	envHost      = "DMLC_NODE_HOST"
	envAttempts  = "DMLC_NUM_ATTEMPT"
	envHeartbeat = "PS_HEARTBEAT_INTERVAL"
	envDead      = "PS_HEARTBEAT_TIMEOUT"
	envVerbose   = "PS_VERBOSE"
	envScheduler = "GOMX_SCHEDULER"
	envJob       = "GOMX_JOB"
	envReplicas  = "GOMX_REPLICAS"
	envPolicy    = "GOMX_POLICY"
	envBackups   = "GOMX_BACKUP_WORKERS"
	envMemory    = "GOMX_SERVER_MEMORY"
	envDir       = "GOMX_DIR"
	envKeys      = "GOMX_KEYS"
	envEncrypt   = "GOMX_ENCRYPT"
	envStatus    = "GOMX_STATUS"
	envThreads   = "GOMX_THREADS"
	envShared    = "GOMX_SHARED_MEMORY"
	envSnapshots = "GOMX_SNAPSHOTS"
	envRestore   = "GOMX_RESTORE"
	envLauncher  = "GOMX_LAUNCHER"
	envPatience  = "GOMX_PATIENCE"
	envLog       = "GOMX_LOG"
	envTrace     = "GOMX_TRACE"
	envEvery     = "GOMX_TRACE_EVERY"
	envInterface = "DMLC_INTERFACE"
	envIPv6      = "GOMX_IPV6"
	envPorts     = "GOMX_PORTS"
	envMeet      = "GOMX_MEET"
	envShare     = "GOMX_LOCAL_WORKERS"
	envEngine    = "GOMX_ENGINE"
	envDrain     = "GOMX_DRAIN"
	envView      = "GOMX_VIEW"
	envBFloat16  = "GOMX_BFLOAT16"
	envCache     = "GOMX_CACHE"
)

// FromEnviron reads the environment of the process. If DMLC_ROLE is not set, the rank that MPI,
// Slurm or Kubernetes has given the process decides its role, unless GOMX_ENGINE is "none".
func FromEnviron() (Environ, error) { return parseEnviron(os.Getenv) }

// envReader reads variables and keeps the first error.
type envReader struct {
	get func(string) string
	err error
}

func (r *envReader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("launch: %s=%q in the environment, want %s", name, r.get(name), want)
	}
}

// number reads an integer of at least low; it returns def for an empty value.
func (r *envReader) number(name string, low, def int) int {
	text := r.get(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low {
		r.fail(name, fmt.Sprintf("a number from %d", low))
		return def
	}
	return n
}

// seconds reads a duration in seconds.
func (r *envReader) seconds(name string) time.Duration {
	text := r.get(name)
	if text == "" {
		return 0
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s < 1e6) {
		r.fail(name, "a number of seconds")
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// parseEnviron reads the variables that get returns.
func parseEnviron(get func(string) string) (Environ, error) {
	r := &envReader{get: get}
	e := Environ{
		Workers: r.number(envWorkers, 1, 0), Servers: r.number(envServers, 0, -1),
		Scheduler: get(envScheduler), Host: get(envHost), Replicas: r.number(envReplicas, 1, 1),
		Backups: r.number(envBackups, 0, 0), Memory: uint64(r.number(envMemory, 0, 0)),
		Dir: get(envDir), Keys: get(envKeys), Encrypt: get(envEncrypt), Status: get(envStatus),
		Heartbeat: r.seconds(envHeartbeat), Dead: r.seconds(envDead), Verbose: r.number(envVerbose,
			0, 0),
		Threads: r.number(envThreads, 0, 0), Snapshots: get(envSnapshots), Restore: get(envRestore),
		Launcher: get(envLauncher), Patience: r.seconds(envPatience), View: get(envView),
		Trace: get(envTrace), TraceEvery: r.number(envEvery, 0, 0),
		Interface: get(envInterface), Meet: get(envMeet), Share: r.number(envShare, 0, 0),
		Drain: r.seconds(envDrain), BFloat16: get(envBFloat16), Cache: get(envCache),
	}
	e.options(r)
	switch get(envRole) {
	case "":
		e.settle(r)
	case "scheduler":
		e.Role = wire.Scheduler
	case "server":
		e.Role = wire.Server
	case "worker":
		e.Role = wire.Worker
	default:
		r.fail(envRole, "scheduler, server or worker")
	}
	if e.Role == wire.NoRole {
		e.Servers = max(0, e.Servers)
		return e, r.err
	}
	if e.place.Engine == "" {
		e.Rank = r.number(map[wire.Role]string{wire.Server: envServerID,
			wire.Worker: envWorkerID}[e.Role], 0, r.number(envRank, 0, e.rankInRole(r)))
	}
	e.checkJob(r)
	return e, r.err
}

// options reads the variables that are neither numbers nor free text.
func (e *Environ) options(r *envReader) {
	if text := r.get(envJob); text != "" {
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			r.fail(envJob, "a hexadecimal number")
		}
		e.Job = n
	}
	var err error
	if e.Ports, err = network.ParsePorts(r.get(envPorts)); err != nil {
		r.fail(envPorts, "a range of ports such as 29400-29499")
	}
	for name, o := range map[string]struct {
		off, on string
		to      *bool
	}{envPolicy: {"wait", "shrink", &e.Shrink}, envShared: {"on", "off", &e.NoShared},
		envIPv6: {"off", "on", &e.IPv6}, envLog: {"text", "json", &e.LogJSON}} {
		switch r.get(name) {
		case "", o.off:
		case o.on:
			*o.to = true
		default:
			r.fail(name, o.off+" or "+o.on)
		}
	}
	if !validProducts(e.BFloat16) {
		r.fail(envBFloat16, "none, all or classes such as convolution,dense")
	}
	if !validEncrypt(e.Encrypt) || e.Encrypt == EncryptOff && e.Keys != "" {
		r.fail(envEncrypt, "bulk or curve, or off without keys")
	}
}

// checkJob checks the variables that every role needs.
func (e *Environ) checkJob(r *envReader) {
	host, port := r.get(envRootHost), r.get(envRootPort)
	// Without an address the processes that an engine has started meet in a folder.
	if e.Scheduler == "" && e.View == "" &&
		(e.place.Engine == "" || host != "" || port != "") {
		if host == "" {
			r.fail(envRootHost, "the scheduler's host")
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			r.fail(envRootPort, "the scheduler's port")
		}
		e.Scheduler = "tcp://" + net.JoinHostPort(host, port)
	}
	if e.Workers == 0 {
		r.fail(envWorkers, "the number of workers")
	}
	if e.Servers < 0 {
		r.fail(envServers, "the number of servers")
	}
	if e.Replicas > 2 || e.Replicas > max(1, e.Servers) {
		r.fail(envReplicas, "1 or 2, and at most the number of servers")
	}
}

// List returns the variables of e as NAME=value, except role and rank.
func (e *Environ) List() []string {
	m := map[string]string{
		envWorkers: strconv.Itoa(e.Workers), envServers: strconv.Itoa(e.Servers),
		envScheduler: e.Scheduler,
		envReplicas:  strconv.Itoa(e.Replicas), envJob: strconv.FormatUint(e.Job, 16),
		envPolicy: "wait",
	}
	if e.Shrink {
		m[envPolicy] = "shrink"
	}
	if e.Backups > 0 {
		m[envBackups] = strconv.Itoa(e.Backups)
	}
	if e.Memory > 0 {
		m[envMemory] = strconv.FormatUint(e.Memory, 10)
	}
	if rest, tcp := strings.CutPrefix(e.Scheduler, "tcp://"); tcp {
		if host, port, err := net.SplitHostPort(rest); err == nil {
			m[envRootHost], m[envRootPort] = host, port
		}
	}
	for name, v := range map[string]string{envHost: e.Host, envDir: e.Dir, envKeys: e.Keys,
		envEncrypt: e.Encrypt, envTrace: e.Trace,
		envStatus:    e.Status,
		envSnapshots: e.Snapshots, envRestore: e.Restore, envLauncher: e.Launcher,
		envInterface: e.Interface, envMeet: e.Meet, envView: e.View,
		envBFloat16: e.BFloat16, envCache: e.Cache} {
		if v != "" {
			m[name] = v
		}
	}
	for name, d := range map[string]time.Duration{envHeartbeat: e.Heartbeat, envDead: e.Dead,
		envPatience: e.Patience, envDrain: e.Drain} {
		if d > 0 {
			m[name] = strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
		}
	}
	if e.Verbose > 0 {
		m[envVerbose] = strconv.Itoa(e.Verbose)
	}
	if e.Threads > 0 {
		m[envThreads] = strconv.Itoa(e.Threads)
	}
	if e.Share > 0 {
		m[envShare] = strconv.Itoa(e.Share)
	}
	if e.NoShared {
		m[envShared] = "off"
	}
	if e.LogJSON {
		m[envLog] = "json"
	}
	if e.TraceEvery > 0 {
		m[envEvery] = strconv.Itoa(e.TraceEvery)
	}
	if e.IPv6 {
		m[envIPv6] = "on"
	}
	if e.Ports != (network.Ports{}) {
		m[envPorts] = e.Ports.String()
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, name+"="+m[name])
	}
	return list
}

// For returns the variables of one node, as NAME=value.
func (e *Environ) For(n wire.Node) []string {
	list := append(e.List(), envRole+"="+n.Role.String())
	switch n.Role {
	case wire.Worker:
		list = append(list, envWorkerID+"="+strconv.Itoa(int(n.Rank)))
	case wire.Server:
		list = append(list, envServerID+"="+strconv.Itoa(int(n.Rank)))
	case wire.Scheduler:
		list = append(list, envRank+"="+strconv.Itoa(int(n.Rank))) // number of the candidate
	}
	return list
}
