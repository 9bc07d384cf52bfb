package bulk

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"gomx/kvstore/wire"
)

// pin is the SHA-256 of a certificate. It names a process: each makes its certificate itself.
type pin [sha256.Size]byte

// identity is the certificate of this process and its pin.
type identity struct {
	cert tls.Certificate
	pin  pin
}

// newIdentity makes a certificate. Peers look at nothing but its pin.
func newIdentity(n wire.Node) (id identity, err error) {
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return id, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour),
		NotAfter: now.AddDate(10, 0, 0), Subject: pkix.Name{CommonName: n.String()},
		KeyUsage: x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, secret)
	if err != nil {
		return id, err
	}
	id.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: secret}
	id.pin = sha256.Sum256(der)
	return id, nil
}

// wipe overwrites the secret key.
func (id *identity) wipe() {
	if secret, ok := id.cert.PrivateKey.(ed25519.PrivateKey); ok {
		clear(secret)
	}
}

// protocol is the application protocol of a line, with the version of its format.
const protocol = "gomx-bulk/2"

// errNotPinned means that a certificate is not the one that the base transport announced.
var errNotPinned = errors.New("bulk: certificate is not pinned")

// config is the TLS configuration of one handshake, whose peer must have a pin that known accepts.
// Chains and names are not looked at: the pin came over the authenticated base transport.
func (id *identity) config(known func(pin) bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.cert},
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true,
		NextProtos: []string{protocol}, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			switch {
			case s.NegotiatedProtocol != protocol:
				return fmt.Errorf("bulk: protocol %q, want %q", s.NegotiatedProtocol, protocol)
			case len(s.PeerCertificates) == 0 || !known(pinOf(s)):
				return errNotPinned
			}
			return nil
		},
	}
}

// pinOf is the pin of the peer's certificate.
func pinOf(s tls.ConnectionState) pin { return sha256.Sum256(s.PeerCertificates[0].Raw) }

// A note tells a peer the sender's pin. Its payload is the pin and one byte that asks for the
// peer's pin if it is 1.
const noteSize = sha256.Size + 1

// noteOf makes the payload of a note.
func noteOf(p pin, ask bool) []byte {
	b := append(make([]byte, 0, noteSize), p[:]...)
	if ask {
		return append(b, 1)
	}
	return append(b, 0)
}

// readNote reads the payload of a note.
func readNote(b []byte) (p pin, ask bool, err error) {
	if len(b) != noteSize || b[noteSize-1] > 1 {
		return p, false, fmt.Errorf("bulk: note of %d bytes, want %d, the last 0 or 1", len(b),
			noteSize)
	}
	return pin(b[:sha256.Size]), b[noteSize-1] == 1, nil
}

// pinned are the pins that nodes have announced. A node that announces many keeps the last ones:
// its processes follow each other, and each has one pin.
type pinned struct {
	owner  map[pin]wire.Node
	recent map[wire.Node][]pin
}

// pinsPerNode is the number of pins that are kept for a node.
const pinsPerNode = 8

func newPinned() pinned {
	return pinned{owner: map[pin]wire.Node{}, recent: map[wire.Node][]pin{}}
}

// add notes a pin of a node. A pin that belongs to another node stays with it.
func (p *pinned) add(n wire.Node, x pin) {
	if _, taken := p.owner[x]; taken {
		return
	}
	list := p.recent[n]
	if len(list) == pinsPerNode {
		delete(p.owner, list[0])
		list = append(list[:0], list[1:]...)
	}
	p.recent[n] = append(list, x)
	p.owner[x] = n
}

// speaks reports whether a node has announced a pin: its data messages use lines.
func (p *pinned) speaks(n wire.Node) bool { return len(p.recent[n]) > 0 }
