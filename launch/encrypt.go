package launch

import (
	"net"
	"strings"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/bulk"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// Kinds of encryption. See docs/rfc/encryption.md.
const (
	// EncryptOff is no encryption, which only the loopback and local sockets allow.
	EncryptOff = "off"
	// EncryptBulk encrypts payloads between servers and workers with TLS 1.3, and everything else
	// with CURVE. It is the default where there are keys.
	EncryptBulk = "bulk"
	// EncryptCurve encrypts everything with CURVE.
	EncryptCurve = "curve"
)

// validEncrypt reports whether a text is a kind of encryption, or empty for the default.
func validEncrypt(s string) bool {
	return s == "" || s == EncryptOff || s == EncryptBulk || s == EncryptCurve
}

// encrypted opens endpoints whose payloads TLS encrypts, if the job wants that. opt are the options
// of the transport below.
func (e *Environ) encrypted(base kvstore.Opener, opt zmq.Options) kvstore.Opener {
	if opt.Keys == nil || e.Encrypt == EncryptCurve || e.Role == wire.Scheduler {
		return base
	}
	return func(t transport.Config) (transport.Endpoint, error) {
		return bulk.Open(t, bulk.Options{Base: base, Listen: besides(t.Listen),
			Advertise: opt.Advertise})
	}
}

// besides is the address for TLS connections of a process that listens at an address of ZeroMQ: a
// free port of the same host, in the same range of ports if there is one. It is empty if the
// process does not listen on TCP.
func besides(listen string) string {
	if listen == "" {
		return "127.0.0.1:0" // the default of ZeroMQ's transport is the loopback too
	}
	first, _, _ := strings.Cut(listen, ",")
	rest, tcp := strings.CutPrefix(first, "tcp://")
	host, port, err := net.SplitHostPort(rest)
	if !tcp || err != nil {
		return ""
	}
	if host == "*" {
		host = ""
	}
	if !strings.Contains(port, "-") {
		port = "0"
	}
	return net.JoinHostPort(host, port)
}
