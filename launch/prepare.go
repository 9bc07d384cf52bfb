package launch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gomx/kvstore/wire"
)

// job is a running Local.
type job struct {
	*Local
	away  *away // nil if the processes run on this machine
	guard guardian
	mu    sync.Mutex // serializes lines of output
	over  chan struct{}

	envMu sync.Mutex // guards env while processes run
	env   Environ

	locks  []*os.File // locks of the folders that belong to this job
	remove []string   // folders to remove at the end

	// stopWorking ends workers that are left when the scheduler has ended by itself. All workers
	// had left the job, but one died before its process ended, and was started again for nothing.
	stopWorking func()
	stopServing func() // ends the scheduler and the servers
	allLeft     atomic.Bool
	outcome     outcome

	processes
	size size
}

// processes are the processes of a job that the launcher waits for.
type processes struct {
	fail             context.CancelCauseFunc // ends the job
	serving, working context.Context         // of the scheduler and servers, of the workers
	helpers, workers sync.WaitGroup          // the scheduler and servers, the workers
}

// size is the number of processes that the job has and is to have.
type size struct {
	sync.Mutex
	want    map[wire.Role]int  // places
	runs    map[wire.Node]bool // nodes that are kept running, or have done their work
	workers int                // of them, that are kept running
}

// spareKeys is the number of workers, and of servers, that may be added to an encrypted job.
const spareKeys = 16

// prepare makes the folders, takes their locks and fills in the environment.
func (l *Local) prepare() (*job, error) {
	j := &job{Local: l, over: make(chan struct{})}
	j.size.want = map[wire.Role]int{wire.Worker: l.Workers, wire.Server: l.Servers}
	j.size.runs = map[wire.Node]bool{}
	if err := j.folders(); err != nil {
		j.release()
		return nil, err
	}
	return j, nil
}

func (j *job) folders() error {
	l := j.Local
	dir, err := j.own()
	if err != nil {
		return err
	}
	var id [8]byte
	rand.Read(id[:])
	j.env = Environ{Workers: l.Workers, Servers: l.Servers, Replicas: l.Replicas, Shrink: l.Shrink,
		Backups: l.Backups, Memory: l.Memory,
		Job: binary.LittleEndian.Uint64(id[:]), Dir: dir, Keys: l.Keys, Heartbeat: l.Heartbeat,
		Dead: l.Dead, Patience: l.Patience, Encrypt: l.Encrypt, BFloat16: l.BFloat16,
		Threads: l.Threads, Scheduler: "ipc://" + filepath.Join(dir, "scheduler"),
		Launcher: filepath.Join(dir, lockName)}
	if addr := value(append(os.Environ(), j.Env...), envStatus); statusHost(addr) != "" {
		j.env.Status = statusHost(addr)
		j.Log.Warn().Str("address", addr).Msg(
			"GOMX_STATUS names one port for all processes: each takes a free one instead")
	}
	if l.Remote != nil {
		if err := j.remote(); err != nil {
			return err
		}
		return j.snapshots()
	}
	if l.Keys == "" && (l.Encrypt == EncryptBulk || l.Encrypt == EncryptCurve) {
		j.env.Keys = filepath.Join(dir, "keys")
		j.remove = append(j.remove, j.env.Keys)
		if err := MakeKeys(j.env.Keys, l.Workers+spareKeys, l.Servers+spareKeys); err != nil {
			return err
		}
	}
	if l.View != "" || l.Schedulers > 1 {
		j.env.elected(l.View, l.TCP)
	} else if l.TCP {
		port, err := freePort()
		if err != nil {
			return err
		}
		j.env.Scheduler = fmt.Sprintf("tcp://127.0.0.1:%d", port)
	}
	if err := os.WriteFile(filepath.Join(dir, orderFile), strconv.AppendUint(nil, j.env.Job, 16),
		0o600); err != nil {
		return fmt.Errorf("launch: folder for the job: %w", err)
	}
	return j.snapshots()
}

// elected describes a job whose scheduler is found in a store, by default in the job's folder. Each
// scheduler listens at an address that the transport chooses.
func (e *Environ) elected(store string, tcp bool) {
	if e.View = store; store == "" {
		e.View = "file:" + e.Dir
	}
	if e.Scheduler = "ipc"; tcp {
		e.Scheduler = ""
	}
}

// own makes the folder of the job and its entry in Runtime, and takes the locks of both.
func (j *job) own() (dir string, err error) {
	h := Holder{PID: os.Getpid(), Program: j.Program, Began: time.Now()}
	if j.Dir != "" {
		if h.Dir, err = filepath.Abs(j.Dir); err != nil {
			return "", fmt.Errorf("launch: folder for the job: %w", err)
		}
		if err := os.MkdirAll(h.Dir, 0o700); err != nil {
			return "", fmt.Errorf("launch: folder for the job: %w", err)
		}
		lock, err := lockFolder(h.Dir, h)
		if err != nil {
			return "", err
		}
		j.locks = append(j.locks, lock)
	}
	made, lock, err := entry(h)
	if err != nil {
		return "", err
	}
	j.locks, j.remove = append(j.locks, lock), append(j.remove, made)
	if h.Dir != "" {
		return h.Dir, nil
	}
	return made, nil
}

// release removes the temporary folders and releases the locks.
func (j *job) release() {
	for _, dir := range j.remove {
		os.RemoveAll(dir)
	}
	for _, f := range j.locks {
		f.Close()
	}
}
