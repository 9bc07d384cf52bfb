package data

import "math/rand/v2"

// Words is a made-up language. Its words belong to classes, such as animals or colours. A sentence
// has a word of class c, then one of class c+1, then c+2 and so on, so that words of one class have
// the same neighbours. Few words of a class are frequent (Zipf). Frequent words of all classes have
// small numbers: word w is of class w modulo Classes.
type Words struct {
	Classes, PerClass int
	Seed              uint64
}

// Class returns the class of a word.
func (l Words) Class(word int) int { return word % l.Classes }

// Pairs draws n sentences and returns their pairs of a word and its neighbour at a distance of at
// most window. Texts of several numbers part have sentences of their own.
func (l Words) Pairs(n, window int, part uint64) (words, neighbours []int32) {
	r := rand.New(rand.NewPCG(l.Seed, part))
	zipf := rand.NewZipf(r, 1.2, 3, uint64(l.PerClass-1))
	sentence := make([]int32, 8)
	for range n {
		class := r.IntN(l.Classes)
		for i := range sentence {
			sentence[i] = int32(int(zipf.Uint64())*l.Classes + (class+i)%l.Classes)
		}
		for i, word := range sentence {
			for k := max(0, i-window); k <= min(i+window, len(sentence)-1); k++ {
				if k != i {
					words, neighbours = append(words, word), append(neighbours, sentence[k])
				}
			}
		}
	}
	return words, neighbours
}
