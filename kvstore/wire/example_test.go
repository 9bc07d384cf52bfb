package wire_test

import (
	"fmt"

	"gomx/kvstore/wire"
)

func Example() {
	push := wire.Message{
		Type: wire.TypePush, Job: 42, Shard: 1, Epoch: 3, From: wire.Node{Role: wire.Worker,
			Rank: 2}, Incarnation: 7,
		Seq: 10, Clock: 5, KeySlice: wire.KeySlice{Key: 4, Slices: 1, Total: 8},
		Payload: make([]byte, 8),
	}
	header := push.AppendHeader(nil)

	var m wire.Message
	if err := wire.Decode(header, push.Payload, &m); err != nil {
		fmt.Println(err)
	}
	fmt.Println(&m)
	header[20] ^= 1
	fmt.Println(wire.Decode(header, push.Payload, &m))
	// Output:
	// push from worker 2/7 shard 1 epoch 3 seq 10 clock 5 need 0 key 4 slice 0/1 flags 0x0 8 bytes
	// wire: not a header of this format: its checksum is wrong
}

func ExampleRange() {
	const total = 1000
	n := wire.Slices(total, 256)
	for i := range n {
		lo, hi := wire.Range(total, i, n)
		fmt.Println(lo, hi)
	}
	// Output:
	// 0 256
	// 256 512
	// 512 768
	// 768 1000
}

func ExampleMessage_Items() {
	var payload []byte
	for key := range uint32(3) {
		payload = wire.AppendItem(payload, &wire.Message{Type: wire.TypePush,
			KeySlice: wire.KeySlice{Key: key},
			Payload:  []byte{byte(key)}})
	}
	batch := wire.Message{Type: wire.TypeBatch, From: wire.Node{Role: wire.Worker},
		Payload: payload}
	items := batch.Items()
	var m wire.Message
	for ok, err := items.Next(&m); ok && err == nil; ok, err = items.Next(&m) {
		fmt.Println(m.Type, m.Key, m.Payload)
	}
	// Output:
	// push 0 [0]
	// push 1 [1]
	// push 2 [2]
}
