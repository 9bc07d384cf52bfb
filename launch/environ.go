package launch

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gomx/kvstore/wire"
)

// Environ is the description of a job in the environment of a process. The names of variables are
// MXNet's where MXNet has one, so that its scripts and schedulers can start jobs.
type Environ struct {
	Role    wire.Role // DMLC_ROLE; NoRole: no job
	Rank    int       // DMLC_WORKER_ID or DMLC_SERVER_ID, else DMLC_RANK; -1: the scheduler chooses
	Workers int       // DMLC_NUM_WORKER
	Servers int       // DMLC_NUM_SERVER

	// Scheduler is the address of the scheduler: GOMX_SCHEDULER, or
	// tcp://DMLC_PS_ROOT_URI:DMLC_PS_ROOT_PORT.
	Scheduler string
	// Host is the name under which other processes reach this one: DMLC_NODE_HOST. Empty: the
	// loopback, if the scheduler listens there.
	Host string

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
	// NoShared turns off shared memory, which carries large payloads between processes of one host:
	// GOMX_SHARED_MEMORY=off.
	NoShared bool

	Heartbeat time.Duration // PS_HEARTBEAT_INTERVAL, in seconds
	Dead      time.Duration // PS_HEARTBEAT_TIMEOUT, in seconds
	Patience  time.Duration // GOMX_PATIENCE, in seconds: see kvstore.JobConfig
	Verbose   int           // PS_VERBOSE: 1 logs changes of state, 2 details
	// LogJSON makes each line of the log an object of JSON: GOMX_LOG=json.
	LogJSON bool
	// Trace is the destination of the traces of training steps, see monitor.OpenTraces: GOMX_TRACE;
	// empty: no traces. TraceEvery is the number of steps from one traced step to the next:
	// GOMX_TRACE_EVERY; 0: 100.
	Trace      string
	TraceEvery int
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
)

// FromEnviron reads the environment of the process.
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
		Workers: r.number(envWorkers, 1, 0), Servers: r.number(envServers, 1, 0),
		Scheduler: get(envScheduler), Host: get(envHost), Replicas: r.number(envReplicas, 1, 1),
		Backups: r.number(envBackups, 0, 0), Memory: uint64(r.number(envMemory, 0, 0)),
		Dir: get(envDir), Keys: get(envKeys), Encrypt: get(envEncrypt), Status: get(envStatus),
		Heartbeat: r.seconds(envHeartbeat), Dead: r.seconds(envDead), Verbose: r.number(envVerbose,
			0, 0),
		Threads: r.number(envThreads, 0, 0), Snapshots: get(envSnapshots), Restore: get(envRestore),
		Launcher: get(envLauncher), Patience: r.seconds(envPatience),
		Trace: get(envTrace), TraceEvery: r.number(envEvery, 0, 0),
	}
	switch get(envRole) {
	case "":
		return e, r.err
	case "scheduler":
		e.Role = wire.Scheduler
	case "server":
		e.Role = wire.Server
	case "worker":
		e.Role = wire.Worker
	default:
		r.fail(envRole, "scheduler, server or worker")
	}
	e.Rank = r.number(map[wire.Role]string{wire.Server: envServerID,
		wire.Worker: envWorkerID}[e.Role], 0, r.number(envRank, 0, -1))
	if text := get(envJob); text != "" {
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			r.fail(envJob, "a hexadecimal number")
		}
		e.Job = n
	}
	switch get(envPolicy) {
	case "", "wait":
	case "shrink":
		e.Shrink = true
	default:
		r.fail(envPolicy, "wait or shrink")
	}
	switch get(envShared) {
	case "", "on":
	case "off":
		e.NoShared = true
	default:
		r.fail(envShared, "on or off")
	}
	switch get(envLog) {
	case "", "text":
	case "json":
		e.LogJSON = true
	default:
		r.fail(envLog, "text or json")
	}
	if !validEncrypt(e.Encrypt) || e.Encrypt == EncryptOff && e.Keys != "" {
		r.fail(envEncrypt, "bulk or curve, or off without keys")
	}
	e.checkJob(r)
	return e, r.err
}

// checkJob checks the variables that every role needs.
func (e *Environ) checkJob(r *envReader) {
	if e.Scheduler == "" {
		host, port := r.get(envRootHost), r.get(envRootPort)
		if host == "" {
			r.fail(envRootHost, "the scheduler's host")
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			r.fail(envRootPort, "the scheduler's port")
		}
		e.Scheduler = "tcp://" + host + ":" + port
	}
	if e.Workers == 0 {
		r.fail(envWorkers, "the number of workers")
	}
	if e.Servers == 0 {
		r.fail(envServers, "the number of servers")
	}
	if e.Replicas > 2 || e.Replicas > e.Servers {
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
	if host, port, ok := strings.Cut(strings.TrimPrefix(e.Scheduler, "tcp://"), ":"); ok &&
		strings.HasPrefix(e.Scheduler, "tcp://") {
		m[envRootHost], m[envRootPort] = host, port
	}
	for name, v := range map[string]string{envHost: e.Host, envDir: e.Dir, envKeys: e.Keys,
		envEncrypt: e.Encrypt, envTrace: e.Trace,
		envStatus:    e.Status,
		envSnapshots: e.Snapshots, envRestore: e.Restore, envLauncher: e.Launcher} {
		if v != "" {
			m[name] = v
		}
	}
	for name, d := range map[string]time.Duration{envHeartbeat: e.Heartbeat, envDead: e.Dead,
		envPatience: e.Patience} {
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
	if e.NoShared {
		m[envShared] = "off"
	}
	if e.LogJSON {
		m[envLog] = "json"
	}
	if e.TraceEvery > 0 {
		m[envEvery] = strconv.Itoa(e.TraceEvery)
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
	}
	return list
}
