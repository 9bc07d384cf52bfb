package bulk

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The benchmarks of this file are the measurements of docs/rfc/encryption.md: the rate of AES-GCM,
// and rounds between two processes over plain TCP, over TLS 1.3, over the records of lines, and
// over simple frames of several sizes.

// BenchmarkGCM seals and opens 1 MB.
func BenchmarkGCM(b *testing.B) {
	for _, key := range []int{16, 32} {
		for _, record := range []int{16 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("aes%d/%dKiB", 8*key, record>>10), func(b *testing.B) {
				aead := newGCM(b, key)
				plain := make([]byte, 1<<20)
				sealed := make([]byte, 0, record+16)
				nonce := make([]byte, 12)
				b.SetBytes(int64(len(plain)))
				for b.Loop() {
					for at := 0; at < len(plain); at += record {
						part := plain[at : at+record]
						sealed = aead.Seal(sealed[:0], nonce, part, nil)
						if _, err := aead.Open(part[:0], nonce, sealed, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func newGCM(t testing.TB, key int) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, key))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

// framed seals frames with AES-256-GCM: a length of 4 bytes, which is authenticated, and the sealed
// bytes. The nonce counts frames.
type framed struct {
	net.Conn
	in, out   cipher.AEAD
	read, put uint64
	most      int
	buf, back []byte
}

func newFramed(t testing.TB, c net.Conn, most int) *framed {
	return &framed{Conn: c, in: newGCM(t, 32), out: newGCM(t, 32), most: most,
		buf: make([]byte, 0, most+20), back: make([]byte, most+20)}
}

func nonceOf(n uint64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 4, 12), n)
}

func (f *framed) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), f.most)
		f.buf = binary.BigEndian.AppendUint32(f.buf[:0], uint32(n))
		f.buf = f.out.Seal(f.buf, nonceOf(f.put), rest[:n], f.buf[:4])
		f.put++
		rest = rest[n:]
		if _, err := f.Conn.Write(f.buf); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Read opens the next frame into p, which has room for it.
func (f *framed) Read(p []byte) (int, error) {
	if _, err := io.ReadFull(f.Conn, f.back[:4]); err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint32(f.back))
	if n > len(p) {
		return 0, io.ErrShortBuffer
	}
	if _, err := io.ReadFull(f.Conn, f.back[4:4+n+16]); err != nil {
		return 0, err
	}
	out, err := f.in.Open(p[:0], nonceOf(f.read), f.back[4:4+n+16], f.back[:4])
	f.read++
	return len(out), err
}

// ways are the ways to protect a connection.
var ways = []string{"plain", "tls", "line", "framed16", "framed64", "framed256", "framed1024"}

// protect wraps a connection.
func protect(t testing.TB, way string, c net.Conn, server bool) io.ReadWriter {
	t.Helper()
	switch {
	case way == "plain":
		return c
	case way == "line":
		return newPlainLine(t, c)
	case strings.HasPrefix(way, "framed"):
		var kib int
		fmt.Sscanf(way, "framed%d", &kib)
		return newFramed(t, c, kib<<10)
	}
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0,
		0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		DynamicRecordSizingDisabled: true, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: secret}}}
	if server {
		return tls.Server(c, config)
	}
	return tls.Client(c, config)
}

// plainLine carries bytes in the records of lines, with keys of zeros.
type plainLine struct {
	w *writer
	*reader
}

func newPlainLine(t testing.TB, c net.Conn) plainLine {
	t.Helper()
	key := make([]byte, keySize+nonceSize)
	w, err := newWriter(c, key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReader(newSocket(c), key)
	if err != nil {
		t.Fatal(err)
	}
	return plainLine{w, r}
}

func (l plainLine) Write(b []byte) (int, error) {
	err := l.w.addLong(b)
	if err == nil {
		err = l.w.flush()
	}
	return len(b), err
}

// echoEnv marks the process that echoes.
const echoEnv = "GOMX_BULK_TEST_ECHO"

// TestEchoProcess is the other process of BenchmarkProcesses.
func TestEchoProcess(t *testing.T) {
	way := os.Getenv(echoEnv)
	if way == "" {
		t.Skip("it runs in a process of its own")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s\n", l.Addr())
	raw, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := protect(t, way, raw, true)
	var size [8]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint64(size[:]))
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// BenchmarkProcesses sends bytes to another process and back.
func BenchmarkProcesses(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20, 100 << 20} {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, way), func(b *testing.B) {
				b.SetBytes(int64(2 * size))
				c := echo(b, way)
				if _, err := c.Write(binary.BigEndian.AppendUint64(nil, uint64(size))); err != nil {
					b.Fatal(err)
				}
				out, in := make([]byte, size), make([]byte, size)
				for b.Loop() {
					if _, err := c.Write(out); err != nil {
						b.Fatal(err)
					}
					if _, err := io.ReadFull(c, in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// echo starts the process that echoes and connects to it.
func echo(b *testing.B, way string) io.ReadWriter {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEchoProcess$", "-test.v")
	cmd.Env = append(os.Environ(), echoEnv+"="+way)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var raw net.Conn
	b.Cleanup(func() {
		if raw != nil {
			raw.Close()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for s := bufio.NewScanner(out); s.Scan(); {
		if addr := s.Text(); strings.HasPrefix(addr, "127.0.0.1:") {
			if raw, err = net.Dial("tcp", addr); err != nil {
				b.Fatal(err)
			}
			return protect(b, way, raw, false)
		}
	}
	b.Fatal("the other process gives no address")
	return nil
}
