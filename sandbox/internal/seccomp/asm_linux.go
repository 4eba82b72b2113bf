package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterCode is a piece of a filter in which every path ends in a return. Jumps
// are relative and go forward only, so pieces are put together by concatenation
// and there are no labels to resolve.
type filterCode []bpf.Instruction

// maxSkip is the longest conditional jump: classic BPF has 8 bits for it.
const maxSkip = 255

// returnVerdict is code that returns a verdict.
func returnVerdict(verdict uint32) filterCode {
	return filterCode{bpf.RetConstant{Val: verdict}}
}

var (
	allow   = returnVerdict(unix.SECCOMP_RET_ALLOW)
	notify  = returnVerdict(unix.SECCOMP_RET_USER_NOTIF)
	denied  = refuseWith(unix.EPERM)
	missing = refuseWith(unix.ENOSYS)
)

// loadWord puts a 32-bit word of struct seccomp_data into the accumulator.
func loadWord(offset uint32, then filterCode) filterCode {
	return joinCode(filterCode{bpf.LoadAbsolute{Off: offset, Size: 4}}, then)
}

// maskBits clears the bits of the accumulator that are not in m.
func maskBits(m uint32, then filterCode) filterCode {
	return joinCode(filterCode{bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: m}}, then)
}

// branchIf compares the accumulator with k. A branch that is too long for a
// conditional jump is reached by an unconditional one, which has 32 bits.
func branchIf(test bpf.JumpTest, k uint32, yes, no filterCode) filterCode {
	j := bpf.JumpIf{Cond: test, Val: k}
	if len(no) <= maxSkip {
		j.SkipTrue = uint8(len(no))
		return joinCode(filterCode{j}, no, yes)
	}
	j.SkipFalse = 1
	return joinCode(filterCode{j, bpf.Jump{Skip: uint32(len(no))}}, no, yes)
}

// oneOf compares the accumulator with a set of values.
func oneOf(values []uint32, yes, no filterCode) filterCode {
	m := make(map[uint32]filterCode, len(values))
	for _, v := range values {
		m[v] = yes
	}
	return chooseByValue(m, no)
}

// valueSpan is what runs from a value up to the next span.
type valueSpan struct {
	from uint32
	code filterCode
}

// chooseByValue runs the code of the accumulator's value by binary search.
// Neighbours with the same code share a span.
func chooseByValue(m map[uint32]filterCode, otherwise filterCode) filterCode {
	values := make([]uint32, 0, len(m))
	for v := range m {
		values = append(values, v)
	}
	slices.Sort(values)
	spans := []valueSpan{{0, otherwise}}
	add := func(from uint32, c filterCode) {
		last := &spans[len(spans)-1]
		switch {
		case slices.Equal(last.code, c):
		case last.from == from:
			// Nothing lies before this value; the span before it may be
			// the same again.
			spans = spans[:len(spans)-1]
			if n := len(spans); n == 0 || !slices.Equal(spans[n-1].code, c) {
				spans = append(spans, valueSpan{from, c})
			}
		default:
			spans = append(spans, valueSpan{from, c})
		}
	}
	for _, v := range values {
		add(v, m[v])
		if v != 1<<32-1 {
			add(v+1, otherwise)
		}
	}
	return searchSpans(spans)
}

// searchSpans returns the decision tree over spans, of which there is at least
// one.
func searchSpans(spans []valueSpan) filterCode {
	if len(spans) == 1 {
		return spans[0].code
	}
	mid := len(spans) / 2
	return branchIf(bpf.JumpGreaterOrEqual, spans[mid].from, searchSpans(spans[mid:]), searchSpans(spans[:mid]))
}

// joinCode copies pieces into a new one.
func joinCode(pieces ...filterCode) filterCode {
	return slices.Concat(pieces...)
}
