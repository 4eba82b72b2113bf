package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"
)

// A decision tree over any set of values, with leaves longer than a
// conditional jump, decides like the map it was made from.
func TestChooseDecidesLikeTheMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Uint32Range(0, 12), rapid.Uint32(), rapid.Just(uint32(1<<32-1)))
		verdicts := rapid.MapOfN(value, rapid.Uint32Range(0, 3), 0, 12).Draw(t, "values")
		padding := rapid.SampledFrom([]int{0, 1, 254, 255, 256, 300}).Draw(t, "padding")
		m := make(map[uint32]filterCode, len(verdicts))
		for v, r := range verdicts {
			m[v] = padded(padding, r)
		}
		p, err := bpf.Assemble(loadWord(0, chooseByValue(m, padded(padding, 3))))
		if err != nil {
			t.Fatal(err)
		}
		list, _ := bpf.Disassemble(p)
		vm, err := bpf.NewVM(list)
		if err != nil {
			t.Fatal(err)
		}
		asked := []uint32{value.Draw(t, "other")}
		for v := range verdicts {
			asked = append(asked, v-1, v, v+1)
		}
		for _, v := range asked {
			want, ok := verdicts[v]
			if !ok {
				want = 3
			}
			got, err := vm.Run(binary.BigEndian.AppendUint32(nil, v))
			if err != nil || uint32(got) != want {
				t.Fatalf("%d decides %d (%v), want %d", v, got, err, want)
			}
		}
	})
}

// padded is a return after n instructions without effect.
func padded(n int, verdict uint32) filterCode {
	c := make(filterCode, 0, n+1)
	for range n {
		c = append(c, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1<<32 - 1})
	}
	return append(c, returnVerdict(verdict)...)
}

func TestProgramsAreSmallAndOnlyUseWhatTheKernelCaches(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		for _, o := range []Options{{}, full, {Notify: true, Network: true, IPC: true}, {Watch: true}} {
			p, err := machines[arch].assembleFilter(o)
			if err != nil {
				t.Fatal(err)
			}
			// The kernel counts the instructions of all filters of a thread,
			// so ours leaves room for those of the program.
			if len(p) > 1024 {
				t.Errorf("%s %+v has %d instructions, want at most 1024", arch, o, len(p))
			}
			t.Logf("%s %+v: %d instructions", arch, o, len(p))
			// seccomp_is_const_allow of kernel/seccomp.c follows these only:
			// ld [k], ret k, ja, jeq, jge, jset, and.
			for i, in := range p {
				if !slices.Contains([]uint16{0x20, 0x06, 0x05, 0x15, 0x35, 0x45, 0x54}, in.Op) {
					t.Errorf("%s %+v: instruction %d is %#x", arch, o, i, in.Op)
				}
			}
		}
	}
}
