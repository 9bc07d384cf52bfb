package launch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gomx/launch/network"
)

// The processes that MPI or Slurm starts meet in a folder: the first of them chooses the number of
// the job and makes the keys there, its scheduler writes the file meetFile with its address, and
// the others wait for the file.

const (
	meetFile   = "scheduler.json"
	keysFolder = "keys"
	// meetFor is the time that processes wait for the address of the scheduler.
	meetFor = 2 * time.Minute
)

// longestDir is the length, in bytes, of the longest folder in which local sockets work.
const longestDir = 80

// meeting is the content of meetFile.
type meeting struct {
	Scheduler string `json:"scheduler"` // address
	Job       uint64 `json:"job"`
	Keys      bool   `json:"keys"` // the folder of keys is beside the file
}

// meetingFolder sets Dir to the folder of this job: below GOMX_DIR if that is set; else below the
// folder for temporary files if all processes are on one host, and below the working directory,
// which hosts of a cluster usually share, if they are not.
func (e *Environ) meetingFolder() error {
	name := e.place.Job
	switch {
	case name != "":
	case e.place.OneHost:
		name = fmt.Sprint(os.Getppid())
	case e.Dir == "":
		return usageError{fmt.Errorf("launch: %s gives the job no name: set GOMX_DIR to a folder "+
			"that all hosts share and that belongs to this job alone, or %s and %s to the address "+
			"of the scheduler", e.place.Engine, envRootHost, envRootPort)}
	}
	root := e.Dir
	switch {
	case root != "":
	case e.place.OneHost:
		root = Runtime()
	default:
		root = ".gomx"
	}
	dir, err := filepath.Abs(filepath.Join(root, strings.TrimSuffix(e.place.Engine+"-"+name, "-")))
	if err != nil {
		return fmt.Errorf("launch: folder for the job: %w", err)
	}
	e.Dir = dir
	return nil
}

// convene makes the folder and the keys, and chooses the address of the scheduler. Processes of one
// host use local sockets without keys.
func (e *Environ) convene() error {
	err := os.RemoveAll(e.Dir) // of an earlier job of the same name
	if err == nil {
		err = os.MkdirAll(e.Dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("launch: folder for the job: %w", err)
	}
	var id [8]byte
	rand.Read(id[:])
	e.Job = binary.LittleEndian.Uint64(id[:])
	e.Meet = filepath.Join(e.Dir, meetFile)
	if e.place.OneHost {
		if e.Scheduler = "ipc://" + filepath.Join(e.Dir, "scheduler"); len(e.Dir) > longestDir {
			e.Scheduler = "tcp://" + net.JoinHostPort("127.0.0.1", e.Ports.String())
		}
		return nil
	}
	host := e.Host
	switch {
	case host != "":
	case e.Interface != "":
		if host, err = network.Of(e.Interface, e.family()); err != nil {
			return usageError{fmt.Errorf("launch: %s=%s: %w", envInterface, e.Interface, err)}
		}
	default:
		host = network.Own(e.family())
	}
	e.Scheduler = "tcp://" + net.JoinHostPort(host, e.Ports.String())
	if e.Keys == "" {
		e.Keys = filepath.Join(e.Dir, keysFolder)
		return MakeKeys(e.Keys, e.Workers, e.Servers)
	}
	return nil
}

// announce tells the launcher, by a line on standard error, and the other processes, by the file
// Meet, under which address they reach the scheduler.
func (e *Environ) announce(addr string) {
	if strings.HasPrefix(addr, "tcp://") {
		fmt.Fprintln(os.Stderr, announcement+addr)
	}
	if e.Meet == "" {
		return
	}
	m := meeting{Scheduler: addr, Job: e.Job, Keys: e.Keys == filepath.Join(e.Dir, keysFolder)}
	b, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(e.Meet+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(e.Meet+".new", e.Meet)
	}
	if err != nil {
		// The others wait in vain and say so.
		fmt.Fprintf(os.Stderr, "gomx: address of the scheduler: %v\n", err)
	}
}

// announcement begins the line with the address of the scheduler.
const announcement = "gomx: scheduler listens at "

// attend waits for the file with the address of the scheduler and reads it.
func (e *Environ) attend(ctx context.Context) error {
	path := filepath.Join(e.Dir, meetFile)
	for deadline := time.Now().Add(meetFor); ; {
		b, err := os.ReadFile(path)
		if err == nil {
			return e.learn(path, b)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("launch: address of the scheduler: %w", err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("launch: rank %d found no address of the scheduler in %s after %s: "+
				"set GOMX_DIR to a folder that all hosts share, or %s and %s to the address of "+
				"the "+
				"scheduler", e.place.Rank, path, meetFor, envRootHost, envRootPort)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// learn reads the content of the file.
func (e *Environ) learn(path string, b []byte) error {
	var m meeting
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("launch: address of the scheduler in %s: %w", path, err)
	}
	e.Scheduler, e.Job, e.Meet = m.Scheduler, m.Job, path
	if m.Keys {
		e.Keys = filepath.Join(e.Dir, keysFolder)
	}
	return nil
}
