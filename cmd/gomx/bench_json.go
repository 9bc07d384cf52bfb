package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// benchLine is a line of gomx bench as JSON. Fields of a missing peer are left out.
type benchLine struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Peer  string   `json:"peer,omitempty"`
	Their *float64 `json:"peer_value,omitempty"`
	Ratio *float64 `json:"ratio,omitempty"` // above 1: gomx is better
	Unit  string   `json:"unit"`
}

// benchJSON is a writer for the lines of gomx bench. It writes each of them as a JSON object on a
// line of its own to out, and comments as they are to notes. It is used by one goroutine.
type benchJSON struct {
	out, notes io.Writer
	rest       []byte // begin of a line whose end has not come
}

func (w *benchJSON) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		if err := w.line(string(line)); err != nil {
			return 0, err
		}
	}
}

// line writes one line.
func (w *benchJSON) line(text string) error {
	f := strings.Split(text, "\t")
	if len(f) != 6 || strings.HasPrefix(text, "#") {
		_, err := fmt.Fprintln(w.notes, text)
		return err
	}
	l := benchLine{Name: f[0], Unit: f[4]}
	number := func(text string) (v *float64, err error) {
		if text == "-" {
			return nil, nil
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("bench: line %q: %w", l.Name, err)
		}
		return &x, nil
	}
	v, err := number(f[1])
	if err != nil || v == nil {
		return err
	}
	l.Value = *v
	if l.Their, err = number(f[2]); err != nil {
		return err
	}
	if l.Ratio, err = number(f[3]); err != nil {
		return err
	}
	if f[5] != "-" {
		l.Peer = f[5]
	}
	return json.NewEncoder(w.out).Encode(l)
}
