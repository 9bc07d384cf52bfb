package zmq

import (
	"fmt"
	"strings"

	"gomx/kvstore/wire"
)

// Key is a CURVE key pair in the Z85 encoding, 40 characters each.
type Key struct{ Public, Secret string }

// Keyring holds the keys by which a node proves its identity and recognizes the others. Every node has a key
// of its own, which stands for its role and rank: a message in the name of another node is dropped,
// and a peer with an unknown key never gets a connection.
type Keyring struct {
	Self  Key
	Nodes map[wire.Node]string // everybody's public keys
}

// check reports a fault of a keyring.
func (k *Keyring) check() error {
	if len(k.Self.Public) != z85Size || len(k.Self.Secret) != z85Size {
		return fmt.Errorf("zmq: key of %d and %d characters, want %d each", len(k.Self.Public),
			len(k.Self.Secret), z85Size)
	}
	owner := map[string]wire.Node{}
	for node, public := range k.Nodes {
		if len(public) != z85Size {
			return fmt.Errorf("zmq: public key of %s has %d characters, want %d", node, len(public),
				z85Size)
		}
		if other, taken := owner[public]; taken {
			return fmt.Errorf("zmq: %s and %s have the same key", node, other)
		}
		owner[public] = node
	}
	return nil
}

// owners maps public keys to nodes.
func (k *Keyring) owners() map[string]wire.Node {
	m := map[string]wire.Node{}
	for node, public := range k.Nodes {
		m[public] = node
	}
	return m
}

// NewKeyrings makes keys for all nodes of a job and returns everybody's keyring.
func NewKeyrings(nodes ...wire.Node) (map[wire.Node]*Keyring, error) {
	rings := map[wire.Node]*Keyring{}
	public := map[wire.Node]string{}
	for _, n := range nodes {
		k, err := NewKey()
		if err != nil {
			return nil, err
		}
		public[n] = k.Public
		rings[n] = &Keyring{Self: k, Nodes: public}
	}
	return rings, nil
}

const (
	z85Size  = 40
	z85Chars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)

// z85 encodes bytes, a multiple of four, as RFC 32 of ZeroMQ says.
func z85(b []byte) string {
	var s strings.Builder
	for ; len(b) >= 4; b = b[4:] {
		v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		for div := uint32(85 * 85 * 85 * 85); div > 0; div /= 85 {
			s.WriteByte(z85Chars[v/div%85])
		}
	}
	return s.String()
}
