package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// address is a store's address in parts.
type address struct {
	endpoints      []string // HOST:PORT, with http:// or https:// in front
	user, password string
	prefix         string // of all keys; begins with / and does not end with it
	tls            *tls.Config
	ttl            int64 // seconds
}

const (
	defaultPrefix = "/gomx"
	defaultTTL    = 2 // seconds
)

// parse reads an address, and the files that it names.
func parse(text string) (address, error) {
	a, err := split(text)
	if err != nil {
		return a, fmt.Errorf("etcd: address %q: %w", text, err)
	}
	return a, nil
}

// split takes an address apart. A list of hosts is no URL for package url.
func split(text string) (a address, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return a, fmt.Errorf("it begins with %q, want etcd:// or etcds://", scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		if err := a.login(hosts[:i]); err != nil {
			return a, err
		}
		hosts = hosts[i+1:]
	}
	if a.prefix = "/" + strings.Trim(path, "/"); a.prefix == "/" {
		a.prefix = defaultPrefix
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return a, err
	}
	if err := a.options(scheme == "etcds", options); err != nil {
		return a, err
	}
	protocol := "http://"
	if a.tls != nil {
		protocol = "https://"
	}
	for _, host := range strings.Split(hosts, ",") {
		name, port, err := net.SplitHostPort(host)
		if n, numErr := strconv.Atoi(port); err != nil || numErr != nil || n < 1 || n > 65535 ||
			name == "" {
			return a, fmt.Errorf("member %q, want HOST:PORT", host)
		}
		a.endpoints = append(a.endpoints, protocol+host)
	}
	return a, nil
}

// login reads USER:PASSWORD.
func (a *address) login(text string) (err error) {
	user, password, _ := strings.Cut(text, ":")
	if a.user, err = url.PathUnescape(user); err == nil {
		a.password, err = url.PathUnescape(password)
	}
	return err
}

// options reads the part behind the question mark.
func (a *address) options(secure bool, options url.Values) error {
	a.ttl = defaultTTL
	for name, values := range options {
		value := values[len(values)-1]
		switch name {
		case "ca", "cert", "key":
			secure = true
		case "ttl":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 1 || n > 3600 {
				return fmt.Errorf("ttl is %q, want 1 to 3600 seconds", value)
			}
			a.ttl = n
		default:
			return fmt.Errorf("option %q, want ca, cert, key or ttl", name)
		}
	}
	if !secure {
		return nil
	}
	var err error
	a.tls, err = tlsConfig(options.Get("ca"), options.Get("cert"), options.Get("key"))
	return err
}

// tlsConfig reads certificates. An empty ca stands for the authorities of the system.
func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		b, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("file %s has no certificate in the format PEM, want at least "+
				"one",
				ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, fmt.Errorf("cert is %q and key is %q, want both or neither", cert, key)
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// renewals is the number of times that a lease is renewed within its time to live.
const renewals = 6

// renewEvery is the time between renewals of a lease.
func (a *address) renewEvery() time.Duration {
	return time.Duration(a.ttl) * time.Second / renewals
}
