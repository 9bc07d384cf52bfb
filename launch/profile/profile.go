package profile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Variable is the environment variable with the folder.
const Variable = "GOMX_PROFILE"

// Version is the version of the files.
const Version = 1

// Folder returns the folder into which this process writes its profile, empty for none.
func Folder() string { return os.Getenv(Variable) }

// FileName returns the name of the file of a process.
func FileName(pid int) string { return fmt.Sprintf("profile-%d.jsonl", pid) }

// Head is the first line of a file.
type Head struct {
	Version int      `json:"version"`
	PID     int      `json:"pid"`
	Start   int64    `json:"start"` // nanoseconds since 1970
	Workers int      `json:"workers"`
	Program []string `json:"program"`
}

// Kinds of events.
const (
	Operation = iota // of the engine
	Scope            // of the program itself
	Counter
	Kernel // operator inside an operation
)

// Event is one line of a file. Times are nanoseconds since the start.
type Event struct {
	Name   string  `json:"n"`
	Kind   int     `json:"k"`
	At     int64   `json:"t"`
	Dur    int64   `json:"d"`
	Worker int     `json:"w"`
	Lane   string  `json:"l"`
	Value  float64 `json:"v"`
	Op     string  `json:"o"`
	Bytes  int64   `json:"b"`
	FLOPs  int64   `json:"f"`
}

// Create makes the file of this process in the folder of the environment, with its first line.
// The file is nil without a folder.
func Create(start time.Time, workers int) (*os.File, error) {
	dir := Folder()
	if dir == "" {
		return nil, nil
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName(os.Getpid())),
		os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(Head{Version: Version, PID: os.Getpid(), Start: start.UnixNano(),
		Workers: workers, Program: os.Args})
	if err == nil {
		_, err = f.Write(append(head, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Append appends the event as a line. It allocates nothing if b has room and the names are plain.
func (e *Event) Append(b []byte) []byte {
	b = appendText(append(b, `{"n":`...), e.Name)
	for _, f := range [...]struct {
		key   string
		value int64
	}{{`,"k":`, int64(e.Kind)}, {`,"t":`, e.At}, {`,"d":`, e.Dur}, {`,"w":`, int64(e.Worker)},
		{`,"b":`, e.Bytes}, {`,"f":`, e.FLOPs}} {
		if f.value != 0 {
			b = strconv.AppendInt(append(b, f.key...), f.value, 10)
		}
	}
	if e.Lane != "" {
		b = appendText(append(b, `,"l":`...), e.Lane)
	}
	if e.Op != "" {
		b = appendText(append(b, `,"o":`...), e.Op)
	}
	if v := e.Value; v != 0 && v-v == 0 {
		b = strconv.AppendFloat(append(b, `,"v":`...), v, 'g', -1, 64)
	}
	return append(b, "}\n"...)
}

// appendText appends a text as JSON.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a text can always be marshalled
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// longestLine is the greatest number of bytes of a line.
const longestLine = 1 << 20

// Read reads a file and calls each with its events. A last line that is not complete, of a process
// that was killed, is left out.
func Read(r io.Reader, each func(*Event)) (*Head, error) {
	in := bufio.NewReaderSize(r, longestLine)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("profile: the first line is not complete: %w", err)
	}
	head := &Head{}
	if err := json.Unmarshal(line, head); err != nil {
		return nil, fmt.Errorf("profile: the first line: %w", err)
	}
	if head.Version < 1 || head.Version > Version {
		return nil, fmt.Errorf("profile: version %d, this program reads 1 to %d", head.Version,
			Version)
	}
	for n := 2; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		if err != nil {
			return nil, fmt.Errorf("profile: line %d: %w", n, err)
		}
		var v Event
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("profile: line %d: %w", n, err)
		}
		if v.Kind < Operation || v.Kind > Kernel || v.Dur < 0 || v.At < 0 {
			return nil, fmt.Errorf("profile: line %d: an event of kind %d from %d ns on for %d ns",
				n, v.Kind, v.At, v.Dur)
		}
		each(&v)
	}
}
