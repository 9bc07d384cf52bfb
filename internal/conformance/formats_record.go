package conformance

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	dataio "gomx/io"
)

// recordCase is a RecordIO file, with an index or without.
type recordCase struct {
	described
	File, Idx string
	Keys      []int
	Records   []string // in hexadecimal
}

func (c *recordCase) run(env Env) error {
	path := env.Golden.Path("formats/" + c.File)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got, err := readRecords(data)
	if err != nil {
		return err
	}
	if !slices.Equal(got, c.Records) {
		return fmt.Errorf("records are %v, want %v", got, c.Records)
	}
	if err := c.write(data); err != nil {
		return err
	}
	if c.Idx == "" {
		return nil
	}
	x, err := dataio.OpenIndexed(env.Golden.Path("formats/"+c.Idx), path)
	if err != nil {
		return err
	}
	defer x.Close()
	for i, key := range c.Keys {
		r, err := x.Read(key)
		if err != nil {
			return err
		}
		if hex.EncodeToString(r) != c.Records[i] {
			return fmt.Errorf("record with key %d is %x, want %s", key, r, c.Records[i])
		}
	}
	return nil
}

// write checks that writing the records again gives the same bytes.
func (c *recordCase) write(want []byte) error {
	var b bytes.Buffer
	w := dataio.NewRecordWriter(&b)
	for _, r := range c.Records {
		payload, err := hex.DecodeString(r)
		if err != nil {
			return err
		}
		if err := w.Write(payload); err != nil {
			return err
		}
	}
	if !bytes.Equal(b.Bytes(), want) {
		return fmt.Errorf("written again as %d bytes that differ from the %d of MXNet", b.Len(),
			len(want))
	}
	return nil
}

// readRecords reads all records of a file, in hexadecimal.
func readRecords(data []byte) ([]string, error) {
	r := dataio.NewRecordReader(bytes.NewReader(data))
	var list []string
	for {
		payload, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, hex.EncodeToString(payload))
	}
}

// headerCase is a file of records that begin with an image header.
type headerCase struct {
	described
	File    string
	Idx     string // the index of the file; empty: it has none
	Records []struct {
		Raw     string // the whole record
		Flag    uint32
		Label   []float32
		ID, ID2 uint64
		Payload string
	}
}

func (c *headerCase) run(env Env) error {
	data, err := os.ReadFile(env.Golden.Path("formats/" + c.File))
	if err != nil {
		return err
	}
	records, err := readRecords(data)
	if err != nil {
		return err
	}
	if len(records) != len(c.Records) {
		return fmt.Errorf("%d records, want %d", len(records), len(c.Records))
	}
	if err := c.checkIndex(env.Golden, records); err != nil {
		return err
	}
	for i, want := range c.Records {
		if records[i] != want.Raw {
			return fmt.Errorf("record %d is %s, want %s", i, records[i], want.Raw)
		}
		raw, err := hex.DecodeString(want.Raw)
		if err != nil {
			return err
		}
		h, content, err := dataio.UnpackRecord(raw)
		if err != nil {
			return err
		}
		if !slices.Equal(h.Label, want.Label) || h.ID != want.ID || h.ID2 != want.ID2 ||
			hex.EncodeToString(content) != want.Payload {
			return fmt.Errorf("record %d has header %+v and content %x, want %+v", i, h, content,
				want)
		}
		if again := hex.EncodeToString(dataio.PackRecord(h, content)); again != want.Raw {
			return fmt.Errorf("record %d packed again is %s, want %s", i, again, want.Raw)
		}
	}
	return nil
}

// checkIndex reads every record by its key.
func (c *headerCase) checkIndex(g *Golden, records []string) error {
	if c.Idx == "" {
		return nil
	}
	x, err := dataio.OpenIndexed(g.Path("formats/"+c.Idx), g.Path("formats/"+c.File))
	if err != nil {
		return err
	}
	defer x.Close()
	text, err := os.ReadFile(g.Path("formats/" + c.Idx))
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n") // each a key and an offset
	if len(lines) != len(records) {
		return fmt.Errorf("the index has %d keys, want %d", len(lines), len(records))
	}
	for i, line := range lines {
		key, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil {
			return fmt.Errorf("index line %q: %w", line, err)
		}
		r, err := x.Read(key)
		if err != nil {
			return err
		}
		if hex.EncodeToString(r) != records[i] {
			return fmt.Errorf("record with key %d is %x, want %s", key, r, records[i])
		}
	}
	return nil
}
