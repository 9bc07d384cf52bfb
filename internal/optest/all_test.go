package optest_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"gomx/internal/optest"
	"gomx/op"

	_ "gomx/ndarray" // all families of operators
)

var rounds = flag.Int("rounds", 100, "how many times each operator runs on random operands")

// FuzzInference lets every operator infer from attributes and shapes made of bytes. The operator is chosen by number.
func FuzzInference(f *testing.F) {
	ops := op.All()
	for i := range ops {
		f.Add(uint16(i), []byte{})
		f.Add(uint16(i), noise(uint64(i), 64))
	}
	f.Fuzz(func(t *testing.T, i uint16, data []byte) {
		if err := optest.Infers(ops[int(i)%len(ops)], data); err != nil {
			t.Error(err)
		}
	})
}

// TestInferenceNeverPanics is FuzzInference on random bytes, some for each operator.
func TestInferenceNeverPanics(t *testing.T) {
	const rounds = 100
	for _, o := range op.All() {
		for seed := range uint64(rounds) {
			if err := optest.Infers(o, noise(seed, 96)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				break
			}
		}
	}
}

// FuzzRun lets every operator run on operands made of bytes, with the kernels of every tier.
func FuzzRun(f *testing.F) {
	ops := op.All()
	for i := range ops {
		f.Add(uint16(i), []byte{})
		for seed := range uint64(4) {
			f.Add(uint16(i), noise(seed, 64))
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, data []byte) {
		if err := optest.Runs(ops[int(i)%len(ops)], data); err != nil {
			t.Error(err)
		}
	})
}

// TestRunningNeverPanics is FuzzRun on random bytes, some for each operator.
func TestRunningNeverPanics(t *testing.T) {
	for _, o := range op.All() {
		for seed := range uint64(*rounds) {
			if err := optest.Runs(o, noise(seed, 96)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				break
			}
		}
	}
}

// TestRunningWithoutElements runs every operator on arrays without elements, which have no memory: a kernel that
// computes an address from nil, or divides by an extent, ends the process.
func TestRunningWithoutElements(t *testing.T) {
	for _, o := range op.All() {
		for seed := range uint64(*rounds) {
			if err := optest.RunsEmpty(o, noise(seed, 96)); err != nil {
				t.Errorf("seed %d: %v", seed, err)
				break
			}
		}
	}
}

func noise(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 5))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
