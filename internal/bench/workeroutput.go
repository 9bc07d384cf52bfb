package bench

import (
	"bytes"
	"strings"
)

// workerOutput splits the output of launch into lines without the names of the workers.
type workerOutput struct {
	line func(text string)
	rest []byte
}

// Write implements io.Writer; launch calls it for one line at a time.
func (o *workerOutput) Write(b []byte) (int, error) {
	o.rest = append(o.rest, b...)
	for {
		line, rest, ok := bytes.Cut(o.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		o.rest = rest
		if _, text, ok := strings.Cut(string(line), "] "); ok {
			o.line(text)
		}
	}
}
