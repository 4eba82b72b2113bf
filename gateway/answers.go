package gateway

import "sync"

// maxKeptAnswer bounds the size of a buffer that is reused for later answers,
// in bytes.
const maxKeptAnswer = 64 << 10

// answerBuffers is a pool of buffers for the text of answers. A buffer never
// holds anything that was passed to a tool, because a tool may outlive its
// call.
type answerBuffers struct{ pool sync.Pool }

func (a *answerBuffers) getBuffer() *[]byte {
	if b, ok := a.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, 1024)
	return &b
}

func (a *answerBuffers) putBuffer(b *[]byte) {
	if cap(*b) > maxKeptAnswer {
		return
	}
	*b = (*b)[:0]
	a.pool.Put(b)
}
