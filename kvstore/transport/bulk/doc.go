// Package bulk encrypts the payloads of a job. It wraps another transport, which
// authenticates its peers (ZeroMQ with CURVE keys) and carries the control messages:
//
//	base := func(cfg transport.Config) (transport.Endpoint, error) { return zmq.Open(cfg, withKeys) }
//	ep, err := bulk.Open(cfg, bulk.Options{Base: base, Listen: "10.0.0.7:0"})
//
// CURVE encrypts with XSalsa20 in software, at a fifth of the rate of AES-GCM in the processor's
// instructions. Therefore all data messages travel over a connection of their own, a line: a
// handshake of TLS 1.3, and then records sealed by AES-256-GCM with keys derived from it.
// docs/rfc/encryption.md has the threat model and the measurements behind this choice.
//
// # How a line is made
//
// Every endpoint makes a certificate when it opens; nobody signs it. An endpoint that connects
// tells the peer the SHA-256 of its own certificate, the pin, in a message of the base transport,
// and asks for the peer's pin. Then it dials the address for lines, a part of Addr. Each side
// accepts exactly one certificate: the one whose pin the base transport brought from the node that
// it authenticated. The node behind a line follows from the pin, and messages in the name of
// another node are dropped and counted.
//
// # Order
//
// Data messages to a peer never use both ways: if its address has a part for lines they wait for a
// line, otherwise the base carries them. The scheduler's messages always use the base.
//
// # New keys
//
// A line ends in order after Options.Rekey bytes in one direction: each side finishes its message
// and says goodbye in a last message, and the dialing side makes the next line. Messages wait
// meanwhile; none is lost or overtaken. Certificates last as long as their endpoint, the keys of a
// line as long as the line.
//
// # Limits
//
// Until its certificate is verified a peer costs one entry in a list of at most 64 handshakes, of
// which the oldest is closed for a new one, and the messages of a TLS handshake, whose size
// crypto/tls bounds. Every record has at most 64 KiB, and is verified before a byte of it is used.
// A record that is changed, repeated, left out, moved, or taken from another line ends its line and
// is counted as forged.
package bulk
