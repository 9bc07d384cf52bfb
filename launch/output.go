package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// output writes the lines of one process with its prefix. Several processes share w and its mutex
// mu.
type output struct {
	mu     *sync.Mutex
	w      io.Writer
	prefix string
	log    *logFile          // file of the process; nil: none
	watch  func(line []byte) // sees every line; nil: nobody does
}

// line implements liner.
func (o *output) line(b []byte) {
	b = bytes.TrimSuffix(b, []byte("\r"))
	if o.watch != nil {
		o.watch(b)
	}
	o.log.line(b)
	line := make([]byte, 0, len(o.prefix)+len(b)+1)
	line = append(append(append(line, o.prefix...), b...), '\n')
	o.mu.Lock()
	defer o.mu.Unlock()
	// An error is ignored: the job outlives its terminal.
	_, _ = o.w.Write(line)
}

// logFile is the file with the output of a process. A nil file takes nothing.
type logFile struct{ f *os.File }

// openLog opens the file of a process in a folder, which it makes. Without a folder there is no
// file.
func openLog(dir, node string) (*logFile, error) {
	if dir == "" {
		return nil, nil
	}
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return nil, fmt.Errorf("launch: folder of logs: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, strings.ReplaceAll(node, " ", "-")+".log"),
		os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("launch: log of %s: %w", node, err)
	}
	return &logFile{f}, nil
}

// line appends a line.
func (l *logFile) line(b []byte) {
	if l != nil {
		// An error is ignored: the job outlives a full disk.
		_, _ = l.f.Write(append(b[:len(b):len(b)], '\n'))
	}
}

// close closes the file.
func (l *logFile) close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}
