package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
)

// publicFile holds the public keys of all nodes. The key pair of each node is in a file of its own,
// so that a host can be given only the keys that it needs.
const publicFile = "public.json"

func keyFile(dir string, n wire.Node) string {
	return filepath.Join(dir, strings.ReplaceAll(n.String(), " ", "-")+".json")
}

// KeyFiles makes the keys of a job and returns the contents of the files that MakeKeys writes, by
// their names.
func KeyFiles(workers, servers int) (map[string][]byte, error) {
	nodes := []wire.Node{{Role: wire.Scheduler}}
	for i := range servers {
		nodes = append(nodes, wire.Node{Role: wire.Server, Rank: uint16(i)})
	}
	for i := range workers {
		nodes = append(nodes, wire.Node{Role: wire.Worker, Rank: uint16(i)})
	}
	rings, err := zmq.NewKeyrings(nodes...)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	files, public := map[string][]byte{}, map[string]string{}
	for _, n := range nodes {
		public[n.String()] = rings[n].Self.Public
		if files[keyFile("", n)], err = encode(rings[n].Self); err != nil {
			return nil, err
		}
	}
	files[publicFile], err = encode(public)
	return files, err
}

// MakeKeys writes the keys of a job into a folder: public.json, which every host needs, and one
// file per process. Only the owner can read them.
func MakeKeys(dir string, workers, servers int) error {
	files, err := KeyFiles(workers, servers)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("launch: keys: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("launch: keys: %w", err)
		}
	}
	return nil
}

// LoadKeys reads the keyring of a node from a folder that MakeKeys wrote. It refuses a key that
// other users of the host can read or replace.
func LoadKeys(dir string, n wire.Node) (*zmq.Keyring, error) {
	ring := &zmq.Keyring{Nodes: map[wire.Node]string{}}
	own := keyFile(dir, n)
	if err := checkPrivate(own); err != nil {
		return nil, err
	}
	if err := readJSON(own, &ring.Self); err != nil {
		return nil, err
	}
	var public map[string]string
	if err := readJSON(filepath.Join(dir, publicFile), &public); err != nil {
		return nil, err
	}
	for name, key := range public {
		node, err := parseNode(name)
		if err != nil {
			return nil, fmt.Errorf("launch: keys in %s: %w", dir, err)
		}
		ring.Nodes[node] = key
	}
	return ring, nil
}

// parseNode parses the text of wire.Node.String.
func parseNode(s string) (wire.Node, error) {
	if s == "scheduler" {
		return wire.Node{Role: wire.Scheduler}, nil
	}
	var role string
	var rank uint16
	if n, err := fmt.Sscanf(s, "%s %d", &role, &rank); n != 2 || err != nil {
		return wire.Node{}, fmt.Errorf("node %q, want scheduler, server N or worker N", s)
	}
	switch role {
	case "server":
		return wire.Node{Role: wire.Server, Rank: rank}, nil
	case "worker":
		return wire.Node{Role: wire.Worker, Rank: rank}, nil
	}
	return wire.Node{}, fmt.Errorf("node %q, want scheduler, server N or worker N", s)
}

// encode writes a value as JSON.
func encode(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("launch: keys: %w", err)
	}
	return append(b, '\n'), nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("launch: keys: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("launch: keys in %s: %w", path, err)
	}
	return nil
}
