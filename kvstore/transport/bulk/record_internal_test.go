package bulk

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"time"
)

// ofReader is a source over any reader.
type ofReader struct{ io.Reader }

func (r ofReader) read(p []byte, _ int) (int, error) { return r.Read(p) }

// someKey is a key of one direction.
func someKey(seed byte) []byte { return bytes.Repeat([]byte{seed}, keySize+nonceSize) }

// records seals each of the texts in a record of its own.
func records(t testing.TB, key []byte, texts ...string) (list [][]byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if err := errors.Join(w.add([]byte(text)), w.end(), w.flush()); err != nil {
			t.Fatal(err)
		}
		list = append(list, bytes.Clone(out.Bytes()))
		out.Reset()
	}
	return list
}

// opened reads all that a reader with a key gives out.
func opened(t testing.TB, key []byte, parts ...[]byte) (string, error) {
	t.Helper()
	r, err := newReader(ofReader{bytes.NewReader(bytes.Join(parts, nil))}, key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

// TestRecordsCarryBytes writes random pieces, long and short, and reads them in random pieces.
func TestRecordsCarryBytes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var out bytes.Buffer
	w, err := newWriter(&out, someKey(1))
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for range 60 {
		b := make([]byte, rng.IntN([]int{10, 1000, 3 * long, 5 * recordSize}[rng.IntN(4)]))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		want = append(want, b...)
		if rng.IntN(2) == 0 {
			err = w.addLong(b)
		} else {
			err = w.add(b)
		}
		if rng.IntN(4) == 0 {
			err = errors.Join(err, w.end(), w.flush())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.end(), w.flush()); err != nil {
		t.Fatal(err)
	}
	if w.sealed != uint64(len(want)) {
		t.Errorf("%d bytes are counted, want %d", w.sealed, len(want))
	}
	for name, from := range map[string]io.Reader{"whole": bytes.NewReader(out.Bytes()),
		"halves":      iotest.HalfReader(bytes.NewReader(out.Bytes())),
		"single byte": iotest.OneByteReader(bytes.NewReader(out.Bytes()))} {
		r, err := newReader(ofReader{from}, someKey(1))
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for err == nil {
			n := 0
			b := make([]byte, 1+rng.IntN(100_000))
			n, err = io.ReadFull(r, b)
			got = append(got, b[:n]...)
		}
		if err != io.EOF && err != io.ErrUnexpectedEOF || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes, %v; want the %d that were written", name, len(got), err,
				len(want))
		}
	}
}

// TestForgedRecords changes records in every way that needs no key.
func TestForgedRecords(t *testing.T) {
	key := someKey(1)
	a := records(t, key, "first", "second", "third")
	if got, err := opened(t, key, a...); got != "firstsecondthird" || err != nil {
		t.Fatalf("opened %q, %v", got, err)
	}
	for bit := range 8 * len(a[0]) {
		b := bytes.Clone(a[0])
		b[bit/8] ^= 1 << (bit % 8)
		if got, err := opened(t, key, b, a[1]); got != "" || err == nil {
			t.Errorf("bit %d: opened %q, %v; want an error", bit, got, err)
		}
	}
	for name, c := range map[string]struct {
		parts [][]byte
		want  string // before the forgery
	}{
		"repeated":        {[][]byte{a[0], a[0]}, "first"},
		"left out":        {[][]byte{a[1]}, ""},
		"swapped":         {[][]byte{a[0], a[2], a[1]}, "first"},
		"other direction": {[][]byte{a[0], records(t, someKey(2), "first", "x")[1]}, "first"},
		"no content":      {[][]byte{a[0], {23, 3, 3, 0, 16}, make([]byte, 16)}, "first"},
		"no seal":         {[][]byte{a[0], {23, 3, 3, 0, 1, 'x'}}, "first"},
		"longest": {[][]byte{a[0], {23, 3, 3, 255, 255}, make([]byte, longest)},
			"first"},
		"alert of TLS": {[][]byte{a[0], {21, 3, 3, 0, 2, 1, 0}}, "first"},
		"text":         {[][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")}, ""},
	} {
		if got, err := opened(t, key, c.parts...); got != c.want || !errors.Is(err, errForged) {
			t.Errorf("%s: opened %q, %v; want %q and %v", name, got, err, c.want, errForged)
		}
	}
	all := slices.Concat(a...)
	for n := range all {
		got, err := opened(t, key, all[:n])
		between := n == 0 || n == len(a[0]) || n == len(a[0])+len(a[1])
		if between != (err == nil) || !between && err != io.ErrUnexpectedEOF {
			t.Errorf("%d of %d bytes: opened %q, %v", n, len(all), got, err)
		}
	}
}

// TestKeysOfALine derives keys from two handshakes: both sides have the same, all are different,
// and no bytes behind the handshake are taken from the connection.
func TestKeysOfALine(t *testing.T) {
	server, err := newIdentity(someServer)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := newIdentity(someWorker)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		var keys [2]lineKeys
		done := make(chan error, 1)
		go func() {
			s := tls.Server(&stream{Conn: far}, server.config(func(p pin) bool {
				return p == worker.pin
			}))
			_, err := s.Write([]byte(greeting))
			state := s.ConnectionState()
			if err == nil {
				keys[1], err = keysOf(&state)
			}
			if err == nil {
				_, err = far.Write([]byte("behind")) // with the greeting, as far as TLS knows
			}
			done <- err
		}()
		c := tls.Client(&stream{Conn: near}, worker.config(func(p pin) bool {
			return p == server.pin
		}))
		b := make([]byte, len(greeting))
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		state := c.ConnectionState()
		if keys[0], err = keysOf(&state); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(near, b[:6]); err != nil || string(b[:6]) != "behind" {
			t.Errorf("behind the handshake is %q, %v", b[:6], err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(keys[0].dialer, keys[1].dialer) ||
			!bytes.Equal(keys[0].acceptor, keys[1].acceptor) {
			t.Error("the two sides have different keys")
		}
		for _, k := range [][]byte{keys[0].dialer, keys[0].acceptor} {
			if len(k) != keySize+nonceSize || seen[string(k)] {
				t.Errorf("key %x, want a new one of %d bytes", k, keySize+nonceSize)
			}
			seen[string(k)] = true
		}
	}
}

// TestNonces wants each record to have a nonce of its own.
func TestNonces(t *testing.T) {
	s, err := newSeal(someKey(0xff))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 70_000 {
		n := string(s.next())
		if seen[n] {
			t.Fatalf("nonce %x is used twice", n)
		}
		seen[n] = true
	}
}

// FuzzRecords reads any bytes behind a record.
func FuzzRecords(f *testing.F) {
	a := records(f, someKey(1), "first", "second")
	f.Add(a[1])
	f.Add([]byte{23, 3, 3, 0, 17, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := opened(t, someKey(1), a[0], b)
		if err == nil && len(b) > 0 && !bytes.Equal(b, a[1]) || got != "first" &&
			!bytes.HasPrefix(b, a[1]) {
			t.Fatalf("opened %q, %v", got, err)
		}
	})
}
