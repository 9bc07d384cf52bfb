package zoo

import (
	"fmt"

	"gomx/gluon"
)

// others lists the networks that are not for the classification of pictures, under the names that
// they have in GluonNLP and GluonCV.
func others() []Entry {
	words := func(name string, below int, shape ...int) Input {
		return Input{Name: name, Shape: shape, Below: below}
	}
	picture := func(shape ...int) []Input { return []Input{{Name: "data", Shape: shape}} }
	var list []Entry
	add := func(name string, inputs []Input, make func(c config) (*gluon.Net, error),
		allowed ...string) {
		list = append(list, Entry{Name: name, Function: name, Inputs: inputs,
			make: func(opts []Option) (*gluon.Net, error) {
				return make(configured(name, config{}, opts, allowed))
			}})
	}
	bert := func(name string, c BERTConfig) {
		add(name, []Input{words("data0", c.Vocab, 1, 128), words("data1", c.TokenTypes, 1, 128),
			words("data2", 128, 1), words("data3", 128, 1, 20)},
			func(config) (*gluon.Net, error) { return NewBERT(c).Net(), nil })
	}
	bert("bert_12_768_12", BERTBase())
	bert("bert_4_512_8", BERTSmall())
	add("gpt2_117m", []Input{words("data", GPT2Small().Vocab, 1, 128)},
		func(config) (*gluon.Net, error) { return gluon.New(NewGPT2(GPT2Small())), nil })
	for _, units := range []int{200, 650, 1500} {
		add(fmt.Sprintf("standard_lstm_lm_%d", units), []Input{words("data", wikiText2, 35, 1)},
			func(config) (*gluon.Net, error) {
				return gluon.New(NewLSTMLM(StandardLSTM(units))), nil
			})
	}
	for set, classes := range map[string]int{"voc": 20, "coco": 80} {
		add("ssd_512_resnet50_v1_"+set, picture(1, 3, 512, 512),
			func(c config) (*gluon.Net, error) {
				if c.classes == 0 {
					c.classes = classes
				}
				s, err := NewSSD(SSDConfig{Classes: c.classes})
				if err != nil {
					return nil, err
				}
				return s.Net(), nil
			}, "classes")
	}
	add("unet", picture(1, 3, 256, 256), func(c config) (*gluon.Net, error) {
		return gluon.New(NewUNet(UNetConfig{Classes: c.classes})), nil
	}, "classes")
	add("dcgan_generator", picture(1, 100, 1, 1), func(config) (*gluon.Net, error) {
		return gluon.New(DCGANGenerator(DCGANConfig{})), nil
	})
	add("dcgan_discriminator", picture(1, 3, 64, 64), func(config) (*gluon.Net, error) {
		return gluon.New(DCGANDiscriminator(DCGANConfig{})), nil
	})
	return list
}
