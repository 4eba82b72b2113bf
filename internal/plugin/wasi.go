package plugin

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// wasiModule is the name that programs for WASI import from.
const wasiModule = "wasi_snapshot_preview1"

// The answers of system functions.
const (
	errnoSuccess = 0
	errnoBadFile = 8
	errnoFault   = 21
	errnoInvalid = 28
	errnoNoCall  = 52
	errnoNotSupp = 58
)

// wasiSignatures lists every function of the interface with its parameters: i for 32
// bits, I for 64. All but proc_exit answer a number.
var wasiSignatures = map[string]string{
	"args_get": "ii", "args_sizes_get": "ii", "environ_get": "ii", "environ_sizes_get": "ii",
	"clock_res_get": "ii", "clock_time_get": "iIi", "fd_advise": "iIIi", "fd_allocate": "iII", "fd_close": "i",
	"fd_datasync": "i", "fd_fdstat_get": "ii", "fd_fdstat_set_flags": "ii", "fd_fdstat_set_rights": "iII",
	"fd_filestat_get": "ii", "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi",
	"fd_prestat_get": "ii", "fd_prestat_dir_name": "iii", "fd_pwrite": "iiiIi", "fd_read": "iiii", "fd_readdir": "iiiIi",
	"fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i", "fd_tell": "ii", "fd_write": "iiii",
	"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi", "path_link": "iiiiiii",
	"path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii", "path_rename": "iiiiii",
	"path_symlink": "iiiii", "path_unlink_file": "iii", "poll_oneoff": "iiii", "proc_exit": "i", "proc_raise": "i",
	"sched_yield": "", "random_get": "ii", "sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
}

// wasiServed are the functions that do something. The rest answers that there is no
// such call.
var wasiServed = map[string]func(r *run, m api.Memory, p []uint64) uint64{
	"args_get":            answerZero,
	"environ_get":         answerZero,
	"args_sizes_get":      writeNoTexts,
	"environ_sizes_get":   writeNoTexts,
	"sched_yield":         answerZero,
	"fd_prestat_get":      answerBadFile,
	"fd_prestat_dir_name": answerBadFile,
	"clock_res_get":       func(_ *run, m api.Memory, p []uint64) uint64 { return storeNumber(m, p[1], 1) },
	"clock_time_get":      func(r *run, m api.Memory, p []uint64) uint64 { return storeNumber(m, p[2], r.readClock(uint32(p[0]))) },
	"random_get":          fillRandom,
	"fd_write":            writeLog,
	"poll_oneoff":         waitForClocks,
	"proc_exit":           func(_ *run, _ api.Memory, p []uint64) uint64 { panic(sys.NewExitError(uint32(p[0]))) },
}

func answerZero(*run, api.Memory, []uint64) uint64    { return errnoSuccess }
func answerBadFile(*run, api.Memory, []uint64) uint64 { return errnoBadFile }

// writeNoTexts says that there are no arguments, or no environment.
func writeNoTexts(_ *run, m api.Memory, p []uint64) uint64 {
	if !m.WriteUint32Le(uint32(p[0]), 0) || !m.WriteUint32Le(uint32(p[1]), 0) {
		return errnoFault
	}
	return errnoSuccess
}

func storeNumber(m api.Memory, at, value uint64) uint64 {
	if !m.WriteUint64Le(uint32(at), value) {
		return errnoFault
	}
	return errnoSuccess
}

// readClock returns the time in nanoseconds: of the day for the clock 0, else since
// the run began. While a module declares its tools, time stands still.
func (r *run) readClock(id uint32) uint64 {
	switch {
	case r.declares:
		return 1
	case id == 0:
		return uint64(time.Now().UnixNano())
	default:
		return uint64(time.Since(processStart)) + 1
	}
}

// processStart is what the monotonic clock counts from.
var processStart = time.Now()

