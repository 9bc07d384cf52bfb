package wire

// TensorPlace says which value of a pipeline a message of type Tensor carries a slice of.
type TensorPlace struct {
	Step     uint64 // step of training, from 1 on
	Link     uint32 // number of the transfer between two stages
	Micro    uint32 // micro-batch
	Backward bool   // a gradient on its way back
}

// SetTensor makes m a slice of a tensor.
func (m *Message) SetTensor(p TensorPlace) {
	m.Seq, m.Key, m.Clock, m.Shard = p.Step, p.Link, uint64(p.Micro), 0
	if p.Backward {
		m.Shard = 1
	}
}

// Tensor returns the place of a slice of a tensor.
func (m *Message) Tensor() TensorPlace {
	return TensorPlace{m.Seq, m.Key, uint32(m.Clock), m.Shard == 1}
}

// Report is the message of a stage of a pipeline about itself.
type Report struct {
	Awaits int  // stage that it waits for, -1 for none; with Failed the stage to blame
	Failed bool // the pipeline has ended; the payload is the reason
}

// SetReport makes m a report.
func (m *Message) SetReport(r Report) {
	m.Need, m.Seq = uint64(r.Awaits+1), 0
	if r.Failed {
		m.Seq = 1
	}
}

// Report returns the content of a report.
func (m *Message) Report() Report { return Report{int(min(m.Need, 1<<16)) - 1, m.Seq == 1} }
