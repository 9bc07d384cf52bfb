package launch

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
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
}

// prepare makes the folders, takes their locks and fills in the environment.
func (l *Local) prepare() (*job, error) {
	j := &job{Local: l, over: make(chan struct{})}
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
		Dead: l.Dead, Patience: l.Patience, Encrypt: l.Encrypt,
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
		if err := MakeKeys(j.env.Keys, l.Workers, l.Servers); err != nil {
			return err
		}
	}
	if l.TCP {
		port, err := freePort()
		if err != nil {
			return err
		}
		j.env.Scheduler = fmt.Sprintf("tcp://127.0.0.1:%d", port)
	}
	return j.snapshots()
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