// fillRandom fills memory with random bytes, with zeros while a module declares its
// tools: what it declares depends on the module alone.
func fillRandom(r *run, m api.Memory, p []uint64) uint64 {
	const most = 64 << 10
	b, ok := m.Read(uint32(p[0]), uint32(p[1]))
	switch {
	case !ok:
		return errnoFault
	case len(b) > most:
		return errnoInvalid
	case r.declares:
		clear(b)
	default:
		_, _ = rand.Read(b) // It ends the program rather than fail.
	}
	return errnoSuccess
}

// writeLog takes what a module writes to its standard output and error: not all of it
// where it is much, so that the end of a run is never far. A program writes the rest again.
func writeLog(r *run, m api.Memory, p []uint64) uint64 {
	const mostParts, mostBytes = 1024, 1 << 20
	if fd := uint32(p[0]); fd != 1 && fd != 2 {
		return errnoBadFile
	}
	if uint32(p[2]) > mostParts {
		return errnoInvalid
	}
	written := uint32(0)
	for i := uint32(0); i < uint32(p[2]) && written < mostBytes; i++ {
		part, ok := m.Read(uint32(p[1])+8*i, 8)
		if !ok {
			return errnoFault
		}
		b, ok := m.Read(binary.LittleEndian.Uint32(part), binary.LittleEndian.Uint32(part[4:]))
		if !ok {
			return errnoFault
		}
		b = b[:min(uint32(len(b)), mostBytes-written)]
		r.log.writeLine(b)
		written += uint32(len(b))
	}
	if !m.WriteUint32Le(uint32(p[3]), written) {
		return errnoFault
	}
	return errnoSuccess
}

// waitForClocks waits for the earliest of some clocks, no longer than the call may
// take. Nothing else can be waited for.
func waitForClocks(r *run, m api.Memory, p []uint64) uint64 {
	const most, size, eventSize = 64, 48, 32
	n := uint32(p[2])
	if n == 0 || n > most {
		return errnoInvalid
	}
	subs, ok := m.Read(uint32(p[0]), n*size)
	if !ok {
		return errnoFault
	}
	earliest, wait := -1, time.Duration(0)
	for i := range int(n) {
		s := subs[i*size:]
		if s[8] != 0 {
			return errnoNotSupp
		}
		after := binary.LittleEndian.Uint64(s[24:])
		if s[40]&1 != 0 { // a point in time
			now := r.readClock(binary.LittleEndian.Uint32(s[16:]))
			after -= min(now, after)
		}
		d := time.Duration(min(after, uint64(time.Hour)))
		if earliest < 0 || d < wait {
			earliest, wait = i, d
		}
	}
	event := make([]byte, eventSize)
	copy(event, subs[earliest*size:][:8])
	r.sleepUntil(wait)
	if !m.Write(uint32(p[1]), event) || !m.WriteUint32Le(uint32(p[3]), 1) {
		return errnoFault
	}
	return errnoSuccess
}

// sleepUntil waits, no longer than the context. While a module declares its tools, no time
// passes.
func (r *run) sleepUntil(d time.Duration) {
	if r.declares || d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// wasiFunctions returns the table of the system functions.
func wasiFunctions() (list []hostFunction) {
	for name, signature := range wasiSignatures {
		f := hostFunction{module: wasiModule, name: name, results: 1}
		for _, kind := range signature {
			f.params = append(f.params, map[rune]api.ValueType{'i': api.ValueTypeI32, 'I': api.ValueTypeI64}[kind])
		}
		served := wasiServed[name]
		if name == "proc_exit" {
			f.results = 0
		}
		f.run = func(ctx context.Context, mod api.Module, stack []uint64) {
			answer := uint64(errnoNoCall)
			if r := runOf(ctx, mod); served != nil {
				answer = served(r, mod.Memory(), stack)
			}
			if f.results > 0 {
				stack[0] = answer
			}
		}
		list = append(list, f)
	}
	return list
}
