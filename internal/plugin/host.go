package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// hostFunction is one function that the host gives to modules.
type hostFunction struct {
	module, name string
	params       []api.ValueType
	results      int
	run          api.GoModuleFunc
}

// offered returns everything that modules may import. There is nothing else.
var offered = sync.OnceValue(func() []hostFunction {
	i32 := api.ValueTypeI32
	place := []api.ValueType{i32, i32}
	list := []hostFunction{
		{wire.Module, wire.FuncRead, place, 1, readPending},
		{wire.Module, wire.FuncAnswer, place, 0, takeAnswer},
	}
	for name, serve := range newAccessors() {
		list = append(list, hostFunction{wire.Module, name, place, 1, serveAccessor(serve)})
	}
	return append(list, wasiFunctions()...)
})

// accessor serves one function of an accessor: the head and the body of the module's
// message, and those of the answer. A nil answer has no head.
type accessor func(r *run, head json.RawMessage, body []byte) (answer any, content []byte, err error)

// newAccessors returns the functions of the accessors by their names.
func newAccessors() map[string]accessor {
	return map[string]accessor{
		wire.FuncAbs: of(absFile), wire.FuncReadFile: of(readFile), wire.FuncStat: of(statFile), wire.FuncList: of(listFolder),
		wire.FuncWriteFile: of(writeFile), wire.FuncMakeDir: of(makeFolder), wire.FuncUpdate: of(beginUpdate), wire.FuncCommit: of(endUpdate),
		wire.FuncHTTP: of(sendRequest), wire.FuncSecret: of(readSecret),
		wire.FuncGet: of(getValue), wire.FuncSet: of(setValue), wire.FuncDelete: of(deleteValue), wire.FuncKeys: of(listKeys),
		wire.FuncAttachments: of(listAttachments), wire.FuncAttachment: of(readAttachment), wire.FuncProgress: of(reportProgress),
	}
}

// of makes an accessor of a function with a typed head, which is read strictly.
func of[In any](serve func(r *run, in In, body []byte) (any, []byte, error)) accessor {
	return func(r *run, head json.RawMessage, body []byte) (any, []byte, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(head))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil || d.More() {
			return nil, nil, hostFault("a message that the host cannot read")
		}
		return serve(r, in, body)
	}
}

// hostFault ends the run of a module that does not keep to the protocol, or that
// wants more than there is. It says what was wrong, in words of this package.
type hostFault string

func (f hostFault) Error() string { return string(f) }

// run is one use of an instance: a call, or the question what tools there are.
type run struct {
	ctx context.Context
	// call is nil while an instance starts and while it declares its tools.
	call *sallyport.Call
	// declares says that the module declares its tools, which depend on it alone:
	// time stands still and nothing is random.
	declares bool

	pending  []byte // what read returns next
	answer   []byte // what the module answered
	answered bool
	calls    int // of host functions
	moved    int // bytes
	log      logWriter
	refusals []error // of accessors, which alone stand for the gate's own words
	update   *openUpdate
}

// runKey finds the run in the context of a call.
type runKey struct{}

// runOf returns the run that a host function serves, and counts the call. It ends a
// run that calls the host too often, or that is over.
func runOf(ctx context.Context, mod api.Module) *run {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || mod.Memory() == nil {
		panic(hostFault("a call of the host outside of a run"))
	}
	if r.calls++; r.calls > maxHostCalls {
		panic(hostFault(fmt.Sprintf("more than %d calls of the host", maxHostCalls)))
	}
	endRun(ctx, mod)
	return r
}

// endRun ends a run that is over: its context has ended, or its module is closed.
func endRun(ctx context.Context, mod api.Module) {
	if err := ctx.Err(); err != nil {
		panic(err)
	}
	if mod.IsClosed() {
		panic(hostFault("it is closed"))
	}
}

// moveBytes counts bytes that go through the accessors.
func (r *run) moveBytes(n int) {
	if r.moved += n; r.moved > maxMoved {
		panic(hostFault(fmt.Sprintf("more than %d MiB through the accessors", maxMoved>>20)))
	}
}

// readPart returns a copy of a part of the module's memory.
func readPart(m api.Memory, place, length uint64) []byte {
	if uint32(length) > maxMessage {
		panic(hostFault(fmt.Sprintf("a message of more than %d MiB", maxMessage>>20)))
	}
	b, ok := m.Read(uint32(place), uint32(length))
	if !ok {
		panic(hostFault("a place outside of its memory"))
	}
	return slices.Clone(b)
}

func readPending(ctx context.Context, mod api.Module, stack []uint64) {
	r := runOf(ctx, mod)
	n := min(len(r.pending), int(uint32(stack[1])))
	if !mod.Memory().Write(uint32(stack[0]), r.pending[:n]) {
		panic(hostFault("a place outside of its memory"))
	}
	r.pending = r.pending[n:]
	stack[0] = uint64(n)
}

func takeAnswer(ctx context.Context, mod api.Module, stack []uint64) {
	if uint32(stack[0]) == askMark && uint32(stack[1]) == askMark { // a guard, which is no call of the module's
		endRun(ctx, mod)
		return
	}
	r := runOf(ctx, mod)
	if r.answered {
		panic(hostFault("a second answer"))
	}
	r.answer, r.answered = readPart(mod.Memory(), stack[0], stack[1]), true
}

// serveAccessor makes a host function of an accessor.
func serveAccessor(serve accessor) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		r := runOf(ctx, mod)
		if r.call == nil {
			panic(hostFault("a call of an accessor outside of a tool"))
		}
		message := readPart(mod.Memory(), stack[0], stack[1])
		r.moveBytes(len(message))
		head, body := wire.Split(message)
		answer, content, err := serve(r, head, body)
		if fault, ok := errors.AsType[hostFault](err); ok {
			panic(fault)
		}
		r.pending = encodeAnswer(r, answer, content, err)
		r.moveBytes(len(r.pending))
		stack[0] = uint64(len(r.pending))
	}
}

// encodeAnswer returns the message that answers an accessor's function.
func encodeAnswer(r *run, answer any, content []byte, err error) []byte {
	var a wire.Answer
	if err == nil && answer != nil {
		a.OK, err = json.Marshal(answer)
	}
	if err == nil && len(a.OK)+len(content) > maxMessage {
		err = fmt.Errorf("the answer has more than %d MiB", maxMessage>>20)
	}
	if err != nil {
		a, content = wire.Answer{Error: describeError(err)}, nil
		r.refusals = append(r.refusals, err)
	}
	head, err := json.Marshal(a)
	if err != nil {
		panic(hostFault("an answer that cannot be written"))
	}
	return append(append(head, '\n'), content...)
}

// describeError returns an accessor's error as a tool in this process would see it.
func describeError(err error) *wire.Error {
	w := &wire.Error{Detail: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		w.Code, w.Resource, w.Operation, w.Detail = string(e.Code), e.Resource, e.Operation, e.Detail
	}
	return w
}
