package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gomx/kvstore/wire"
)

// folder is a store in a folder that all processes of a job see. For job J it has three files:
//
//	view-J     record of the view; replaced as a whole
//	leader-J   term and address of the leader, one line; replaced as a whole
//	lead-J     empty; its lock is the lead
type folder struct {
	dir string
	job uint64
}

// Folder returns the store of a job in a folder. The file systems of several hosts can share the
// folder if their locks hold across hosts.
func Folder(dir string, job uint64) Store { return &folder{dir, job} }

// openFolder opens file:FOLDER.
func openFolder(addr string, job uint64) (Store, error) {
	dir := strings.TrimPrefix(strings.TrimPrefix(addr, "file:"), "//")
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("view: store %q, want file: and the absolute path of a folder", addr)
	}
	return Folder(dir, job), nil
}

// Times at which a folder is looked at.
const (
	lockEvery  = 50 * time.Millisecond  // by candidates that wait for the lock
	watchEvery = 100 * time.Millisecond // by processes that wait for the next leader
)

func (f *folder) file(name string) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s-%x", name, f.job))
}

// Campaign implements Store. The lead ends when the process ends in any way. A process that stands
// still keeps it.
func (f *folder) Campaign(ctx context.Context, addr string) (Lead, error) {
	if strings.ContainsAny(addr, "\n\r") {
		return nil, fmt.Errorf("view: address of a scheduler %q, want one line", addr)
	}
	lock, err := os.OpenFile(f.file("lead"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	if err := waitForLock(ctx, lock); err != nil {
		lock.Close()
		return nil, fmt.Errorf("view: lock of %s: %w", lock.Name(), err)
	}
	before, err := f.leader()
	l := &folderLead{folder: f, lock: lock, term: before.Term + 1}
	if err == nil {
		err = WriteDurably(f.file("leader"), fmt.Appendf(nil, "%d %s\n", l.term, addr))
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("view: leader of the job: %w", err)
	}
	return l, nil
}

// waitForLock locks a file. Where the system has no locks, two schedulers in one folder are not
// noticed.
func waitForLock(ctx context.Context, lock *os.File) error {
	for {
		held, err := flock(lock)
		switch {
		case err == nil && !held, errors.Is(err, errors.ErrUnsupported):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-time.After(lockEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leader reads the file of the leader. The term is 0 if there is none.
func (f *folder) leader() (Leader, error) {
	b, err := os.ReadFile(f.file("leader"))
	if errors.Is(err, fs.ErrNotExist) {
		return Leader{}, nil
	}
	if err != nil {
		return Leader{}, err
	}
	var l Leader
	term, addr, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
	if _, err := fmt.Sscanf(term, "%d", &l.Term); err != nil || l.Term == 0 {
		return Leader{}, fmt.Errorf("file %s begins with %q, want a number from 1",
			f.file("leader"), term)
	}
	l.Addr = addr
	return l, nil
}

// Watch implements Store.
func (f *folder) Watch(ctx context.Context, tell func(Leader)) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for last := uint64(0); ; {
		// A file that cannot be read is read again.
		if l, err := f.leader(); err == nil && l.Term > last {
			last = l.Term
			tell(l)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// Close implements Store.
func (*folder) Close() error { return nil }

// folderLead is the lead of a folder's job.
type folderLead struct {
	*folder
	lock *os.File // locked until it is closed
	term uint64
}

// Term implements Lead.
func (l *folderLead) Term() uint64 { return l.term }

// Load implements Lead.
func (l *folderLead) Load(ctx context.Context) (*wire.View, error) { return l.Saved(ctx) }

// Saved implements Store.
func (f *folder) Saved(context.Context) (*wire.View, error) {
	b, err := os.ReadFile(f.file("view"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	v, err := Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, f.file("view"))
	}
	return v, nil
}

// Save implements Lead.
func (l *folderLead) Save(_ context.Context, v *wire.View) error {
	if err := WriteDurably(l.file("view"), Encode(v)); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return nil
}

// Lost implements Lead. The lock is held while the process lives.
func (*folderLead) Lost() <-chan struct{} { return nil }

// Resign implements Lead.
func (l *folderLead) Resign(context.Context) error { return l.lock.Close() }

// WriteDurably replaces a file, so that a crash leaves the old content or the new.
func WriteDurably(path string, b []byte) error {
	return WriteDurablyBy(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteDurablyBy is WriteDurably for a content that a function writes.
func WriteDurablyBy(path string, write func(w io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once the file has been renamed
	if err = write(tmp); err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
